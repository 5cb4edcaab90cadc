use super::{archives, failed_pages, later, no_such_host, trouble};
use crate::check::reporter::Reporter;
use crate::check::rule::{Check, Example, Online, Rule, Subject};
use crate::check::rules::published;
use crate::finding::Level;
use crate::survey::Survey;
use acp_registry_core::net::{Answer, FetchError, Problem};
use acp_registry_core::text::quote;
use acp_registry_core::upstream::SourceError;

pub(crate) static RULE: Rule = Rule {
    name: "url/server-error",
    level: Level::Warning,
    summary: "a host could not say whether something is there",
    why: "It does not answer, answers that it has a trouble, or wants to be left alone, also after several attempts. That says \
          nothing against the manifest; but it has not been checked.",
    fix: "Check again later. A host that is often down is a poor place for a program.",
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
    check: Check::Online(check),
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
        let message = match error {
            SourceError::Fetch(error) => trouble(error),
            SourceError::Malformed { url, expected, message } => {
                format!("{} answers with something else than {expected}: {}", quote(url), quote(message))
            }
        };
        let help = match error {
            SourceError::Fetch(error) if error.problem.may_pass() => later(&error.problem, survey),
            SourceError::Fetch(error) if error.problem == Problem::NoSuchHost => no_such_host(survey),
            _ => "the configured package registry does not answer as one: check its address",
        };
        report.value(pointer, message).help(help);
    }
}
