use crate::check::rules::prelude::*;
use acp_registry_plan::manifest::{Channel, Version};

pub(crate) static RULE: Rule = Rule {
    name: "manifest/prerelease-in-stable",
    level: Level::Error,
    summary: "the stable version is a prerelease",
    why: "People who did not ask for a preview would get one, and clients that follow the public schema, which allows \
          three numbers only, reject the whole index.",
    fix: "Set the version to the newest release, and name the prerelease under `preview`.",
    fails: Example::Manifest("\"version\": \"1.2.0-rc.1\""),
    marks: "\"1.2.0-rc.1\"",
    passes: Example::Manifest("\"version\": \"1.2.0\""),
    check: CheckFn::Manifest(check),
};

fn check(subject: &Subject<'_>, report: &mut Reporter<'_>) {
    for release in subject.agent().releases().filter(|release| release.channel == Channel::Stable) {
        if Version::parse(release.version).is_some_and(|version| version.is_prerelease()) {
            report
                .value(
                    format!("{}/version", release.pointer()),
                    format!("{} is a prerelease, but this is the stable channel", quote(release.version)),
                )
                .help("name the newest release here, and the prerelease under `preview`");
        }
    }
}
