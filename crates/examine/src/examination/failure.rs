//! Why a check did not pass.

/// Why a check did not pass. The texts are safe to print; those of `Fail` and `Silent` lack their subject, "the agent".
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CheckFailure {
    /// The agent violated the protocol.
    Fail(String),
    /// The agent did not answer.
    Silent(String),
    /// The check cannot run with this agent, for this reason.
    NotExercised(String),
}

impl CheckFailure {
    /// The text of any variant.
    pub(super) fn into_text(self) -> String {
        match self {
            Self::Fail(text) | Self::Silent(text) | Self::NotExercised(text) => text,
        }
    }
}
