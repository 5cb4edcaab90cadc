use crate::check::rules::prelude::*;
use acp_registry_plan::manifest::{Channel, Version};

pub(crate) static RULE: Rule = Rule {
    name: "manifest/preview-version",
    level: Level::Error,
    summary: "the preview version is neither a release nor a numbered preview",
    why: "Clients order previews by the number in `X.Y.Z-preview.N`; the public schema refuses every other form.",
    fix: "Write `X.Y.Z-preview.N`, or `X.Y.Z` for a release that is not stable yet.",
    fails: Example::Manifest(
        "\"preview\": { \"version\": \"1.1.0-rc.1\", \"distribution\": { \"npx\": { \"package\": \"example@1.1.0-rc.1\" } } }",
    ),
    marks: "\"1.1.0-rc.1\"",
    passes: Example::Manifest(
        "\"preview\": { \"version\": \"1.1.0-preview.1\", \"distribution\": { \"npx\": { \"package\": \"example@1.1.0-preview.1\" } } }",
    ),
    check: CheckFn::Manifest(check),
};

fn check(subject: &Subject<'_>, report: &mut Reporter<'_>) {
    for release in subject.agent().releases().filter(|release| release.channel == Channel::Preview) {
        let Some(version) = Version::parse(release.version) else { continue };
        if version.is_prerelease() && !version.is_numbered_preview() {
            report
                .value(
                    format!("{}/version", release.pointer()),
                    format!("{} is neither X.Y.Z nor X.Y.Z-preview.N", quote(release.version)),
                )
                .help("number the previews of a release: 1.2.0-preview.1");
        }
    }
}
