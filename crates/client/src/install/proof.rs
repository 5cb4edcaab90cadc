//! How the bytes were verified.

use std::fmt;
use std::str::FromStr;

use acp_registry_core::digest::Sha256;

/// Where the expected digest comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Verified {
    /// The manifest, by the archive's SHA-256.
    Manifest,
    /// GitHub, by the SHA-256 that it computed when the archive was uploaded.
    Github,
    /// A lock file.
    Lock,
    /// The npm registry, by the integrity value that npm compares.
    Npm,
    /// The Python package index, over a connection that cannot be tampered with.
    Pypi,
    /// Nowhere: the bytes are what the host has sent.
    None,
}

impl Verified {
    /// The name in JSON documents.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Manifest => "manifest",
            Self::Github => "github",
            Self::Lock => "lock",
            Self::Npm => "npm",
            Self::Pypi => "pypi",
            Self::None => "none",
        }
    }
}

impl Verified {
    /// The source, as a part of a sentence.
    pub(super) fn speaker(self) -> &'static str {
        match self {
            Self::Manifest => "the manifest",
            Self::Github => "GitHub",
            Self::Lock => "the lock file",
            Self::Npm => "the npm registry",
            Self::Pypi => "the Python package index",
            Self::None => "no source",
        }
    }
}

impl fmt::Display for Verified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Verified {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let all = [Self::Manifest, Self::Github, Self::Lock, Self::Npm, Self::Pypi, Self::None];
        all.into_iter().find(|verified| verified.as_str() == text).ok_or(())
    }
}

/// What is known of the bytes that were installed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Proof {
    /// Where the expected digest comes from.
    pub verified: Verified,
    /// SHA-256 of the archive, in lower-case hexadecimal; `None` for packages.
    pub sha256: Option<Sha256>,
    /// Integrity value of the package, as npm writes it; `None` where the package manager reports none.
    pub integrity: Option<String>,
}
