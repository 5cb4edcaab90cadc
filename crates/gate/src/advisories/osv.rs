//! Advisories in the OSV format, and the versions that they name.

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use acp_registry_plan::manifest::{PackageKind, normalized};
use acp_registry_plan::text::quote;
use pep440_rs::Version as PythonVersion;
use semver::Version as NpmVersion;
use serde::de::{Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// Maximum number of packages in an advisory, and of events in a range.
const AFFECTED: usize = 10_000;
const EVENTS: usize = 1_000;

/// What the ids of advisories about malicious packages begin with.
const MALICIOUS: &str = "MAL-";

/// An advisory, as far as it is read.
#[derive(Debug, Deserialize)]
pub(super) struct Document {
    pub(super) id: String,
    aliases: Option<Vec<String>>,
    withdrawn: Option<String>,
    #[serde(default, deserialize_with = "read_at_most::<_, _, AFFECTED>")]
    affected: Vec<Affected>,
}

#[derive(Debug, Deserialize)]
struct Affected {
    package: Option<AffectedPackage>,
    ranges: Option<Vec<Range>>,
    versions: Option<Vec<String>>,
}

#[derive(Debug, Deserialize)]
struct AffectedPackage {
    ecosystem: String,
    name: String,
}

#[derive(Debug, Deserialize)]
struct Range {
    r#type: String,
    #[serde(default, deserialize_with = "read_at_most::<_, _, EVENTS>")]
    events: Vec<Event>,
}

#[derive(Debug, Clone, Deserialize)]
struct Event {
    introduced: Option<String>,
    fixed: Option<String>,
    last_affected: Option<String>,
}

/// A package of an advisory, and its versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Malice {
    /// The id that begins with `MAL-`.
    pub(super) advisory: String,
    pub(super) kind: PackageKind,
    /// The name as it is compared.
    pub(super) name: String,
    versions: Vec<String>,
    spans: Vec<Span>,
}

/// From one version up to another. Without a bound, it has no end there.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Span {
    from: Option<Version>,
    to: Option<End>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct End {
    version: Version,
    /// Whether the version is the last one, and not the first one behind.
    is_last: bool,
}

/// A version that can be compared with others of its kind of package.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Version {
    Npm(NpmVersion),
    Python(PythonVersion),
}

impl Version {
    fn parse(kind: PackageKind, text: &str) -> Option<Self> {
        match kind {
            PackageKind::Npx => NpmVersion::parse(text).ok().map(Self::Npm),
            PackageKind::Uvx => PythonVersion::from_str(text).ok().map(Self::Python),
        }
    }

    fn is_before(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Npm(one), Self::Npm(other)) => one.cmp_precedence(other).is_lt(),
            (Self::Python(one), Self::Python(other)) => one < other,
            _ => false,
        }
    }

    /// Whether both are the same package: npm knows no versions that differ in what follows `+` only.
    fn is_equal(&self, other: &Self) -> bool {
        !self.is_before(other) && !other.is_before(self)
    }
}

/// The name of a package as it is compared.
pub(super) fn key(kind: PackageKind, name: &str) -> String {
    match kind {
        PackageKind::Npx => name.to_owned(),
        PackageKind::Uvx => normalized(name),
    }
}

