use super::{archives, failed_pages, later, no_such_host, trouble};
use crate::check::rules::prelude::*;
use crate::check::rules::published;
use acp_registry_http::{Answer, FetchError, Problem};
use acp_registry_sources::SourceError;

pub(crate) static RULE: Rule = Rule {
    name: "url/server-error",
    level: Level::Warning,
    summary: "a host gave no usable answer",
    why: "It did not answer, answered with a server error, or limited requests, even after several attempts. The \
          manifest may be correct, but it was not checked.",
    fix: "Check again later. A host that is often down is not suitable for programs.",
    fails: Example::Online(&Online {
        manifest: Example::Target("{ \"archive\": \"https://example.com/1.0.0/linux.zip\", \"cmd\": \"./agent\" }"),
        world: "https://example.com/1.0.0/linux.zip answers 500, three times",
        answers: |survey| {
            let url = "https://example.com/1.0.0/linux.zip";
            let error = FetchError { url: url.to_owned(), hops: Vec::new(), problem: Problem::Status(500) };
            survey.links.insert(url.to_owned(), Err(error));
        },
    }),
    marks: "\"https://example.com/1.0.0/linux.zip\"",
    passes: Example::Online(&Online {
        manifest: Example::Target("{ \"archive\": \"https://example.com/1.0.0/linux.zip\", \"cmd\": \"./agent\" }"),
        world: "https://example.com/1.0.0/linux.zip answers 500, and then 200",
        answers: |survey| {
            survey.links.insert("https://example.com/1.0.0/linux.zip".to_owned(), Ok(Answer::default()));
        },
    }),
    check: CheckFn::Online(check),
};

fn check(subject: &Subject<'_>, survey: &Survey, report: &mut Reporter<'_>) {
    for (pointer, url, asked) in archives(subject, survey) {
        if let Err(error) = asked
            && error.problem.may_pass()
            && !survey.is_denied_by_github(url)
        {
            report.value(pointer, trouble(error)).help(later(&error.problem, survey));
        }
    }
    for (pointer, error) in failed_pages(subject, survey) {
        if error.problem.may_pass() {
            report.value(pointer, trouble(error)).help(later(&error.problem, survey));
        }
    }
    for (pointer, error) in published::failures(subject, survey) {
        let (message, help) = match error {
            SourceError::Fetch(error) => {
                let usual = "check the address of the configured package registry, and its credentials";
                let help = match &error.problem {
                    problem if problem.may_pass() => later(problem, survey),
                    Problem::NoSuchHost => no_such_host(survey).into(),
                    _ => error.remedy().unwrap_or_else(|| usual.into()),
                };
                (trouble(error), help)
            }
            SourceError::Malformed { url, expected, message } => {
                let help = "check the address of the configured package registry: its answer is not that of a package registry";
                (format!("{} did not answer with {expected}: {}", quote(url), quote(message)), help.to_owned())
            }
        };
        report.value(pointer, message).help(help);
    }
}
