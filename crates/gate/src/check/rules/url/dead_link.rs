use super::{failed_pages, no_such_host, trouble};
use crate::check::rules::prelude::*;
use acp_registry_http::{Answer, FetchError, Problem};

pub(crate) static RULE: Rule = Rule {
    name: "url/dead-link",
    level: Level::Warning,
    summary: "the repository, website or licence address of an agent does not work",
    why: "People who want to know what they install, or under which terms, find nothing.",
    fix: "Correct the address, or remove an optional one.",
    fails: Example::Online(&Online {
        manifest: Example::Manifest("\"license\": \"MIT\",\n  \"website\": \"https://example.com/gone\""),
        world: "https://example.com/gone answers 404",
        answers: |survey| {
            let url = "https://example.com/gone";
            let error = FetchError { url: url.to_owned(), hops: Vec::new(), problem: Problem::Status(404) };
            survey.links.insert(url.to_owned(), Err(error));
        },
    }),
    marks: "\"https://example.com/gone\"",
    passes: Example::Online(&Online {
        manifest: Example::Manifest("\"license\": \"MIT\",\n  \"website\": \"https://example.com\""),
        world: "https://example.com answers 200",
        answers: |survey| {
            survey.links.insert("https://example.com".to_owned(), Ok(Answer::default()));
        },
    }),
    check: CheckFn::Online(check),
};

fn check(subject: &Subject<'_>, survey: &Survey, report: &mut Reporter<'_>) {
    for (pointer, error) in failed_pages(subject, survey) {
        // Many sites answer programs with 403 or similar, but show the page to people.
        let is_gone = matches!(
            error.problem,
            Problem::Status(404 | 410)
                | Problem::NoSuchHost
                | Problem::Tls(_)
                | Problem::Untrusted(_)
                | Problem::TooManyRedirects(_)
                | Problem::BadRedirect(_)
        );
        if is_gone {
            let help = match error.problem {
                Problem::NoSuchHost => no_such_host(survey),
                Problem::Tls(_) | Problem::Untrusted(_) => "the host needs a certificate that is valid and complete",
                _ => "correct the address",
            };
            report.value(pointer, trouble(error)).help(help);
        }
    }
}
