use super::pinned;
use crate::check::rules::prelude::*;
use acp_registry_plan::manifest::archive::UrlVersion;

pub(crate) static RULE: Rule = Rule {
    name: "distribution/version-mismatch",
    level: Level::Error,
    summary: "a distribution has another version than the manifest",
    why: "Clients show the manifest's version and use it to decide whether there is an update, but users would get \
          another version.",
    fix: "Change the version in the manifest, the package or the archive's address, so that all agree.",
    fails: Example::Manifest(
        "\"version\": \"1.1.0\",\n  \"distribution\": { \"npx\": { \"package\": \"example@1.0.0\" } }",
    ),
    marks: "\"example@1.0.0\"",
    passes: Example::Manifest(
        "\"version\": \"1.1.0\",\n  \"distribution\": { \"npx\": { \"package\": \"example@1.1.0\" } }",
    ),
    check: CheckFn::Manifest(check),
};

fn check(subject: &Subject<'_>, report: &mut Reporter<'_>) {
    for (release, target, version) in subject.url_versions() {
        if let UrlVersion::Other(found) = version {
            report
                .value(
                    release.target_pointer(target, "archive"),
                    format!("the address names version {}, the manifest {}", quote(found), quote(release.version)),
                )
                .help("make the two agree");
        }
    }
    for (release, kind, package) in subject.packages() {
        if let Some(found) = kind.other_version(&package.package, release.version) {
            report
                .value(
                    release.package_pointer(kind, "package"),
                    format!("the package has version {}, the manifest {}", quote(&found), quote(release.version)),
                )
                .help(format!(
                    "write {}, or change the version",
                    quote(&pinned(kind, package, release.version).unwrap_or_default())
                ));
        }
    }
}
