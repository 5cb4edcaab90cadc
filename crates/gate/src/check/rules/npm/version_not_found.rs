use super::example;
use crate::check::rules::prelude::*;
use crate::check::rules::published;
use acp_registry_plan::manifest::Pin;

pub(crate) static RULE: Rule = Rule {
    name: "npm/version-not-found",
    level: Level::Error,
    summary: "an npm package has no such version",
    why: "Clients tell npx to fetch exactly this version, which always fails. Packages are often published later than \
          the release that they belong to, and sometimes withdrawn.",
    fix: "Wait until the version is published, or name a published one.",
    fails: Example::Online(&Online {
        manifest: Example::Manifest("\"distribution\": { \"npx\": { \"package\": \"example@1.0.0\" } }"),
        world: "The npm registry has version 1.1.0 of the package example, and no other.",
        answers: |survey| example(survey, "1.1.0", "\"bin\":\"cli.js\",\"dist\":{\"integrity\":\"sha512-…\"}"),
    }),
    marks: "\"example@1.0.0\"",
    passes: Example::Online(&Online {
        manifest: Example::Manifest("\"distribution\": { \"npx\": { \"package\": \"example@1.0.0\" } }"),
        world: "The npm registry has version 1.0.0 of the package example.",
        answers: |survey| example(survey, "1.0.0", "\"bin\":\"cli.js\",\"dist\":{\"integrity\":\"sha512-…\"}"),
    }),
    check: CheckFn::Online(check),
};

fn check(subject: &Subject<'_>, survey: &Survey, report: &mut Reporter<'_>) {
    for named in published::npm(subject, survey) {
        let name = quote(&named.spec.name);
        let Some(packument) = named.known else {
            report
                .value(named.pointer, format!("the npm registry has no package {name}"))
                .help("correct the name, or publish the package first");
            continue;
        };
        let wanted = match &named.spec.pin {
            Pin::Exact(version) | Pin::Tag(version) => version,
            // Packages without an exact version are reported by `distribution/unpinned-package`.
            Pin::Range(_) | Pin::None => continue,
        };
        if published::npm_version(&named).is_none() {
            let versions: Vec<String> = packument.versions().into_iter().map(ToOwned::to_owned).collect();
            report
                .value(named.pointer, format!("the npm registry has no {} of {name}", quote(wanted)))
                .help(format!("it has {}", published::newest(&versions)));
        }
    }
}
