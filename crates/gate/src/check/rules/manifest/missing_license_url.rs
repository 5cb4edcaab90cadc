use crate::check::rules::prelude::*;

pub(crate) static RULE: Rule = Rule {
    name: "manifest/missing-license-url",
    level: Level::Off,
    summary: "the manifest has no address of the licence's text",
    why: "The public registry requires `license_url`, so that people can read the terms before they install. Other \
          registries need not, so this rule is off by default.",
    fix: "Add `license_url` with the address of the licence's text or the terms of service.",
    fails: Example::Manifest("\"license\": \"MIT\""),
    marks: "{",
    passes: Example::Manifest("\"license\": \"MIT\",\n  \"license_url\": \"https://example.com/license\""),
    check: CheckFn::Manifest(check),
};

fn check(subject: &Subject<'_>, report: &mut Reporter<'_>) {
    if subject.manifest.is_object() && subject.agent().license_url.as_deref().is_none_or(str::is_empty) {
        report
            .value("", "there is no `license_url`")
            .help("add the address of the licence's text or of the terms of service");
    }
}