impl Document {
    /// The packages of npm and of the Python index that the advisory calls malicious; none if it is withdrawn.
    ///
    /// # Errors
    /// What is wrong with a range, as a sentence.
    pub(super) fn malice(self) -> Result<Vec<Malice>, String> {
        let Self { id, aliases, withdrawn, affected } = self;
        let ids = std::iter::once(id).chain(aliases.into_iter().flatten());
        let Some(advisory) = ids.into_iter().find(|id| id.starts_with(MALICIOUS)) else { return Ok(Vec::new()) };
        if withdrawn.is_some() {
            return Ok(Vec::new());
        }
        let mut found = Vec::new();
        for Affected { package, ranges, versions } in affected {
            let Some(AffectedPackage { ecosystem, name }) = package else { continue };
            let kind = match ecosystem.split(':').next() {
                Some("npm") => PackageKind::Npx,
                Some("PyPI") => PackageKind::Uvx,
                _ => continue,
            };
            let versions = versions.unwrap_or_default();
            let mut spans = Vec::new();
            // Ranges of commits say nothing of versions.
            let ranges = ranges.into_iter().flatten().filter(|range| range.r#type != "GIT");
            for range in ranges {
                spans.extend(range.spans(kind).map_err(|problem| format!("{} has {problem}", quote(&advisory)))?);
            }
            // An advisory that names no version is about all of them.
            if versions.is_empty() && spans.is_empty() {
                spans.push(Span { from: None, to: None });
            }
            found.push(Malice { advisory: advisory.clone(), kind, name: key(kind, &name), versions, spans });
        }
        Ok(found)
    }
}

impl Range {
    fn spans(&self, kind: PackageKind) -> Result<Vec<Span>, String> {
        let version =
            |text: &str| Version::parse(kind, text).ok_or_else(|| format!("a range with the version {}", quote(text)));
        let (mut starts, mut ends) = (Vec::new(), Vec::new());
        for event in &self.events {
            match event.introduced.as_deref() {
                None => {}
                Some("0") => starts.push(None),
                Some(text) => starts.push(Some(version(text)?)),
            }
            for (text, is_last) in [(&event.fixed, false), (&event.last_affected, true)] {
                let end = text.as_deref().map(version).transpose()?;
                ends.extend(end.map(|version| End { version, is_last }));
            }
        }
        if starts.is_empty() {
            return Err("a range without `introduced`".to_owned());
        }
        // Each begins at its `introduced`, and ends at the first end that is not before it.
        let first_end = |from: &Option<Version>| {
            let later = ends.iter().filter(|end| from.as_ref().is_none_or(|from| end.has(from)));
            later.reduce(|least, end| if end.version.is_before(&least.version) { end } else { least }).cloned()
        };
        let spans = starts.into_iter().map(|from| Span { to: first_end(&from), from });
        Ok(spans.collect())
    }
}

impl End {
    /// Whether a version is not behind it.
    fn has(&self, version: &Version) -> bool {
        if self.is_last { !self.version.is_before(version) } else { version.is_before(&self.version) }
    }
}

impl Malice {
    /// Whether a version is one of them. One that cannot be compared is, if the advisory has ranges.
    pub(super) fn has(&self, text: &str) -> bool {
        if self.versions.iter().any(|one| one == text) {
            return true;
        }
        let Some(version) = Version::parse(self.kind, text) else { return !self.spans.is_empty() };
        let is_equal = |one: &String| Version::parse(self.kind, one).is_some_and(|one| one.is_equal(&version));
        let is_listed = || self.versions.iter().any(is_equal);
        self.spans.iter().any(|span| {
            let is_after = span.from.as_ref().is_none_or(|from| !version.is_before(from));
            is_after && span.to.as_ref().is_none_or(|end| end.has(&version))
        }) || is_listed()
    }
}

/// Reads a list, or null; an error if it has more than `N` elements, because a few bytes become many.
fn read_at_most<'de, D, T, const N: usize>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    struct List<T, const N: usize>(PhantomData<T>);

