use std::fmt;
use std::str::FromStr;

/// The word for the version in the index.
const LATEST: &str = "latest";

/// An agent, with its version if one is named.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AgentSpec {
    /// Its id.
    pub id: String,
    /// An exact version.
    pub version: Option<String>,
    /// Whether it is written as `ID@latest`: the version in the index.
    pub is_latest: bool,
}

/// A text that names no agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("ID or ID@VERSION is wanted")]
pub struct WrongName;

impl AgentSpec {
    /// The agent in its default version: the installed one, else that of the index.
    #[must_use]
    pub fn any(id: &str) -> Self {
        Self { id: id.to_owned(), version: None, is_latest: false }
    }

    /// One version of the agent.
    #[must_use]
    pub fn exact(id: &str, version: &str) -> Self {
        Self { id: id.to_owned(), version: Some(version.to_owned()), is_latest: false }
    }

    /// Whether a version is named, by number or as `latest`.
    #[must_use]
    pub fn has_version(&self) -> bool {
        self.version.is_some() || self.is_latest
    }
}

impl fmt::Display for AgentSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.version, self.is_latest) {
            (Some(version), _) => write!(f, "{}@{version}", self.id),
            (None, true) => write!(f, "{}@{LATEST}", self.id),
            (None, false) => f.write_str(&self.id),
        }
    }
}

impl FromStr for AgentSpec {
    type Err = WrongName;

    fn from_str(text: &str) -> Result<Self, WrongName> {
        match text.split_once('@') {
            Some(("", _) | (_, "")) => Err(WrongName),
            Some((id, LATEST)) => Ok(Self { is_latest: true, ..Self::any(id) }),
            Some((id, version)) => Ok(Self::exact(id, version)),
            None if text.is_empty() => Err(WrongName),
            None => Ok(Self::any(text)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for text in ["gemini", "gemini@0.61.0", "gemini@latest"] {
            assert_eq!(text.parse::<AgentSpec>().map(|named| named.to_string()).as_deref(), Ok(text));
        }
        assert!("gemini@latest".parse::<AgentSpec>().is_ok_and(|named| named.has_version() && named.version.is_none()));
        for wrong in ["", "@1.0.0", "gemini@"] {
            assert_eq!(wrong.parse::<AgentSpec>(), Err(WrongName), "{wrong:?}");
        }
    }
}
