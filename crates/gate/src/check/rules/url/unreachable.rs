use super::{archives, no_such_host, trouble};
use crate::check::rules::prelude::*;
use acp_registry_http::{FetchError, Problem, remedy};

pub(crate) static RULE: Rule = Rule {
    name: "url/unreachable",
    level: Level::Error,
    summary: "an archive cannot be fetched from its address",
    why: "Every client of this platform fails to install the agent: the host answers that the file does not exist or \
          must not be read, or the host does not exist.",
    fix: "Publish the archive, or correct the address. Files in drafts and private repositories are not public.",
    fails: Example::Online(&Online {
        manifest: Example::Target("{ \"archive\": \"https://example.com/1.0.0/linux.zip\", \"cmd\": \"./agent\" }"),
        world: "https://example.com/1.0.0/linux.zip answers 404",
        answers: |survey| {
            let url = "https://example.com/1.0.0/linux.zip";
            let error = FetchError { url: url.to_owned(), hops: Vec::new(), problem: Problem::Status(404) };
            survey.links.insert(url.to_owned(), Err(error));
        },
    }),
    marks: "\"https://example.com/1.0.0/linux.zip\"",
    passes: Example::Online(&Online {
        manifest: Example::Target("{ \"archive\": \"https://example.com/1.0.0/linux.zip\", \"cmd\": \"./agent\" }"),
        world: "https://example.com/1.0.0/linux.zip answers 200",
        answers: |survey| {
            survey
                .links
                .insert("https://example.com/1.0.0/linux.zip".to_owned(), Ok(acp_registry_http::Answer::default()));
        },
    }),
    check: CheckFn::Online(check),
};

fn check(subject: &Subject<'_>, survey: &Survey, report: &mut Reporter<'_>) {
    for (pointer, url, asked) in archives(subject, survey) {
        let Err(error) = asked else { continue };
        // Refused and too large archives, temporary failures, and files missing on GitHub are reported by their own
        // rules.
        let is_other = matches!(error.problem, Problem::Refused(_) | Problem::TooLarge { .. });
        if is_other || error.problem.may_pass() || survey.is_denied_by_github(url) {
            continue;
        }
        let help = match error.problem {
            Problem::NoSuchHost => no_such_host(survey),
            Problem::Tls(_) | Problem::Untrusted(_) => "the host needs a certificate that is valid and complete",
            Problem::Variable(_) => remedy::VARIABLE,
            Problem::Status(401 | 403) => "the archive must be readable without signing in",
            _ => "publish the archive, or correct the address",
        };
        report.value(pointer, trouble(error)).help(help);
    }
}
