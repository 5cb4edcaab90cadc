//! `revoked.json`: which versions of agents a registry has recalled.
//!
//! ```text
//! { "schema": 1, "revoked": [
//!   { "id": "agent", "versions": ">=1.2.0 <1.2.4", "level": "revoked", "reason": "Steals keys", "since": "2026-01-31" }
//! ] }
//! ```
//!
//! Reading must not fail open: a list with an item that names no agent is refused as a whole, and an item that cannot be
//! understood otherwise recalls all versions of its agent.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::json::{self, Object};
use crate::manifest::Version;
use crate::text::{quote, shown};

/// The name of the file, in a registry directory and beside an index.
pub const REVOKED: &str = "revoked.json";

/// The largest such file that is read, in bytes.
pub const REVOKED_LIMIT: u64 = 4 << 20;

/// The most members that are read of an item.
const MEMBERS: usize = 100;

/// The versions that a registry has recalled, by agent.
#[derive(Debug, Clone, Default)]
pub struct Revocations(BTreeMap<String, AgentRevocations>);

/// The recalls of an agent. They are read when the agent is asked for: `run` asks for one of thousands.
#[derive(Debug, Clone, Default)]
struct AgentRevocations {
    items: Vec<Box<RawValue>>,
    read: OnceLock<Vec<Revocation>>,
}

/// Recalled versions of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revocation {
    /// The versions.
    pub versions: VersionSet,
    /// The versions as written. Printable.
    pub written: String,
    /// What follows from it.
    pub level: RevocationLevel,
    /// Why, as written.
    pub reason: String,
    /// Since when, as written: a day or a time.
    pub since: Option<String>,
}

/// What follows from a recall, in order of severity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RevocationLevel {
    /// A warning.
    Deprecated,
    /// The version is neither installed nor started.
    Revoked,
}

impl RevocationLevel {
    /// The word in `revoked.json`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Deprecated => "deprecated",
            Self::Revoked => "revoked",
        }
    }
}

/// The document is no list of recalled versions.
#[derive(Debug, thiserror::Error)]
pub enum RevocationsError {
    /// It is not JSON.
    #[error("is not JSON: {0}")]
    Syntax(#[from] serde_json::Error),
    /// It has another form; the text says which.
    #[error("{0}")]
    Form(&'static str),
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct Document<'a> {
    schema: Option<u32>,
    revoked: Option<Vec<&'a RawValue>>,
}

impl Revocations {
    /// Parses a `revoked.json`.
    ///
    /// # Errors
    /// [`RevocationsError`] when it is no list of recalled versions.
    pub fn parse(text: &[u8]) -> Result<Self, RevocationsError> {
        // In one pass: `run` reads the list at each start. An array would be taken for the members in their order.
        let is_object = text.trim_ascii_start().starts_with(b"{");
        let document: Document<'_> = match serde_json::from_slice(text) {
            Ok(document) if is_object => document,
            Err(error) if !error.is_data() => return Err(error.into()),
            _ => return Err(RevocationsError::Form("is not a list of recalled versions")),
        };
        if document.schema != Some(1) {
            return Err(RevocationsError::Form("has not `schema` 1"));
        }
        let items = document.revoked.ok_or(RevocationsError::Form("has no list `revoked`"))?;
        let mut agents: BTreeMap<String, AgentRevocations> = BTreeMap::new();
        for item in items {
            let [id] = json::read_members(Some(item), ["id"]);
            let id = json::text(id).ok_or(RevocationsError::Form("has an item that names no agent"))?;
            agents.entry(id.into_owned()).or_default().items.push(item.to_owned());
        }
        Ok(Self(agents))
    }

    /// All recalls, with the ids of the agents.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Revocation)> {
        self.0.iter().flat_map(|(id, all)| all.read().iter().map(|one| (id.as_str(), one)))
    }

    /// The recalls of an agent.
    #[must_use]
    pub fn get(&self, id: &str) -> &[Revocation] {
        self.0.get(id).map_or(&[], AgentRevocations::read)
    }

