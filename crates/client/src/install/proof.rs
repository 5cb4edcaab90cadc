//! How the bytes were verified.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use acp_registry_plan::digest::Sha256;

/// Where the expected digest comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum DigestSource {
    /// The manifest, by the archive's SHA-256.
    Manifest,
    /// GitHub, by the SHA-256 that it computed when the archive was uploaded.
    Github,
    /// A lock file.
    Lock,
    /// The npm registry, by the SHA-512 that npm compares of each package.
    Npm,
    /// The Python package index, over connections that cannot be tampered with. uv compares the digests that it states.
    Pypi,
    /// Nowhere, or by a weak digest: the bytes are what the host has sent.
    None,
}

impl DigestSource {
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

impl DigestSource {
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

impl fmt::Display for DigestSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for DigestSource {
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
    pub verified: DigestSource,
    /// SHA-256 of the archive, in lower-case hexadecimal; `None` for packages.
    pub sha256: Option<Sha256>,
    /// Integrity value of the package, as npm writes it; `None` where the package manager reports none.
    pub integrity: Option<String>,
}

/// Whether an integrity value is one SHA-512 digest and nothing else. npm verifies nothing by a value that it cannot read, and
/// accepts bytes that match any of several values.
pub(crate) fn is_sha512(integrity: &str) -> bool {
    let digest = integrity.strip_prefix("sha512-").and_then(|digest| BASE64_STANDARD.decode(digest).ok());
    digest.is_some_and(|digest| digest.len() == 64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_whole_sha512_is_a_proof_and_nothing_else() {
        let encode = |length: usize| BASE64_STANDARD.encode(vec![7; length]);
        let good = format!("sha512-{}", encode(64));
        assert!(is_sha512(&good));
        for bad in [
            String::new(),
            " ".to_owned(),
            encode(64),
            "sha512-".to_owned(),
            "sha512-!!!!".to_owned(),
            format!("sha512-{}", encode(63)),
            format!("sha512-{}", encode(65)),
            format!("SHA512-{}", encode(64)),
            format!("sha1-{}", encode(20)),
            format!("sha256-{}", encode(32)),
            format!("sha256-{}", encode(64)),
            format!("{good}?x=y"),
            format!(" {good}"),
            format!("{good} {good}"),
            good[..good.len() - 2].to_owned(),
        ] {
            assert!(!is_sha512(&bad), "{bad}");
        }
    }
}
