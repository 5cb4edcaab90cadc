//! Rules about how an agent is obtained and started, in both channels.

pub(super) mod archive_format;
pub(super) mod cmd_style;
pub(super) mod inconsistent_targets;
pub(super) mod invalid_exclude_newer;
pub(super) mod latest_reference;
pub(super) mod missing_os;
pub(super) mod reserved_env;
pub(super) mod secret;
pub(super) mod service_address;
pub(super) mod unpinned_package;
pub(super) mod unpublished_command;
pub(super) mod unsafe_cmd;
pub(super) mod unsafe_package_spec;
pub(super) mod unsafe_url;
pub(super) mod version_mismatch;
pub(super) mod version_unverifiable;

use acp_registry_plan::manifest::{NpmSpec, Package, PackageKind, Pin, PypiSpec};
use acp_registry_plan::text::quote;

/// Help for a package that is not pinned to one version. `pinned` is the specification pinned to the manifest's
/// version, if that is a valid version.
fn help(pinned: Option<&str>) -> String {
    match pinned {
        Some(pinned) => format!("write {}", quote(pinned)),
        None => "write the number of a published version, here and in `version`; `acp-registry bump` finds newer ones \
                 from then on"
            .to_owned(),
    }
}

/// The specification with `version` as its exact version; `None` if the specification or the version is invalid.
fn pinned(kind: PackageKind, package: &Package, version: &str) -> Option<String> {
    let text = match kind {
        PackageKind::Npx => package.package.parse().map(|spec: NpmSpec| format!("{}@{version}", spec.name)),
        PackageKind::Uvx => package.package.parse().map(|spec: PypiSpec| spec.in_version(version)),
    }
    .ok()?;
    let written = Package { package: text.clone(), ..Package::default() };
    matches!(kind.pin(&written.package), Ok(Pin::Exact(_))).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_remedy_names_what_is_refused() {
        let written = |kind, package: &str, version| {
            let package = Package { package: package.to_owned(), ..Package::default() };
            help(pinned(kind, &package, version).as_deref())
        };
        assert_eq!(written(PackageKind::Npx, "@s/p@latest", "1.2.3"), "write `@s/p@1.2.3`");
        assert_eq!(written(PackageKind::Uvx, "p[x]", "1.2.3"), "write `p[x]==1.2.3`");
        for version in ["latest", "^1", ""] {
            let text = written(PackageKind::Npx, "p@latest", version);
            assert!(text.starts_with("write the number of a published version") && !text.contains("latest"), "{text}");
        }
    }
}
