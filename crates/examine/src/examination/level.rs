//! How far an examination goes.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

/// How far an examination goes. A level includes those before it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// The agent answers `initialize`.
    #[default]
    Handshake,
    /// It keeps to the protocol as far as that shows without a session.
    Protocol,
}

/// There is no such level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownLevel;

impl fmt::Display for UnknownLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = Level::ALL.iter().map(|level| level.as_str()).collect();
        write!(f, "there is no such level; known are {}", names.join(", "))
    }
}

impl std::error::Error for UnknownLevel {}

impl Level {
    /// All levels, from the first to the last.
    pub const ALL: [Self; 2] = [Self::Handshake, Self::Protocol];

    /// Its name in flags and reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Handshake => "handshake",
            Self::Protocol => "protocol",
        }
    }
}

impl FromStr for Level {
    type Err = UnknownLevel;

    fn from_str(name: &str) -> Result<Self, UnknownLevel> {
        Self::ALL.into_iter().find(|level| level.as_str() == name).ok_or(UnknownLevel)
    }
}

impl Serialize for Level {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_have_an_order_and_names() {
        assert!(Level::ALL.is_sorted());
        for level in Level::ALL {
            assert_eq!(level.as_str().parse(), Ok(level));
        }
        assert_eq!(
            "turns".parse::<Level>().unwrap_err().to_string(),
            "there is no such level; known are handshake, protocol"
        );
    }
}