    /// The recall of a version; the severest, if there are several.
    #[must_use]
    pub fn find(&self, id: &str, version: &str) -> Option<&Revocation> {
        let all = self.get(id).iter().filter(|revocation| revocation.versions.has(version));
        all.max_by_key(|revocation| revocation.level)
    }
}

impl AgentRevocations {
    fn read(&self) -> &[Revocation] {
        self.read.get_or_init(|| self.items.iter().map(|item| Revocation::read(item)).collect())
    }
}

impl Revocation {
    fn read(item: &RawValue) -> Self {
        let Object { members, .. }: Object<'_, MEMBERS> = json::object(Some(item)).unwrap_or_default();
        // The last of several counts.
        let member = |key: &str| members.iter().rfind(|(name, _)| name == key).map(|(_, value)| *value);
        let text = |key: &str| json::text(member(key)).map(Cow::into_owned);
        let versions = member("versions").and_then(VersionSet::read);
        let written = text("versions").or_else(|| member("versions").map(|value| value.get().to_owned()));
        let said = text("reason").filter(|reason| !reason.trim().is_empty());
        let mut reason = said.unwrap_or_else(|| "no reason is given".to_owned());
        if versions.is_none() {
            let item = member("versions").map_or_else(String::new, |value| format!(" {}", shown(value.get(), 60)));
            reason = format!("the versions{item} cannot be read, so that all are meant: {reason}");
        }
        Self {
            versions: versions.unwrap_or_default(),
            written: shown(&written.unwrap_or_default(), 100),
            level: match text("level").as_deref() {
                Some("deprecated") => RevocationLevel::Deprecated,
                _ => RevocationLevel::Revoked,
            },
            reason,
            since: text("since").filter(|since| !since.trim().is_empty()),
        }
    }
}

/// A set of versions: single ones, and ranges.
///
/// A text is one version or several (`1.0.0, 1.0.1`), a range (`>=1.0.0 <1.2.0`, `^1.2`, `~1.2.3`, `1.2.x`, `*`), or several of
/// these with `||` between them. A prerelease is compared by its place in the order; a caret, a tilde or a wildcard takes it
/// with the version that it precedes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionSet(Vec<Alternative>);

/// All versions that meet these conditions.
type Alternative = Vec<Condition>;

#[derive(Debug, Clone, PartialEq, Eq)]
enum Condition {
    /// This version, in any spelling.
    Is(String),
    /// The version is ordered in one of these ways in comparison with this one.
    Compares(&'static [Ordering], Version),
    /// A caret, a tilde, or a wildcard.
    Matches(semver::VersionReq),
}

/// The signs of comparisons, and how a version may then be ordered. Those of two characters come first.
const SIGNS: [(&str, &[Ordering]); 4] = [
    (">=", &[Ordering::Greater, Ordering::Equal]),
    ("<=", &[Ordering::Less, Ordering::Equal]),
    (">", &[Ordering::Greater]),
    ("<", &[Ordering::Less]),
];

/// The text is no set of versions.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} is neither a version nor a range", quote(.0))]
pub struct WrongVersionSet(String);

impl Default for VersionSet {
    /// All versions.
    fn default() -> Self {
        Self(vec![Vec::new()])
    }
}

impl FromStr for VersionSet {
    type Err = WrongVersionSet;

    fn from_str(text: &str) -> Result<Self, WrongVersionSet> {
        let mut alternatives = Vec::new();
        for part in text.split("||") {
            let words = words(part);
            let conditions = words.iter().map(|word| Condition::parse(word)).collect::<Result<Alternative, _>>()?;
            match conditions.as_slice() {
                [] => return Err(WrongVersionSet(text.to_owned())),
                // Several versions are a list, since none is equal to two.
                several if several.iter().all(|one| matches!(one, Condition::Is(_))) => {
                    alternatives.extend(conditions.into_iter().map(|one| vec![one]));
                }
                _ => alternatives.push(conditions),
            }
        }
        Ok(Self(alternatives))
    }
}

/// The conditions of a range, each with its sign: a sign may stand apart from its version.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split([',', ' ', '\t', '\n']).filter(|word| !word.is_empty()) {
        match words.last_mut().filter(|last| last.ends_with(['<', '>', '=', '^', '~'])) {
            Some(last) => last.push_str(word),
            None => words.push(word.to_owned()),
        }
    }
    words
}

