use crate::check::rules::prelude::*;
use acp_registry_plan::index::VERSION_LENGTH;
use acp_registry_plan::manifest::Version;

pub(crate) static RULE: Rule = Rule {
    name: "manifest/version-format",
    level: Level::Error,
    summary: "a version does not have three numeric parts, or is too long",
    why: "Clients and the update bot compare versions by these numbers, and clients pass over an agent whose version has \
          more than 100 bytes.",
    fix: "Write `MAJOR.MINOR.PATCH`, and fill up with zeros: a release tagged `v1.2` has the version `1.2.0`. More \
          parts, leading zeros (`2026.07.01`) and, under `preview`, a prerelease (`1.2.0-preview.3`) are allowed.",
    fails: Example::Manifest("\"version\": \"v1.0\""),
    marks: "\"v1.0\"",
    passes: Example::Manifest("\"version\": \"1.0.0\""),
    check: CheckFn::Manifest(check),
};

fn check(subject: &Subject<'_>, report: &mut Reporter<'_>) {
    for release in subject.agent().releases() {
        let version = subject.value().pointer(&format!("{}/version", release.pointer()));
        let is_string = version.is_some_and(serde_json::Value::is_string);
        if is_string && Version::parse(release.version).is_none() {
            report
                .value(format!("{}/version", release.pointer()), format!("{} is not a version", quote(release.version)))
                .help("write three numeric parts, such as 1.2.0");
        } else if release.version.len() > VERSION_LENGTH {
            let message = format!(
                "the version has {} bytes, and clients pass over an agent with more than {VERSION_LENGTH}",
                release.version.len()
            );
            report.value(format!("{}/version", release.pointer()), message).help("write a shorter version");
        }
    }
}
