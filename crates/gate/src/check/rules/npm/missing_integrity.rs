use super::example;
use crate::check::rules::prelude::*;
use crate::check::rules::published;

pub(crate) static RULE: Rule = Rule {
    name: "npm/missing-integrity",
    level: Level::Warning,
    summary: "the npm registry gives no digest for a package",
    why: "npm cannot verify that what it downloads is what was published.",
    fix: "Publish the package again with a current npm, or fix the mirror that leaves the digest out.",
    fails: Example::Online(&Online {
        manifest: Example::Manifest("\"distribution\": { \"npx\": { \"package\": \"example@1.0.0\" } }"),
        world: "The npm registry has version 1.0.0 of the package example, without an integrity value.",
        answers: |survey| example(survey, "1.0.0", "\"bin\":\"cli.js\""),
    }),
    marks: "\"example@1.0.0\"",
    passes: Example::Online(&Online {
        manifest: Example::Manifest("\"distribution\": { \"npx\": { \"package\": \"example@1.0.0\" } }"),
        world: "The npm registry has version 1.0.0 of the package example, with its integrity value.",
        answers: |survey| example(survey, "1.0.0", "\"bin\":\"cli.js\",\"dist\":{\"integrity\":\"sha512-…\"}"),
    }),
    check: CheckFn::Online(check),
};

fn check(subject: &Subject<'_>, survey: &Survey, report: &mut Reporter<'_>) {
    for named in published::npm(subject, survey) {
        let Some((version, published)) = published::npm_version(&named) else { continue };
        if published.integrity.is_none() {
            let name = quote(&named.spec.name);
            report
                .value(named.pointer, format!("the npm registry gives no digest for {} of {name}", quote(&version)))
                .help("publish the package again with a current npm");
        }
    }
}