impl Condition {
    fn parse(word: &str) -> Result<Self, WrongVersionSet> {
        let wrong = || WrongVersionSet(word.to_owned());
        for (sign, orders) in SIGNS {
            if let Some(version) = word.strip_prefix(sign) {
                let version = Version::parse_loose(version.trim_start_matches('v')).ok_or_else(wrong)?;
                return Ok(Self::Compares(orders, version));
            }
        }
        if let Some(version) = word.strip_prefix('=') {
            return Version::parse_loose(version).map(|_| Self::Is(version.to_owned())).ok_or_else(wrong);
        }
        if word.starts_with(['^', '~']) || word.split('.').any(|part| ["*", "x", "X"].contains(&part)) {
            return semver::VersionReq::parse(word).map(Self::Matches).map_err(|_| wrong());
        }
        Version::parse_loose(word).map(|_| Self::Is(word.to_owned())).ok_or_else(wrong)
    }

    fn holds(&self, text: &str, version: Option<&Version>) -> bool {
        match self {
            Self::Is(wanted) => {
                text == wanted || version.is_some_and(|version| Version::parse_loose(wanted).as_ref() == Some(version))
            }
            // What is no number has no place in the order: a recall is not evaded by such a version.
            Self::Compares(..) | Self::Matches(_) if version.is_none() => true,
            Self::Compares(orders, wanted) => version.is_some_and(|version| {
                // `<=1.2` has 1.2.5, as for npm.
                let begins_so = || !wanted.is_prerelease() && version.parts().starts_with(wanted.parts());
                orders.contains(&version.cmp(wanted)) || (**orders == [Ordering::Less, Ordering::Equal] && begins_so())
            }),
            Self::Matches(range) => version.is_some_and(|version| {
                let part = |at: usize| version.parts().get(at).copied().unwrap_or_default();
                range.matches(&semver::Version::new(part(0), part(1), part(2)))
            }),
        }
    }
}

impl VersionSet {
    /// Reads a text or a list of texts.
    fn read(value: &RawValue) -> Option<Self> {
        if let Ok(texts) = serde_json::from_str::<Vec<Cow<'_, str>>>(value.get()) {
            if texts.is_empty() {
                return None;
            }
            let sets = texts.iter().map(|text| text.parse()).collect::<Result<Vec<Self>, _>>().ok()?;
            return Some(Self(sets.into_iter().flat_map(|set| set.0).collect()));
        }
        json::text(Some(value))?.parse().ok()
    }

    /// Whether a version is in the set.
    #[must_use]
    pub fn has(&self, version: &str) -> bool {
        let parsed = Version::parse_loose(version);
        self.0.iter().any(|conditions| conditions.iter().all(|one| one.holds(version, parsed.as_ref())))
    }
}

impl fmt::Display for Revocation {
    /// As the rest of a sentence about a version: `has been revoked since 2026-01-31: Steals keys`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = self.level.as_str();
        match &self.since {
            Some(since) => write!(f, "has been {level} since {}", shown(since, 40))?,
            None => write!(f, "is {level}")?,
        }
        write!(f, ": {}", shown(&self.reason, 500))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(set: &str, version: &str) -> bool {
        set.parse::<VersionSet>().unwrap().has(version)
    }

