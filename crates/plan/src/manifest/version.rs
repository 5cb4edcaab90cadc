//! Version numbers as agent registries use them.

use std::cmp::Ordering;
use std::fmt;

/// A version of an agent: numeric parts, an optional prerelease, and optional build metadata.
///
/// Less strict than Semantic Versioning, because versions of real agents are: parts may have leading zeros
/// (`2026.07.01`), and there may be more than three. The order follows Semantic Versioning. Missing parts count as 0;
/// leading zeros and build metadata are ignored.
#[derive(Debug, Clone)]
pub struct Version {
    text: String,
    parts: Vec<u64>,
    prerelease: Vec<Identifier>,
}

/// One part of a prerelease. Numbers are ordered before words.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Identifier {
    Number(u64),
    Word(String),
}

impl Version {
    /// Parses a version with at least three parts, as manifests require.
    ///
    /// Returns `None` for anything else, including parts above 2⁶⁴ − 1.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::parse_loose(text).filter(|version| version.parts.len() >= 3)
    }

    /// Whether two texts are the same version, in any spelling of its number.
    #[must_use]
    pub fn is_same(one: &str, other: &str) -> bool {
        one == other || matches!((Self::parse(one), Self::parse(other)), (Some(one), Some(other)) if one == other)
    }

    /// The version with at least three parts, as manifests require: `1.10` becomes `1.10.0`.
    #[must_use]
    pub fn in_full(&self) -> String {
        let text = self.as_str();
        let end = text.find(['-', '+']).unwrap_or(text.len());
        let zeros = ".0".repeat(3_usize.saturating_sub(self.parts().len()));
        format!("{}{zeros}{}", &text[..end], &text[end..])
    }

    /// Parses a version with at least one part, as in tags and file names.
    #[must_use]
    pub fn parse_loose(text: &str) -> Option<Self> {
        let (rest, build) = text.split_once('+').map_or((text, None), |(rest, build)| (rest, Some(build)));
        if build.is_some_and(|build| !are_identifiers(build)) {
            return None;
        }
        let (release, prerelease) = rest.split_once('-').map_or((rest, None), |(release, pre)| (release, Some(pre)));
        let parts = release.split('.').map(number).collect::<Option<Vec<u64>>>()?;
        let prerelease = match prerelease {
            None => Vec::new(),
            Some(text) if are_identifiers(text) => text
                .split('.')
                .map(|part| number(part).map_or_else(|| Identifier::Word(part.to_owned()), Identifier::Number))
                .collect(),
            Some(_) => return None,
        };
        Some(Self { text: text.to_owned(), parts, prerelease })
    }

    /// The version as written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The numeric parts, as many as were written.
    #[must_use]
    pub fn parts(&self) -> &[u64] {
        &self.parts
    }

    /// Whether this is a prerelease, such as `1.0.0-preview.2`.
    #[must_use]
    pub fn is_prerelease(&self) -> bool {
        !self.prerelease.is_empty()
    }

    /// Whether this is `X.Y.Z-preview.N`, the only form of prerelease in manifests.
    #[must_use]
    pub fn is_numbered_preview(&self) -> bool {
        matches!(&self.prerelease[..], [Identifier::Word(word), Identifier::Number(_)] if word == "preview")
    }

    fn release(&self) -> &[u64] {
        let significant = self.parts.iter().rposition(|&part| part != 0).map_or(0, |last| last + 1);
        &self.parts[..significant]
    }
}

fn number(part: &str) -> Option<u64> {
    (!part.is_empty() && part.bytes().all(|b| b.is_ascii_digit())).then(|| part.parse().ok()).flatten()
}

fn are_identifiers(text: &str) -> bool {
    text.split('.').all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-'))
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        self.release().cmp(other.release()).then_with(|| match (self.is_prerelease(), other.is_prerelease()) {
            (false, true) => Ordering::Greater,
            (true, false) => Ordering::Less,
            _ => self.prerelease.cmp(&other.prerelease),
        })
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Version {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Version {}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn v(text: &str) -> Version {
        Version::parse_loose(text).unwrap_or_else(|| panic!("{text} must parse"))
    }

    #[test]
    fn a_manifest_states_three_parts() {
        for (text, expected) in [
            ("1", "1.0.0"),
            ("1.10", "1.10.0"),
            ("1.2.3", "1.2.3"),
            ("1.6-preview.1", "1.6.0-preview.1"),
            ("1.6.0.1", "1.6.0.1"),
            ("2026.07.01", "2026.07.01"),
        ] {
            assert_eq!(v(text).in_full(), expected);
        }
    }

    #[test]
    fn what_is_no_version() {
        for text in [
            "", "1", "1.0", "v1.0.0", "1.0.x", "1..0", "1.0.0-", "1.0.0+", "1.0.0-a..b", "1.0.0 ", "-1.0.0",
            "1.0.99999999999999999999999", "1.0.0-ü", "latest", "1.0.0-a_b",
        ] {
            assert!(Version::parse(text).is_none(), "{text:?} was accepted");
        }
    }

    #[test]
    fn a_numbered_preview_is_told_from_other_prereleases() {
        assert!(v("1.0.0-preview.12").is_numbered_preview());
        for text in
            ["1.0.0", "1.0.0-preview", "1.0.0-preview.a", "1.0.0-rc.1", "1.0.0-preview.1.2", "1.0.0-1-preview.1"]
        {
            assert!(!v(text).is_numbered_preview(), "{text}");
        }
    }

    #[test]
    fn real_versions_are_ordered_by_number() {
        for (lower, higher) in [
            ("2026.07.01", "2026.10.01"),
            ("1.9.0", "1.10.0"),
            ("1.0.0-preview.2", "1.0.0-preview.10"),
            ("1.0.0-preview.10", "1.0.0"),
            ("1.0.0", "1.0.0.1"),
            ("0.87.0", "0.87.1-preview.2"),
            ("1.0.0-1", "1.0.0-alpha"),
            ("1.0.0-alpha", "1.0.0-alpha.1"),
        ] {
            assert!(v(lower) < v(higher), "{lower} < {higher}");
        }
        assert_eq!(v("3579.5"), v("3579.5.0"));
        assert_eq!(v("2026.07.01"), v("2026.7.1"));
        assert_eq!(v("1.0.73+180523.e6179a"), v("1.0.73"));
    }

    proptest! {
        #[test]
        fn order_agrees_with_semver_where_semver_speaks(a in "(0|[1-9][0-9]?)\\.(0|[1-9])\\.(0|[1-9])(-(a|rc|0|[1-9][0-9]?)(\\.(b|0|[1-9]))?)?",
                                                       b in "(0|[1-9][0-9]?)\\.(0|[1-9])\\.(0|[1-9])(-(a|rc|0|[1-9][0-9]?)(\\.(b|0|[1-9]))?)?") {
            let theirs = semver::Version::parse(&a).unwrap().cmp(&semver::Version::parse(&b).unwrap());
            prop_assert_eq!(v(&a).cmp(&v(&b)), theirs);
        }

        #[test]
        fn parsing_keeps_the_text(text in "[0-9a-z.+-]{0,20}") {
            if let Some(version) = Version::parse_loose(&text) {
                prop_assert_eq!(version.to_string(), text);
            }
        }
    }
}
