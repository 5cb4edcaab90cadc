//! The versions of an agent that an index has had, each with its entry as it was.
//!
//! ```text
//! { "schema": 1, "id": "agent", "versions": [
//!   { "version": "1.1.0", "since": "2026-01-31T00:00:00Z", "entry": { "id": "agent", "version": "1.1.0", … } } ] }
//! ```
//!
//! The discovery document leads to the file as to an entry, in a view of the name [`VERSIONS`].

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::manifest::Version;
use crate::text::shown;
use crate::timestamp::date;

/// The name of the view whose entries are these files.
pub const VERSIONS: &str = "versions";

/// The most versions that are published of an agent, the newest ones.
pub const VERSION_LIMIT: usize = 500;

/// The largest file that is published, in bytes; the oldest versions are left out of it.
pub const VERSIONS_LIMIT: usize = 1 << 20;

/// The member of an entry whose index stays at an older version than the registry has.
pub const HELD: &str = "held";

/// The longest reason that is shown, in characters.
const REASON_LIMIT: usize = 500;

/// Why an index stays at a version of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HeldVersion {
    /// The version.
    pub version: String,
    /// The last day, as `YYYY-MM-DD`, in UTC; `None` if there is none.
    pub until: Option<String>,
    /// Why. Printable.
    pub reason: String,
}

impl HeldVersion {
    /// Reads the member of an entry with this version; `None` where it says nothing of that version.
    #[must_use]
    pub fn parse(held: &Value, version: &str) -> Option<Self> {
        let text = |key: &str| held.get(key).and_then(Value::as_str);
        let until = text("until").filter(|day| date(day).is_some()).map(ToOwned::to_owned);
        let reason = shown(text("reason")?, REASON_LIMIT);
        (text("version") == Some(version)).then(|| Self { version: version.to_owned(), until, reason })
    }
}

impl fmt::Display for HeldVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "held at {}", self.version)?;
        if let Some(day) = &self.until {
            write!(f, " until {day}")?;
        }
        write!(f, ": {}", self.reason)
    }
}

/// The earlier versions of an agent, the newest first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Versions {
    schema: u32,
    /// The agent.
    pub id: String,
    /// Its versions, without the one that is in the index.
    pub versions: Vec<EarlierVersion>,
}

/// A version that an index has had.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EarlierVersion {
    /// The version.
    pub version: String,
    /// When it came into the registry, if that is known. RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// Its entry, as it was last.
    pub entry: Value,
}

/// Why a text is not a list of versions.
#[derive(Debug, thiserror::Error)]
#[error("it is not a list of versions: {0}")]
pub struct WrongVersions(String);

impl Versions {
    /// A list of versions, the newest first.
    #[must_use]
    pub fn new(id: &str, versions: Vec<EarlierVersion>) -> Self {
        Self { schema: 1, id: id.to_owned(), versions }
    }

    /// Parses the list of an agent. Texts that are no version, and versions whose entry is of another agent or version, are left
    /// out.
    ///
    /// # Errors
    /// [`WrongVersions`].
    pub fn parse(text: &[u8], id: &str) -> Result<Self, WrongVersions> {
        let mut found: Self = serde_json::from_slice(text).map_err(|error| WrongVersions(error.to_string()))?;
        if found.schema != 1 || found.id != id {
            return Err(WrongVersions(format!("it has schema {} and is of {}", found.schema, found.id)));
        }
        found.versions.retain(|one| {
            let text = |key: &str| one.entry.get(key).and_then(Value::as_str);
            text("id") == Some(id) && text("version") == Some(&one.version) && Version::parse(&one.version).is_some()
        });
        Ok(found)
    }

    /// As it is published; `None` if it has no version.
    #[must_use]
    pub fn to_text(&self) -> Option<String> {
        let mut shown = self.clone();
        shown.versions.truncate(VERSION_LIMIT);
        while !shown.versions.is_empty() {
            let text = crate::json::to_string(&shown);
            if text.len() <= VERSIONS_LIMIT {
                return Some(text);
            }
            shown.versions.truncate(shown.versions.len() * VERSIONS_LIMIT / text.len());
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn version(version: &str, padding: usize) -> EarlierVersion {
        let entry = json!({ "id": "a", "version": version, "description": "x".repeat(padding) });
        EarlierVersion { version: version.to_owned(), since: None, entry }
    }

    #[test]
    fn a_list_comes_back_without_what_does_not_belong_to_it() {
        let list = Versions::new("a", vec![version("2.0.0", 0), version("1.0.0", 0)]);
        let text = list.to_text().unwrap();
        assert_eq!(Versions::parse(text.as_bytes(), "a").unwrap(), list);
        assert!(Versions::parse(text.as_bytes(), "b").is_err());
        let other = text.replacen(
            "\"id\": \"a\",\n        \"version\": \"1.0.0\"",
            "\"id\": \"b\",\n        \"version\": \"1.0.0\"",
            1,
        );
        assert_ne!(other, text);
        assert_eq!(Versions::parse(other.as_bytes(), "a").unwrap().versions.len(), 1);
        for broken in ["", "[]", "{}", &text.replace("\"schema\": 1", "\"schema\": 2")] {
            assert!(Versions::parse(broken.as_bytes(), "a").is_err(), "{broken}");
        }
        assert_eq!(Versions::new("a", Vec::new()).to_text(), None);
    }

    #[test]
    fn a_hold_is_of_the_version_that_the_index_has_and_is_bounded() {
        let held = json!({ "version": "1.0.0", "until": "2026-12-31", "reason": "it\u{1b}[31m loses\nsessions" });
        let text = HeldVersion::parse(&held, "1.0.0").unwrap().to_string();
        assert_eq!(text, "held at 1.0.0 until 2026-12-31: it[31m loses sessions");
        let mut long = json!({ "version": "1.0.0", "until": "soon", "reason": "x".repeat(9000) });
        let read = HeldVersion::parse(&long, "1.0.0").unwrap();
        assert_eq!((read.until, read.reason.chars().count()), (None, REASON_LIMIT + 1));
        assert_eq!(HeldVersion::parse(&held, "1.1.0"), None);
        long["reason"] = json!(7);
        for wrong in [json!(null), json!("1.0.0"), json!([held]), long] {
            assert_eq!(HeldVersion::parse(&wrong, "1.0.0"), None, "{wrong}");
        }
    }

    #[test]
    fn a_list_is_bounded_and_keeps_the_newest() {
        let many = (0..VERSION_LIMIT + 9).map(|number| version(&format!("1.0.{number}"), 0)).collect();
        let text = Versions::new("a", many).to_text().unwrap();
        let read = Versions::parse(text.as_bytes(), "a").unwrap();
        assert_eq!((read.versions.len(), read.versions[0].version.as_str()), (VERSION_LIMIT, "1.0.0"));
        let large = (0..9).map(|number| version(&format!("1.0.{number}"), VERSIONS_LIMIT / 4)).collect();
        let text = Versions::new("a", large).to_text().unwrap();
        let kept = Versions::parse(text.as_bytes(), "a").unwrap().versions.len();
        assert!(text.len() <= VERSIONS_LIMIT && (2..=3).contains(&kept), "{kept}");
        assert_eq!(Versions::new("a", vec![version("1", VERSIONS_LIMIT)]).to_text(), None);
    }
}
