//! What a machine can run.

use super::{Kind, runtimes};
use crate::manifest::Platform;

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
    /// The program that an installation of this kind needs and that is missing here, and how to get it.
    pub(super) fn lacks(&self, kind: Kind) -> Option<(&'static str, &'static str)> {
        match kind {
            Kind::Npx if !self.has_npm => Some(("npm", runtimes::NODE)),
            Kind::Uvx if !self.has_uv => Some(("uv", runtimes::UV)),
            _ => None,
        }
    }
}
