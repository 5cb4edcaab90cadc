//! `statement.json`: what a registry has published, for a signature.
//!
//! ```text
//! { "schema": 1, "registry": "https://agents.example.com", "sequence": 12, "expires_at": "2026-02-07T00:00:00Z",
//!   "snapshot": "v2026-01-31-1a2b3c4d5e6f",
//!   "digests": { "registry.json": "…", "entries.json": "…" }, "next_keys": ["RW…"] }
//! ```
//!
//! The digests name every index, `entries.json` and `revoked.json`; a file that is not named is not published. Everything else
//! that clients read is named by digests in these files.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::digest::Sha256;
use crate::sums::is_name;
use crate::text::quote;
use crate::timestamp::Timestamp;

/// The name of the file, beside an index.
pub const STATEMENT: &str = "statement.json";

/// The name of its signature, in the form of minisign.
pub const STATEMENT_SIGNATURE: &str = "statement.json.minisig";

/// The largest statement that is read, in bytes.
pub const STATEMENT_LIMIT: u64 = 1 << 20;

/// The largest signature that is read, in bytes.
pub const STATEMENT_SIGNATURE_LIMIT: u64 = 1 << 14;

/// With what the index and the discovery document of a registry begin that signs, so that clients look for its statement.
const MARK: &str = "{\n  \"signed\": true,";

/// Marks the JSON object of a registry that signs; `None` if it is none, or is marked.
#[must_use]
pub fn mark(text: &[u8]) -> Option<Vec<u8>> {
    let rest = text.strip_prefix(b"{").filter(|_| !text.starts_with(MARK.as_bytes()))?;
    Some([MARK.as_bytes(), rest].concat())
}

/// Whether the registry of an index or a discovery document signs.
#[must_use]
pub fn is_marked(text: &str) -> bool {
    text.starts_with(MARK)
}

/// The longest name of a registry, in bytes.
const NAME_LIMIT: usize = 1000;

/// The most keys that may sign the next statement.
const KEYS_LIMIT: usize = 16;

/// What a registry has published.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statement {
    schema: u32,
    /// The registry, as it names itself: usually the address of its tree. It never changes.
    pub registry: String,
    /// The number of the statement, which only grows.
    pub sequence: u64,
    /// When it is no longer valid. RFC 3339.
    #[serde(with = "time")]
    pub expires_at: Timestamp,
    /// The snapshot with the same files: `../<snapshot>/registry.json` is the index while `registry.json` is replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<String>,
    /// The digests of the files, by name.
    pub digests: BTreeMap<String, Sha256>,
    /// The public keys that may sign the next statement, in the form of minisign.
    pub next_keys: Vec<String>,
}

/// Who has signed what was read, and for how long that is valid.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Signed {
    /// The public key, in the form of minisign.
    pub signer: String,
    /// The number of the statement.
    pub sequence: u64,
    /// Until when it is valid. RFC 3339.
    #[serde(with = "time")]
    pub expires_at: Timestamp,
}

/// Why a text is not a statement.
#[derive(Debug, thiserror::Error)]
#[error("{STATEMENT} cannot be used: {0}")]
pub struct WrongStatement(
    /// What is wrong with it.
    pub String,
);

impl Statement {
    /// A statement without a name, files or keys.
    #[must_use]
    pub fn new(registry: String, sequence: u64, expires_at: Timestamp) -> Self {
        Self {
            schema: 1,
            registry,
            sequence,
            expires_at,
            snapshot: None,
            digests: BTreeMap::new(),
            next_keys: Vec::new(),
        }
    }

    /// Parses a statement.
    ///
    /// # Errors
    /// [`WrongStatement`].
    pub fn parse(text: &[u8]) -> Result<Self, WrongStatement> {
        let statement: Self = serde_json::from_slice(text).map_err(|error| WrongStatement(error.to_string()))?;
        let wrong = |what: String| Err(WrongStatement(what));
        if statement.schema != 1 {
            return wrong(format!("schema {} is not known", statement.schema));
        }
        if statement.registry.is_empty() || statement.registry.len() > NAME_LIMIT {
            return wrong(format!("`registry` must have 1 to {NAME_LIMIT} bytes"));
        }
        if statement.next_keys.len() > KEYS_LIMIT {
            return wrong(format!("`next_keys` must have at most {KEYS_LIMIT} keys"));
        }
        // It becomes a part of an address.
        match statement.snapshot.as_deref().filter(|name| name.contains('/') || !is_name(name)) {
            Some(name) => wrong(format!("`snapshot` is not the name of a folder: {}", quote(name))),
            None => Ok(statement),
        }
    }

    /// As it is published.
    #[must_use]
    pub fn to_text(&self) -> String {
        // It has nothing that JSON cannot represent.
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }

    /// Whether it states the same as another one, if one leaves out number and expiry.
    #[must_use]
    pub fn agrees_with(&self, other: &Self) -> bool {
        Self { sequence: other.sequence, expires_at: other.expires_at, ..self.clone() } == *other
    }
}

/// Times as text.
mod time {
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    use crate::timestamp::Timestamp;

    pub(super) fn serialize<S: Serializer>(time: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(time)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_comes_back_and_others_are_refused() {
        let mut statement = Statement::new("https://h.example".to_owned(), 7, Timestamp::EPOCH);
        statement.digests.insert("registry.json".to_owned(), Sha256::of("index"));
        statement.next_keys.push("RWQ".to_owned());
        statement.snapshot = Some("v2026-01-31-1".to_owned());
        let text = statement.to_text();
        assert_eq!(Statement::parse(text.as_bytes()).unwrap(), statement);
        for (old, new) in [
            ("\"schema\": 1", "\"schema\": 2"),
            ("v2026-01-31-1", "../elsewhere"),
            ("v2026-01-31-1", "a/b"),
            ("https://h.example", ""),
            ("1970-01-01T00:00:00Z", "soon"),
            ("\"sequence\": 7", "\"sequence\": -7"),
        ] {
            let changed = text.replace(old, new);
            assert!(changed != text && Statement::parse(changed.as_bytes()).is_err(), "{new}");
        }
        let keys = format!("[{}]", vec!["\"RWQ\""; KEYS_LIMIT + 1].join(","));
        let start = text.find("\"next_keys\"").unwrap();
        assert!(Statement::parse(format!("{}\"next_keys\":{keys}}}", &text[..start]).as_bytes()).is_err());
    }
}
