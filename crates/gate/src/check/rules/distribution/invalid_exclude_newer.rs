use crate::check::rules::prelude::*;
use acp_registry_plan::manifest::extension;
use acp_registry_plan::timestamp::date;

pub(crate) static RULE: Rule = Rule {
    name: "distribution/invalid-exclude-newer",
    level: Level::Error,
    summary: "`exclude_newer` is not a valid date",
    why: "uv refuses a date that does not exist, so the agent cannot be installed.",
    fix: "Write the date as `YYYY-MM-DD`.",
    fails: Example::Manifest(
        "\"distribution\": { \"uvx\": { \"package\": \"example==1.0.0\", \"exclude_newer\": \"2026-02-30\" } }",
    ),
    marks: "\"2026-02-30\"",
    passes: Example::Manifest(
        "\"distribution\": { \"uvx\": { \"package\": \"example==1.0.0\", \"exclude_newer\": \"2026-02-28\" } }",
    ),
    check: CheckFn::Manifest(check),
};

fn check(subject: &Subject<'_>, report: &mut Reporter<'_>) {
    for (release, kind, package) in subject.packages() {
        let Some(day) = &package.exclude_newer else { continue };
        // Any other format is reported by the schema rule.
        let has_form = day.split('-').map(str::len).eq([4, 2, 2]);
        if has_form && date(day).is_none() {
            let pointer = release.package_pointer(kind, extension::EXCLUDE_NEWER);
            report.value(pointer, format!("{} is not a valid date", quote(day)));
        }
    }
}
