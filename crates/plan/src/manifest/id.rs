//! Ids of agents.

use std::borrow::Borrow;
use std::fmt;
use std::ops::Deref;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::text::quote;

/// A valid id of an agent, as the schema defines it. Ids become parts of paths, URLs and file names.
///
/// Consists of lower-case letters, digits and hyphens, and begins with a letter.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct AgentId(String);

/// A text that is not a valid id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} is not a valid id", quote(.0))]
pub struct InvalidId(pub String);

impl AgentId {
    /// Maximum length of an id in bytes, because systems limit the length of file names.
    pub const LIMIT: usize = 100;

    /// Whether a text is a valid id.
    #[must_use]
    pub fn is_valid(text: &str) -> bool {
        text.len() <= Self::LIMIT
            && text.starts_with(|c: char| c.is_ascii_lowercase())
            && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
    }

    /// The id as a text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for AgentId {
    type Error = InvalidId;

    fn try_from(text: String) -> Result<Self, InvalidId> {
        if Self::is_valid(&text) { Ok(Self(text)) } else { Err(InvalidId(text)) }
    }
}

impl FromStr for AgentId {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        text.to_owned().try_into()
    }
}

impl From<AgentId> for String {
    fn from(id: AgentId) -> Self {
        id.0
    }
}

impl Deref for AgentId {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for AgentId {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for AgentId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl PartialEq<str> for AgentId {
    fn eq(&self, other: &str) -> bool {
        self.0 == other
    }
}

impl PartialEq<String> for AgentId {
    fn eq(&self, other: &String) -> bool {
        self.0 == *other
    }
}

impl fmt::Display for AgentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_a_plain_name() {
        let longest = "a".repeat(AgentId::LIMIT);
        for id in ["a", "some-agent", "a1-", longest.as_str()] {
            assert_eq!(id.parse::<AgentId>().map(String::from).as_deref(), Ok(id));
        }
        let long = "a".repeat(AgentId::LIMIT + 1);
        for text in
            ["", "1a", "-a", "A", "aB", "a_b", "a.b", "..", "a/b", "a\\b", "/a", "a b", "ä", "a\0", long.as_str()]
        {
            let error = text.parse::<AgentId>().unwrap_err();
            assert!(error.to_string().ends_with(" is not a valid id"), "{error}");
        }
    }

    #[test]
    fn what_is_read_is_checked() {
        assert_eq!(serde_json::from_str::<AgentId>(r#""a""#).unwrap(), *"a");
        assert_eq!(serde_json::to_string(&AgentId("a".to_owned())).unwrap(), r#""a""#);
        let error = serde_json::from_str::<AgentId>(r#""../a""#).unwrap_err();
        assert!(error.to_string().starts_with("`../a` is not a valid id"), "{error}");
    }
}
