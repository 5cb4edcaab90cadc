use super::example;
use crate::check::rules::prelude::*;
use crate::check::rules::published;
use acp_registry_plan::manifest::Pin;

pub(crate) static RULE: Rule = Rule {
    name: "pypi/version-not-found",
    level: Level::Error,
    summary: "a Python package has no such version",
    why: "Clients tell uvx to fetch exactly this version, which always fails. Packages are often published later than \
          the release that they belong to.",
    fix: "Wait until the version is published, or name a published one.",
    fails: Example::Online(&Online {
        manifest: Example::Manifest("\"distribution\": { \"uvx\": { \"package\": \"example==1.0.0\" } }"),
        world: "The Python package index has version 1.1.0 of the package example, and no other.",
        answers: |survey| example(survey, "example-1.1.0-py3-none-any.whl", true, None),
    }),
    marks: "\"example==1.0.0\"",
    passes: Example::Online(&Online {
        manifest: Example::Manifest("\"distribution\": { \"uvx\": { \"package\": \"example==1.0.0\" } }"),
        world: "The Python package index has version 1.0.0 of the package example.",
        answers: |survey| example(survey, "example-1.0.0-py3-none-any.whl", true, None),
    }),
    check: CheckFn::Online(check),
};

fn check(subject: &Subject<'_>, survey: &Survey, report: &mut Reporter<'_>) {
    for named in published::pypi(subject, survey) {
        let name = quote(&named.spec.name);
        let Some(project) = named.known else {
            report
                .value(named.pointer, format!("the Python package index has no package {name}"))
                .help("correct the name, or publish the package first");
            continue;
        };
        if let Pin::Exact(version) = &named.spec.pin
            && project.release(version).is_none()
        {
            report
                .value(named.pointer, format!("the Python package index has no {} of {name}", quote(version)))
                .help(format!("it has {}", published::newest(&project.versions())));
        }
    }
}
