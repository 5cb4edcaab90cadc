//! Rules about how an agent is obtained and started, in both channels.

pub(super) mod archive_format;
pub(super) mod cmd_style;
pub(super) mod inconsistent_targets;
pub(super) mod latest_reference;
pub(super) mod missing_os;
pub(super) mod reserved_env;
pub(super) mod service_address;
pub(super) mod unpinned_package;
pub(super) mod unsafe_cmd;
pub(super) mod unsafe_package_spec;
pub(super) mod unsafe_url;
pub(super) mod version_mismatch;
pub(super) mod version_unverifiable;

use crate::manifest::{NpmSpec, Package, PackageKind, Pin, PypiSpec, SpecError};

/// How a package chooses its version, by the rules of its own world.
fn pin(kind: PackageKind, package: &Package) -> Result<Pin, SpecError> {
    match kind {
        PackageKind::Npx => package.package.parse().map(|spec: NpmSpec| spec.pin),
        PackageKind::Uvx => package.package.parse().map(|spec: PypiSpec| spec.pin),
    }
}

/// The specification with this version instead of whatever it has, for use in help.
fn pinned(kind: PackageKind, package: &Package, version: &str) -> String {
    match kind {
        PackageKind::Npx => package.package.parse().map(|spec: NpmSpec| format!("{}@{version}", spec.name)),
        PackageKind::Uvx => package.package.parse().map(|spec: PypiSpec| {
            let extras = if spec.extras.is_empty() { String::new() } else { format!("[{}]", spec.extras.join(",")) };
            format!("{}{extras}=={version}", spec.name)
        }),
    }
    .unwrap_or_default()
}
