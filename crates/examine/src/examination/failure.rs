//! Why a check did not pass.

use std::time::Duration;

/// Why a check did not pass. The texts are safe to print; those of `Fail` and `Silent` lack their subject, "the agent".
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CheckFailure {
    /// The agent violated the protocol.
    Fail(String),
    /// The agent did not answer.
    Silent(String),
    /// The check cannot run with this agent, for this reason.
    NotExercised(String),
    /// There was too little time to judge the agent, for this reason.
    Unjudged(String),
}

impl CheckFailure {
    /// Says of silence how long it lasted.
    pub(super) fn after(self, waited: Duration) -> Self {
        match self {
            Self::Silent(text) => Self::Silent(format!("{text} (waited {} s)", waited.as_secs_f64().round())),
            other => other,
        }
    }

    /// Whether the agent has not answered, has ended, or has answered with an error: what a failed connection may cause.
    pub(super) fn may_be_of_network(&self) -> bool {
        match self {
            Self::Fail(text) => ["with error ", " instead of answering "].iter().any(|part| text.contains(part)),
            Self::Silent(_) => true,
            Self::NotExercised(_) | Self::Unjudged(_) => false,
        }
    }

    /// The text of any variant.
    pub(super) fn into_text(self) -> String {
        match self {
            Self::Fail(text) | Self::Silent(text) | Self::NotExercised(text) | Self::Unjudged(text) => text,
        }
    }
}
