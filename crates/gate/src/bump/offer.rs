//! The versions that a source offers, and why some of them are not used.

use std::fmt;

use time::OffsetDateTime;

use acp_registry_plan::manifest::Version;

/// Maximum length of a version, in bytes. Versions become part of titles, branch names and URLs.
pub(super) const LONGEST: usize = 100;

/// The kind of a source of versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SourceKind {
    /// An npm package.
    Npm,
    /// A PyPI project.
    Pypi,
    /// GitHub releases.
    Github,
    /// A feed from the registry's configuration.
    Feed,
}

impl SourceKind {
    /// The name used in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Npm => "npm",
            Self::Pypi => "pypi",
            Self::Github => "github",
            Self::Feed => "feed",
        }
    }
}

impl fmt::Display for SourceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A version that a source has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceVersion {
    /// The version, for comparison.
    pub version: Version,
    /// The version as the source writes it, for package specifications.
    pub text: String,
    /// When it was released, if known.
    pub published: Option<OffsetDateTime>,
    /// Why it is not used as an update.
    pub flaw: Option<Flaw>,
}

/// Why an offered version is not used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Flaw {
    /// It is marked as a prerelease, although its number is not one.
    Prerelease,
    /// It is deprecated.
    Deprecated,
    /// It was yanked.
    Yanked,
    /// It has no file for these platforms.
    Missing(Vec<String>),
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Prerelease => f.write_str("is marked as a prerelease"),
            Self::Deprecated => f.write_str("is deprecated"),
            Self::Yanked => f.write_str("was yanked"),
            Self::Missing(platforms) => write!(f, "has no file for {}", platforms.join(", ")),
        }
    }
}

/// All offers of one source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offers {
    /// The source.
    pub source: SourceKind,
    /// The version that the source recommends: npm's `latest` tag.
    pub recommended: Option<Version>,
    /// The offers, sorted from low to high versions, without duplicates.
    by_version: Vec<SourceVersion>,
}

impl Offers {
    /// Sorts offers and removes duplicates. Of versions that compare as equal (`1.0` and `1.0.0`, build metadata), the
    /// first without a flaw is kept, or else the first.
    pub fn new(
        source: SourceKind,
        offers: impl IntoIterator<Item = SourceVersion>,
        recommended: Option<Version>,
    ) -> Self {
        let mut offers: Vec<SourceVersion> = offers.into_iter().collect();
        offers.sort_by(|a, b| a.version.cmp(&b.version).then_with(|| a.flaw.is_some().cmp(&b.flaw.is_some())));
        offers.dedup_by(|next, kept| next.version == kept.version);
        Self { source, recommended, by_version: offers }
    }

    /// The offers, from low to high versions.
    pub fn all(&self) -> std::slice::Iter<'_, SourceVersion> {
        self.by_version.iter()
    }

    /// The offer of a version.
    pub fn of(&self, version: &Version) -> Option<&SourceVersion> {
        let at = self.by_version.binary_search_by(|offer| offer.version.cmp(version)).ok()?;
        self.by_version.get(at)
    }
}

/// Splits a release's tag into prefix and version: `v1.2.0`, `cli-v1.2.0`, `agent@1.2.0`, `1.2`.
///
/// Returns `None` if the tag contains no version, or is longer than 255 bytes.
pub(crate) fn version_of_tag(tag: &str) -> Option<(&str, Version)> {
    // Limited because a version could start at any digit of the tag.
    if tag.len() > 255 {
        return None;
    }
    let starts = |at: usize| {
        let before = &tag[..at];
        let unmarked = before.strip_suffix(['v', 'V']).unwrap_or(before);
        !unmarked.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '.')
    };
    let digits = tag.char_indices().filter(|(_, c)| c.is_ascii_digit()).map(|(at, _)| at);
    // A prefix may contain numbers (`web3-agent-1.0.0`), so the first place counts from which the whole rest is a
    // version.
    let mut versions = digits.filter(|&at| starts(at)).filter_map(|at| {
        let version = Version::parse_loose(&tag[at..])?;
        (version.parts().len() >= 2).then_some((at, version))
    });
    let (at, version) = versions.next()?;
    Some((&tag[..at], version))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_understood_with_any_prefix() {
        for (tag, prefix, version) in [
            ("v1.2.0", "v", "1.2.0"),
            ("1.2.0", "", "1.2.0"),
            ("cli-v1.2.0", "cli-v", "1.2.0"),
            ("agent@1.2.0", "agent@", "1.2.0"),
            ("@scope/agent@1.2.0-preview.3", "@scope/agent@", "1.2.0-preview.3"),
            ("release/1.6", "release/", "1.6"),
            ("web3-agent-1.0.0", "web3-agent-", "1.0.0"),
            ("v2026.07.01", "v", "2026.07.01"),
        ] {
            let (before, found) = version_of_tag(tag).unwrap();
            assert_eq!((before, found.as_str()), (prefix, version), "{tag}");
        }
        for tag in ["nightly", "v", "", "build-7", "v1.2.0.x", "x1.2.0"] {
            assert_eq!(version_of_tag(tag), None, "{tag}");
        }
    }
}
