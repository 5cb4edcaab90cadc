//! The kinds of distribution, and what a manifest names for each.

use crate::manifest::{BinaryTarget, Distribution, Package, Platform};
use crate::text::quote;

/// A kind of distribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A package of the npm registry.
    Npx,
    /// A package of the Python package index.
    Uvx,
    /// An archive for each platform.
    Binary,
}

impl Kind {
    /// All kinds, in the order in which they are tried and shown.
    pub const ALL: [Self; 3] = [Self::Npx, Self::Uvx, Self::Binary];

    /// The key in the manifest.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Npx => "npx",
            Self::Uvx => "uvx",
            Self::Binary => "binary",
        }
    }

    /// The kind of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }

    /// What a manifest names for this kind; `None` when it does not declare the kind.
    ///
    /// # Errors
    /// [`NotForPlatform`] when the kind is declared, but not for this platform; `None` is a platform for
    /// which no agent is made.
    pub fn source(
        self,
        distribution: &Distribution,
        platform: Option<Platform>,
    ) -> Result<Option<Source>, NotForPlatform> {
        Ok(match self {
            Self::Npx => distribution.npx.clone().map(Source::Npx),
            Self::Uvx => distribution.uvx.clone().map(Source::Uvx),
            Self::Binary if distribution.binary.is_empty() => None,
            Self::Binary => {
                let of_host = |target: &&BinaryTarget| platform.is_some_and(|host| target.platform == host.as_str());
                let target = distribution.binary.iter().find(of_host);
                let offered = || distribution.binary.iter().map(|target| target.platform.clone()).collect();
                let target = target.ok_or_else(|| NotForPlatform { platform, offered: offered() })?;
                Some(Source::Binary(target.clone()))
            }
        })
    }
}

/// What a manifest names for one kind of distribution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A package for `npx`.
    Npx(Package),
    /// A package for `uvx`.
    Uvx(Package),
    /// The archive of one platform.
    Binary(BinaryTarget),
}

impl Source {
    /// The kind of distribution.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Self::Npx(_) => Kind::Npx,
            Self::Uvx(_) => Kind::Uvx,
            Self::Binary(_) => Kind::Binary,
        }
    }

    /// The package with its version, or the address of the archive, as the manifest has it.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Npx(package) | Self::Uvx(package) => &package.package,
            Self::Binary(target) => &target.archive,
        }
    }

    /// The arguments in the manifest.
    #[must_use]
    pub fn arguments(&self) -> &[String] {
        match self {
            Self::Npx(package) | Self::Uvx(package) => &package.args,
            Self::Binary(target) => &target.args,
        }
    }

    /// The variables in the manifest.
    #[must_use]
    pub fn variables(&self) -> &[(String, String)] {
        match self {
            Self::Npx(package) | Self::Uvx(package) => &package.env,
            Self::Binary(target) => &target.env,
        }
    }
}

/// There is no archive for a platform.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no archive for {}; there are some for {}", platform.map_or("this system", Platform::as_str), quote(&offered.join(", ")))]
pub struct NotForPlatform {
    /// The platform; `None` for one that manifests have no name for.
    pub platform: Option<Platform>,
    /// Those of the manifest.
    pub offered: Vec<String>,
}

/// What is known beforehand of the bytes that will come.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Expected {
    /// SHA-256 of the archive in a lock file.
    pub sha256: Option<String>,
    /// All packages with their digests, as npm (`package-lock.json`) or uv (`requirements.txt` with hashes) reads them.
    pub packages: Option<String>,
    /// The version of Python that they are for.
    pub python: Option<String>,
}
