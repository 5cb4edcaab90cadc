//! Why a check did not pass.

use std::time::Duration;

/// The start of the message of a check that could not run within the time limit.
pub(super) const OUT_OF_TIME: &str = "the examination exceeded its time limit";

/// The start of the message of a check whose agent waited for a processor too long to be judged.
pub(super) const BUSY: &str = "the machine was too busy";

/// The circumstance in which an agent that opens other sessions opens none.
pub(super) const WITH_HTTP_SERVER: &str = "if it has an HTTP MCP server";

/// Why a check fails whose agent opens the session, and does nothing with the server.
pub(super) const IGNORES_HTTP_SERVER: &str = "does not send `initialize` to the HTTP MCP server of a session";

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

    /// Adds the circumstances to what the agent does.
    pub(super) fn with(self, circumstances: &str) -> Self {
        match self {
            Self::Fail(text) => Self::Fail(format!("{text} {circumstances}")),
            Self::Silent(text) => Self::Silent(format!("{text} {circumstances}")),
            other => other,
        }
    }

    /// For a check of which this is not the matter: it cannot run.
    pub(super) fn into_obstacle(self) -> Self {
        match self {
            Self::Fail(text) | Self::Silent(text) => Self::NotExercised(format!("the agent {text}")),
            other => other,
        }
    }

    /// Whether a failed connection may be the cause: the agent has not answered, has ended, has answered with an error, or
    /// has left undone what a turn should do. What it does although it must not has another cause.
    pub(super) fn may_be_of_network(&self, is_of_turn: bool) -> bool {
        const TURN: [&str; 4] = [" instead of ", "does not ", "stops with ", "sends 0 of "];
        let has = |text: &str, parts: &[&str]| parts.iter().any(|part| text.contains(part));
        match self {
            Self::Fail(text) => {
                has(text, &["with error ", " instead of answering "]) || (is_of_turn && has(text, &TURN))
            }
            Self::Silent(_) => true,
            Self::NotExercised(_) | Self::Unjudged(_) => false,
        }
    }

    /// The text of any variant.
    pub(super) fn text(&mut self) -> &mut String {
        match self {
            Self::Fail(text) | Self::Silent(text) | Self::NotExercised(text) | Self::Unjudged(text) => text,
        }
    }

    pub(super) fn into_text(mut self) -> String {
        std::mem::take(self.text())
    }
}

/// Says that the agent violates the protocol; the text lacks its subject, "the agent".
pub(super) fn fail<T>(text: impl Into<String>) -> Result<T, CheckFailure> {
    Err(CheckFailure::Fail(text.into()))
}

/// Says that the check cannot run with this agent, for this reason.
pub(super) fn not_exercised<T>(reason: impl Into<String>) -> Result<T, CheckFailure> {
    Err(CheckFailure::NotExercised(reason.into()))
}

/// Checks what the agent must do; [`fail`]s otherwise.
pub(super) fn ensure(holds: bool, otherwise: impl Into<String>) -> Result<(), CheckFailure> {
    if holds { Ok(()) } else { fail(otherwise) }
}

/// Checks what the check cannot run without; is [`not_exercised`] otherwise.
pub(super) fn needs(holds: bool, otherwise: impl Into<String>) -> Result<(), CheckFailure> {
    if holds { Ok(()) } else { not_exercised(otherwise) }
}
