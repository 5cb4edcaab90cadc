//! What a machine can run.

use crate::install::{Kind, remedy};
use acp_registry_core::manifest::Platform;
use acp_registry_core::sys::host::{emulates_x86_64, lacks_glibc};
use acp_registry_core::sys::process::Environment;

/// What a machine can run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// Its platform; `None` for one that manifests have no name for.
    pub platform: Option<Platform>,
    /// Another platform whose programs run here too, more slowly.
    pub emulated: Option<Platform>,
    /// Whether most Linux programs find no loader here, so that packages are the better choice.
    pub lacks_glibc: bool,
    /// Whether Node.js and npm are there.
    pub has_npm: bool,
    /// Whether uv is there.
    pub has_uv: bool,
}

impl Host {
    /// Examines this machine; programs are looked for in `environment`.
    #[must_use]
    pub fn detect(environment: &Environment) -> Self {
        let platform = Platform::host();
        let emulated = match platform {
            Some(Platform::DarwinAarch64) => Some(Platform::DarwinX8664),
            Some(Platform::WindowsAarch64) => Some(Platform::WindowsX8664),
            _ => None,
        };
        let has = |program: &str| environment.find(program).is_some();
        Self {
            platform,
            emulated: emulated.filter(|_| emulates_x86_64()),
            lacks_glibc: lacks_glibc(),
            has_npm: has("npm") && has("node"),
            has_uv: has("uv"),
        }
    }

    /// The program that an installation of this kind needs and that is missing here, and how to get it.
    pub(super) fn lacks(&self, kind: Kind) -> Option<(&'static str, &'static str)> {
        match kind {
            Kind::Npx if !self.has_npm => Some(("npm", remedy::NODE)),
            Kind::Uvx if !self.has_uv => Some(("uv", remedy::UV)),
            _ => None,
        }
    }
}
