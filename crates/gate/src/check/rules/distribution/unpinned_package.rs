use super::{help, pinned};
use crate::check::rules::prelude::*;
use acp_registry_plan::manifest::Pin;

pub(crate) static RULE: Rule = Rule {
    name: "distribution/unpinned-package",
    level: Level::Error,
    summary: "a package is not pinned to one version",
    why: "Without an exact version, npx and uvx take the newest one, which was neither reviewed nor tested.",
    fix: "Write the exact version: `name@1.2.0` for npx, `name==1.2.0` for uvx.",
    fails: Example::Manifest("\"distribution\": { \"uvx\": { \"package\": \"example>=1.0\" } }"),
    marks: "\"example>=1.0\"",
    passes: Example::Manifest("\"distribution\": { \"uvx\": { \"package\": \"example==1.0.0\" } }"),
    check: CheckFn::Manifest(check),
};

fn check(subject: &Subject<'_>, report: &mut Reporter<'_>) {
    for (release, kind, package) in subject.packages() {
        let what = match kind.pin(&package.package) {
            Ok(Pin::None) => "names no version",
            Ok(Pin::Range(_)) => "allows several versions",
            Ok(Pin::Tag(tag)) if !tag.eq_ignore_ascii_case("latest") => "names a tag, which can move",
            // `latest` and unsafe specifications are reported by their own rules.
            Ok(Pin::Tag(_) | Pin::Exact(_)) | Err(_) => continue,
        };
        report
            .value(release.package_pointer(kind, "package"), format!("{} {what}", quote(&package.package)))
            .help(help(pinned(kind, package, release.version).as_deref()));
    }
}
