use super::example;
use crate::check::rules::prelude::*;
use crate::check::rules::published;
use acp_registry_plan::manifest::Pin;

pub(crate) static RULE: Rule = Rule {
    name: "pypi/yanked",
    level: Level::Error,
    summary: "the version of a Python package was yanked",
    why: "Its authors yanked all its files: it is broken or unsafe, and installers skip it or warn.",
    fix: "Move to a version that was not yanked.",
    fails: Example::Online(&Online {
        manifest: Example::Manifest("\"distribution\": { \"uvx\": { \"package\": \"example==1.0.0\" } }"),
        world: "All files of version 1.0.0 of the Python package example are yanked: \"broken\".",
        answers: |survey| example(survey, "example-1.0.0-py3-none-any.whl", true, Some("broken")),
    }),
    marks: "\"example==1.0.0\"",
    passes: Example::Online(&Online {
        manifest: Example::Manifest("\"distribution\": { \"uvx\": { \"package\": \"example==1.0.0\" } }"),
        world: "Version 1.0.0 of the Python package example is not yanked.",
        answers: |survey| example(survey, "example-1.0.0-py3-none-any.whl", true, None),
    }),
    check: CheckFn::Online(check),
};

fn check(subject: &Subject<'_>, survey: &Survey, report: &mut Reporter<'_>) {
    for named in published::pypi(subject, survey) {
        let (Some(project), Pin::Exact(version)) = (named.known, &named.spec.pin) else { continue };
        let Some(reason) = project.release(version).and_then(|release| release.yanked.as_ref()) else { continue };
        let reason = if reason.is_empty() { String::new() } else { format!(": {}", quote(reason)) };
        report
            .value(named.pointer, format!("{} of {} was yanked{reason}", quote(version), quote(&named.spec.name)))
            .help("move to a version that was not yanked");
    }
}