    impl<'de, T: Deserialize<'de>, const N: usize> Visitor<'de> for List<T, N> {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "a list of at most {N} elements")
        }

        fn visit_unit<E>(self) -> Result<Vec<T>, E> {
            Ok(Vec::new())
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<T>, A::Error> {
            let mut all = Vec::new();
            while let Some(one) = list.next_element()? {
                if all.len() == N {
                    return Err(A::Error::invalid_length(N + 1, &self));
                }
                all.push(one);
            }
            Ok(all)
        }
    }

    deserializer.deserialize_any(List::<T, N>(PhantomData))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_that_become_large_are_refused() {
        let read = |count: usize, one: &str| {
            let affected = vec![one; count].join(",");
            serde_json::from_str::<Document>(&format!(r#"{{ "id": "MAL-1", "affected": [{affected}] }}"#))
        };
        assert!(read(AFFECTED, "{}").is_ok());
        let error = read(AFFECTED + 1, "{}").unwrap_err().to_string();
        assert!(error.contains("a list of at most 10000 elements"), "{error}");
        let events = |count| vec![r#"{ "introduced": "0" }"#; count].join(",");
        let range = |count| format!(r#"{{ "ranges": [{{ "type": "SEMVER", "events": [{}] }}] }}"#, events(count));
        assert!(read(1, &range(EVENTS)).is_ok() && read(1, &range(EVENTS + 1)).is_err());
    }

    /// The malice of an advisory about one package, with these members.
    fn malice(ecosystem: &str, members: &str) -> Result<Malice, String> {
        let text = format!(
            r#"{{ "id": "MAL-1", "affected": [{{ "package": {{ "ecosystem": "{ecosystem}", "name": "Some.Name" }}, {members} }}] }}"#
        );
        let found = serde_json::from_str::<Document>(&text).unwrap().malice()?;
        Ok(found.into_iter().next().unwrap())
    }

    #[test]
    fn versions_are_those_of_lists_and_ranges() {
        let range = |events: &str| format!(r#""ranges": [{{ "type": "SEMVER", "events": [{events}] }}]"#);
        for (ecosystem, members, inside, outside) in [
            (
                "npm",
                r#""versions": ["1.0.0", "1.0.2+b"]"#.to_owned(),
                vec!["1.0.0", "1.0.0+x", "1.0.2"],
                vec!["1.0.1", "0.9.0"],
            ),
            ("npm", range(r#"{ "introduced": "0" }"#), vec!["0.0.0-a", "99.0.0", "not a version"], vec![]),
            (
                "npm",
                range(r#"{ "introduced": "1.0.0" }, { "fixed": "1.2.0" }"#),
                vec!["1.0.0", "1.1.9", "1.2.0-rc.1"],
                vec!["0.9.9", "1.0.0-rc.1", "1.2.0", "1.2.0+build"],
            ),
            (
                "npm",
                range(r#"{ "introduced": "1.0.0" }, { "last_affected": "1.2.0" }"#),
                vec!["1.0.0", "1.2.0", "1.2.0+build"],
                vec!["1.2.1", "0.1.0"],
            ),
            // Events may come in any order.
            (
                "npm",
                range(
                    r#"{ "fixed": "3.1.0" }, { "introduced": "3.0.0" }, { "fixed": "1.1.0" }, { "introduced": "1.0.0" }"#,
                ),
                vec!["1.0.5", "3.0.5"],
                vec!["1.1.0", "2.0.0", "3.1.0"],
            ),
            ("npm", range(r#"{ "introduced": "2.0.0" }, { "fixed": "1.0.0" }"#), vec!["2.0.0", "3.0.0"], vec!["1.0.0"]),
            ("npm", r#""versions": null, "ranges": null"#.to_owned(), vec!["1.0.0"], vec![]),
            (
                "npm",
                r#""versions": ["1.0.0"], "ranges": [{ "type": "GIT", "events": [{ "introduced": "0" }] }]"#.to_owned(),
                vec!["1.0.0"],
                vec!["1.0.1"],
            ),
            ("PyPI", r#""versions": ["1.0"]"#.to_owned(), vec!["1.0", "1.0.0"], vec!["1.0.1", "1.0.post1"]),
            (
                "PyPI",
                r#""ranges": [{ "type": "ECOSYSTEM", "events": [{ "introduced": "1.0rc1" }, { "fixed": "1.10" }] }]"#
                    .to_owned(),
                vec!["1.0rc1", "1.0", "1.9", "1.10.dev1"],
                vec!["1.0b1", "1.10", "1.10.0", "2!1.0"],
            ),
        ] {
            let malice = malice(ecosystem, &members).unwrap();
            for version in inside {
                assert!(malice.has(version), "{members} {version}");
            }
            for version in outside {
                assert!(!malice.has(version), "{members} {version}");
            }
        }
        assert_eq!(malice("PyPI", r#""versions": ["1"]"#).unwrap().name, "some-name");
        assert_eq!(malice("npm", r#""versions": ["1"]"#).unwrap().name, "Some.Name");
    }

    #[test]
    fn only_what_is_called_malicious_counts() {
        let found = |members: &str| {
            let affected = r#"[{ "package": { "ecosystem": "npm", "name": "a" }, "versions": ["1.0.0"] }]"#;
            let text = format!(r#"{{ {members}, "affected": {affected} }}"#);
            serde_json::from_str::<Document>(&text)
                .unwrap()
                .malice()
                .unwrap()
                .into_iter()
                .next()
                .map(|one| one.advisory)
        };
        assert_eq!(found(r#""id": "MAL-2025-1""#).as_deref(), Some("MAL-2025-1"));
        assert_eq!(found(r#""id": "GHSA-1", "aliases": ["CVE-1", "MAL-2025-2"]"#).as_deref(), Some("MAL-2025-2"));
        for harmless in [
            r#""id": "GHSA-1""#,
            r#""id": "CVE-2025-1", "aliases": null"#,
            r#""id": "MAL-1", "withdrawn": "2025-01-01T00:00:00Z""#,
        ] {
            assert_eq!(found(harmless), None, "{harmless}");
        }
        let elsewhere = r#"{ "id": "MAL-1", "affected": [{ "package": { "ecosystem": "Maven", "name": "a" } }, {}] }"#;
        assert_eq!(serde_json::from_str::<Document>(elsewhere).unwrap().malice(), Ok(vec![]));
    }

    #[test]
    fn a_range_that_cannot_be_read_is_an_error() {
        for (events, problem) in [
            (r#"{ "introduced": "one" }"#, "`MAL-1` has a range with the version `one`"),
            (r#"{ "introduced": "0" }, { "fixed": "x" }"#, "`MAL-1` has a range with the version `x`"),
            (r#"{ "fixed": "1.0.0" }"#, "`MAL-1` has a range without `introduced`"),
        ] {
            let found = malice("npm", &format!(r#""ranges": [{{ "type": "SEMVER", "events": [{events}] }}]"#));
            assert_eq!(found.unwrap_err(), problem);
        }
    }
}
