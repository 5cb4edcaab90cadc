use super::{help, pinned};
use crate::check::rules::prelude::*;
use acp_registry_plan::manifest::{Pin, archive};

pub(crate) static RULE: Rule = Rule {
    name: "distribution/latest-reference",
    level: Level::Error,
    summary: "a distribution refers to the latest release instead of a version",
    why: "What is reviewed today is not what is installed tomorrow, and digests and test results would belong to \
          another release.",
    fix: "Name the version in the archive's address, or after the package's name.",
    fails: Example::Manifest("\"distribution\": { \"npx\": { \"package\": \"example@latest\" } }"),
    marks: "\"example@latest\"",
    passes: Example::Manifest("\"distribution\": { \"npx\": { \"package\": \"example@1.0.0\" } }"),
    check: CheckFn::Manifest(check),
};

fn check(subject: &Subject<'_>, report: &mut Reporter<'_>) {
    for (release, target) in subject.targets() {
        if let Some(word) = archive::moving_reference(&target.archive) {
            report
                .value(
                    release.target_pointer(target, "archive"),
                    format!("{} in the address does not name a fixed version", quote(&word)),
                )
                .help(format!("use the address of version {}", quote(release.version)));
        }
    }
    for (release, kind, package) in subject.packages() {
        if let Ok(Pin::Tag(tag)) = kind.pin(&package.package)
            && tag.eq_ignore_ascii_case("latest")
        {
            report
                .value(
                    release.package_pointer(kind, "package"),
                    format!("{} does not name a fixed version", quote(&package.package)),
                )
                .help(help(pinned(kind, package, release.version).as_deref()));
        }
    }
}
