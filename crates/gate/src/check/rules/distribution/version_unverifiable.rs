use crate::check::rules::prelude::*;
use acp_registry_plan::manifest::archive::{UrlVersion, moving_reference};

pub(crate) static RULE: Rule = Rule {
    name: "distribution/version-unverifiable",
    level: Level::Warning,
    summary: "the address of an archive names no version",
    why: "The manifest does not show which version the archive holds, and the host can replace it unnoticed.",
    fix: "Publish each version at its own address, with the version in the path or the file name.",
    fails: Example::Target("{ \"archive\": \"https://example.com/agent-linux.zip\", \"cmd\": \"./agent\" }"),
    marks: "\"https://example.com/agent-linux.zip\"",
    passes: Example::Target("{ \"archive\": \"https://example.com/agent-1.0.0-linux.zip\", \"cmd\": \"./agent\" }"),
    check: CheckFn::Manifest(check),
};

fn check(subject: &Subject<'_>, report: &mut Reporter<'_>) {
    for (release, target, version) in subject.url_versions() {
        let is_absent = *version == UrlVersion::Absent;
        // A moving URL is reported by `distribution/latest-reference`, a missing one by the schema rule.
        if is_absent && !target.archive.is_empty() && moving_reference(&target.archive).is_none() {
            report
                .value(release.target_pointer(target, "archive"), "the address names no version")
                .help("publish each version at an address that names it");
        }
    }
}
