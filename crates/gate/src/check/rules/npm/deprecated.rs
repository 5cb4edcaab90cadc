use super::example;
use crate::check::rules::prelude::*;
use crate::check::rules::published;

pub(crate) static RULE: Rule = Rule {
    name: "npm/deprecated",
    level: Level::Warning,
    summary: "the version of an npm package is deprecated",
    why: "Its authors say that it should no longer be used: it may be broken or unsafe, and gets no fixes.",
    fix: "Move to the version that the deprecation message names.",
    fails: Example::Online(&Online {
        manifest: Example::Manifest("\"distribution\": { \"npx\": { \"package\": \"example@1.0.0\" } }"),
        world: "Version 1.0.0 of the npm package example is deprecated: \"use version 2\".",
        answers: |survey| {
            example(
                survey,
                "1.0.0",
                "\"bin\":\"cli.js\",\"dist\":{\"integrity\":\"sha512-…\"},\"deprecated\":\"use version 2\"",
            );
        },
    }),
    marks: "\"example@1.0.0\"",
    passes: Example::Online(&Online {
        manifest: Example::Manifest("\"distribution\": { \"npx\": { \"package\": \"example@1.0.0\" } }"),
        world: "Version 1.0.0 of the npm package example is not deprecated.",
        answers: |survey| example(survey, "1.0.0", "\"bin\":\"cli.js\",\"dist\":{\"integrity\":\"sha512-…\"}"),
    }),
    check: CheckFn::Online(check),
};

fn check(subject: &Subject<'_>, survey: &Survey, report: &mut Reporter<'_>) {
    for named in published::npm(subject, survey) {
        let Some((version, published)) = published::npm_version(&named) else { continue };
        let Some(reason) = &published.deprecated else { continue };
        let reason = if reason.is_empty() { String::new() } else { format!(": {}", quote(reason)) };
        report
            .value(named.pointer, format!("{} of {} is deprecated{reason}", quote(&version), quote(&named.spec.name)))
            .help("move to a version that is maintained");
    }
}
