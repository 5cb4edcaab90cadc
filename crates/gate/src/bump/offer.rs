//! The versions that a source offers, and why some of them are not used.

use std::fmt;

use acp_registry_plan::manifest::{Channel, Version};
use acp_registry_sources::{npm, pypi};
use time::OffsetDateTime;

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
    /// The registry has recalled it.
    Recalled,
    /// It has no file for these platforms.
    Missing(Vec<String>),
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Prerelease => f.write_str("is marked as a prerelease"),
            Self::Deprecated => f.write_str("is deprecated"),
            Self::Yanked => f.write_str("was yanked"),
            Self::Recalled => f.write_str("is recalled by the registry"),
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

    /// Marks the versions after this one that are recalled.
    pub(super) fn recall(&mut self, current: &Version, is_recalled: impl Fn(&str) -> bool) {
        for offer in self.by_version.iter_mut().filter(|offer| offer.version > *current) {
            if is_recalled(&offer.version.in_full()) {
                offer.flaw = Some(Flaw::Recalled);
            }
        }
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

impl Offers {
    /// The offers of an npm package.
    pub(crate) fn from_packument(packument: &npm::Packument) -> Self {
        let read = |text: &str| Version::parse_loose(text).filter(|_| text.len() <= LONGEST);
        let offers = packument.all().filter_map(|(text, published)| {
            let flaw = published.deprecated.is_some().then_some(Flaw::Deprecated);
            Some(SourceVersion {
                version: read(text)?,
                text: text.to_owned(),
                published: packument.published(text),
                flaw,
            })
        });
        let recommended = packument.tags.get("latest").and_then(|text| read(text));
        Self::new(SourceKind::Npm, offers, recommended)
    }

    /// The offers of a PyPI project for a channel.
    pub(crate) fn from_project(project: &pypi::Project, channel: Channel) -> Self {
        let offers = project.all().filter_map(|(python, release)| {
            let version = from_python(python, channel)?;
            let flaw = release.yanked.is_some().then_some(Flaw::Yanked);
            Some(SourceVersion { version, text: python.to_string(), published: release.published, flaw })
        });
        Self::new(SourceKind::Pypi, offers, None)
    }
}

/// Converts a Python version to the form that manifests use. By PEP 440, `1.0.0-preview.2` is `1.0.0rc2`. Other
/// prereleases, and development and local versions, have no such form and are left out. So are post-releases, which
/// count as builds of their version, see [`pypi_version_matches`](acp_registry_plan::manifest::pypi_version_matches).
fn from_python(version: &pep440_rs::Version, channel: Channel) -> Option<Version> {
    let numbers: Vec<String> = version.release().iter().map(ToString::to_string).collect();
    let numbers = numbers.join(".");
    if version.is_dev() || version.epoch() != 0 || version.is_post() || version.is_local() {
        return None;
    }
    match version.pre() {
        None => Version::parse_loose(&numbers),
        Some(pre) if channel == Channel::Preview && pre.kind == pep440_rs::PrereleaseKind::Rc => {
            Version::parse_loose(&format!("{numbers}-preview.{}", pre.number))
        }
        Some(_) => None,
    }
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

    #[test]
    fn python_versions_are_written_as_manifests_do() {
        for (text, stable, preview) in [
            ("1.10", Some("1.10"), Some("1.10")),
            ("1.0.0rc2", None, Some("1.0.0-preview.2")),
            ("1.0.0b1", None, None),
            ("1.0.0.dev3", None, None),
            ("1!1.0.0", None, None),
            ("1.0.0.post1", None, None),
        ] {
            let python = text.parse().unwrap();
            let of = |channel| from_python(&python, channel).map(|version| version.to_string());
            assert_eq!((of(Channel::Stable).as_deref(), of(Channel::Preview).as_deref()), (stable, preview), "{text}");
        }
    }
}
