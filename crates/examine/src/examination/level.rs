//! Levels of an examination.

use serde::{Deserialize, Serialize};

/// Level of an examination. Each level includes the previous ones.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// The agent answers `initialize`.
    #[default]
    Handshake,
    /// It follows the protocol, as far as this can be checked without opening a session.
    Protocol,
    /// It opens, lists, loads and configures sessions as it advertises.
    Sessions,
    /// It carries out prompts with a scripted model.
    Turns,
    /// It follows the proposals for later versions of the protocol that it advertises.
    Drafts,
}

impl Level {
    /// All levels, in ascending order.
    pub const ALL: [Self; 5] = [Self::Handshake, Self::Protocol, Self::Sessions, Self::Turns, Self::Drafts];

    /// The name used in flags and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Handshake => "handshake",
            Self::Protocol => "protocol",
            Self::Sessions => "sessions",
            Self::Turns => "turns",
            Self::Drafts => "drafts",
        }
    }

    /// Whether an agent gets a scripted model at this level.
    pub fn has_model(self) -> bool {
        self >= Self::Sessions
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