    #[test]
    fn versions_are_named_or_in_a_range() {
        for (set, inside, outside) in [
            ("1.0.0", &["1.0.0", "1.0.0+build"][..], &["1.0.1", "1.0.0-preview.1"][..]),
            ("1.0.0, 1.0.2", &["1.0.0", "1.0.2"], &["1.0.1"]),
            ("1.0.0 || 1.0.2", &["1.0.0", "1.0.2"], &["1.0.1"]),
            ("1.0", &["1.0.0", "1.0"], &["1.0.1"]),
            (">=1.0.0 <1.2.0", &["1.0.0", "1.1.9", "1.1.0-preview.1"], &["0.9.9", "1.2.0", "1.0.0-preview.1"]),
            (">= 1.0.0, < 1.2.0", &["1.0.0", "1.1.9"], &["0.9.9", "1.2.0"]),
            (">1.0.0 <=1.2", &["1.0.1", "1.2.0", "1.2.5"], &["1.0.0", "1.3.0"]),
            ("<=1.2.0", &["1.2.0", "1.2.0-preview.1"], &["1.2.1", "1.20.0"]),
            ("<=1.2.0-preview.1", &["1.2.0-preview.1"], &["1.2.0"]),
            ("<=1", &["0.9.0", "1.3.5"], &["2.0.0"]),
            ("^1.2", &["1.2.0", "1.9.0"], &["1.1.9", "2.0.0"]),
            ("~1.2.3", &["1.2.3", "1.2.9"], &["1.2.2", "1.3.0"]),
            ("1.2.x", &["1.2.0", "1.2.9-preview.1"], &["1.3.0"]),
            ("*", &["0.0.1", "2026.10.01", "odd"], &[]),
            ("<2026.10.02", &["2026.10.01", "1.0.0"], &["2026.10.2"]),
            ("=1.0.0", &["1.0.0"], &["1.0.1"]),
        ] {
            for version in inside {
                assert!(has(set, version), "{version} is in {set}");
            }
            for version in outside {
                assert!(!has(set, version), "{version} is not in {set}");
            }
        }
        for wrong in ["", " ", "||", "1.0.0 ||", "latest", ">=", "^x.y", "> one", "1.0.0 - 1.2.0", "<>1.0.0"] {
            assert!(wrong.parse::<VersionSet>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_cannot_be_understood_recalls_all_versions_of_its_agent_and_of_no_other() {
        let parse = |items: &str| Revocations::parse(format!(r#"{{ "schema": 1, "revoked": [{items}] }}"#).as_bytes());
        for item in [
            r#"{ "id": "a" }"#,
            r#"{ "id": "a", "versions": 7 }"#,
            r#"{ "id": "a", "versions": [] }"#,
            r#"{ "id": "a", "versions": ["1.0.0", "later"], "level": "gone", "reason": 7, "since": [] }"#,
        ] {
            let revocations = parse(item).unwrap();
            let found = revocations.find("a", "2.0.0").unwrap();
            let said = found.to_string();
            assert!(
                found.level == RevocationLevel::Revoked && said.ends_with("so that all are meant: no reason is given"),
                "{said}"
            );
            assert_eq!(revocations.find("b", "2.0.0"), None);
        }
        for item in ["7", "{}", r#"{ "id": 7 }"#, "[[[]]]"] {
            assert!(parse(item).is_err(), "{item}");
        }
        for wrong in ["", "null", "[]", "{}", r#"{ "schema": 2, "revoked": [] }"#, r#"{ "schema": 1, "revoked": {} }"#]
        {
            assert!(Revocations::parse(wrong.as_bytes()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_severest_recall_counts_and_is_said_without_control_characters() {
        let text = r#"{ "schema": 1, "revoked": [
            { "id": "a", "versions": ["1.0.0"], "level": "revoked", "reason": "\u001b[2Jbad", "since": "2026-01-31" },
            { "id": "a", "versions": "<2.0.0", "level": "deprecated", "reason": "old" } ] }"#;
        let revocations = Revocations::parse(text.as_bytes()).unwrap();
        let said = |version| revocations.find("a", version).map(ToString::to_string);
        assert_eq!(said("1.0.0").unwrap(), "has been revoked since 2026-01-31: [2Jbad");
        assert_eq!(said("1.0.1").unwrap(), "is deprecated: old");
        assert_eq!(said("2.0.0"), None);
    }
}
