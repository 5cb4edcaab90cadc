use super::example;
use crate::check::rules::prelude::*;
use crate::check::rules::published;
use acp_registry_plan::manifest::Pin;

pub(crate) static RULE: Rule = Rule {
    name: "pypi/missing-hash",
    level: Level::Warning,
    summary: "the Python package index gives no digest for a package",
    why: "uv cannot verify that what it downloads is what was published.",
    fix: "Fix the mirror that leaves the digests out, or use another one.",
    fails: Example::Online(&Online {
        manifest: Example::Manifest("\"distribution\": { \"uvx\": { \"package\": \"example==1.0.0\" } }"),
        world: "The Python package index has version 1.0.0 of the package example, without digests.",
        answers: |survey| example(survey, "example-1.0.0-py3-none-any.whl", false, None),
    }),
    marks: "\"example==1.0.0\"",
    passes: Example::Online(&Online {
        manifest: Example::Manifest("\"distribution\": { \"uvx\": { \"package\": \"example==1.0.0\" } }"),
        world: "The Python package index has version 1.0.0 of the package example, with digests.",
        answers: |survey| example(survey, "example-1.0.0-py3-none-any.whl", true, None),
    }),
    check: CheckFn::Online(check),
};

fn check(subject: &Subject<'_>, survey: &Survey, report: &mut Reporter<'_>) {
    for named in published::pypi(subject, survey) {
        let (Some(project), Pin::Exact(version)) = (named.known, &named.spec.pin) else { continue };
        if project.release(version).is_some_and(|release| !release.has_hashes) {
            let name = quote(&named.spec.name);
            let message = format!("the Python package index gives no digests for {} of {name}", quote(version));
            report.value(named.pointer, message).help("use an index that gives digests");
        }
    }
}
