//! Rules about URLs.

pub(super) mod dead_link;
pub(super) mod redirects_to_insecure;
pub(super) mod server_error;
pub(super) mod slow;
pub(super) mod unreachable;

use crate::check::rule::Subject;
use crate::survey::Survey;
use acp_registry_http::{Answer, FetchError, Problem, remedy};
use acp_registry_plan::text::quote;

/// The result of requesting an archive.
type Asked<'a> = Result<&'a Answer, &'a FetchError>;

/// The archives that were requested: JSON pointer, URL as written, and result.
fn archives<'a>(subject: &'a Subject<'_>, survey: &'a Survey) -> impl Iterator<Item = (String, &'a str, Asked<'a>)> {
    subject.targets().filter_map(|(release, target)| {
        let asked = survey.link(&target.archive)?;
        Some((release.target_pointer(target, "archive"), target.archive.as_str(), asked))
    })
}

/// The links that were requested and failed, with JSON pointers.
fn failed_pages<'a>(
    subject: &'a Subject<'_>,
    survey: &'a Survey,
) -> impl Iterator<Item = (&'static str, &'a FetchError)> {
    let agent = subject.agent();
    let pages =
        [("/repository", &agent.repository), ("/website", &agent.website), ("/license_url", &agent.license_url)];
    pages.into_iter().filter_map(|(pointer, page)| Some((pointer, survey.link(page.as_ref()?)?.err()?)))
}

/// Describes a failed request.
pub(super) fn trouble(error: &FetchError) -> String {
    if let Problem::Variable(sentence) = &error.problem {
        return sentence.clone();
    }
    format!("{}{} {}", quote(&error.url), redirect_chain(&error.hops), error.problem)
}

/// Help for a host name that does not resolve. Whether other names resolved tells a wrong name from a network problem.
pub(super) fn no_such_host(survey: &Survey) -> &'static str {
    if survey.has_reached_names {
        "other hosts were reached: correct the name of the host, or remove the address if the host is gone"
    } else if survey.is_cut_off {
        CUT_OFF
    } else {
        remedy::HOST
    }
}

/// Help for a request that may succeed later.
fn later(problem: &Problem, survey: &Survey) -> String {
    match problem.remedy() {
        Some(remedy) => remedy,
        None if survey.is_cut_off => CUT_OFF.into(),
        None => "check again later".into(),
    }
}

const CUT_OFF: &str = "no host was reached: check the network and the name server of this machine";

/// Describes the redirects that were followed; empty if there were none.
pub(super) fn redirect_chain(hops: &[String]) -> String {
    if hops.is_empty() {
        return String::new();
    }
    let shown: Vec<String> = hops.iter().map(|hop| quote(hop)).collect();
    format!(", by way of {},", shown.join(" and "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_dead_name_and_a_dead_network_have_different_remedies() {
        let mut survey = Survey { has_reached_names: true, ..Survey::default() };
        assert!(no_such_host(&survey).starts_with("other hosts were reached: correct the name"));
        // A private host reached by IP address says nothing about name resolution.
        survey.has_reached_names = false;
        assert!(no_such_host(&survey).starts_with("check the network") && no_such_host(&survey).contains("if other"));
        survey.is_cut_off = true;
        assert!(no_such_host(&survey).starts_with("no host was reached: check the network"));
        let proxy = Problem::Proxy { proxy: "http://h.example".to_owned(), message: String::new() };
        assert!(later(&proxy, &survey).starts_with("check that proxy"));
        assert_eq!(later(&Problem::Timeout, &survey), CUT_OFF);
        assert_eq!(later(&Problem::Timeout, &Survey::default()), "check again later");
    }
}
