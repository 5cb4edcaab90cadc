//! How far an examination goes.

use serde::{Deserialize, Serialize};

/// How far an examination goes. A level includes those before it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// The agent answers `initialize`.
    #[default]
    Handshake,
    /// It keeps to the protocol as far as that shows without a session.
    Protocol,
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_have_an_order_and_names() {
        assert!(Level::ALL.is_sorted());
        for level in Level::ALL {
            assert_eq!(serde_json::to_value(level).unwrap(), level.as_str());
        }
    }
}
