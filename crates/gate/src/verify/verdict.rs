//! The verdict on a task.

use serde::Serialize;

use acp_registry_protocol::handshake;

/// The verdict on a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TaskVerdict {
    /// The agent answers, and users can sign in.
    Pass,
    /// The agent does not pass the handshake, or its manifest is wrong.
    Fail,
    /// The agent could not be started, so nothing is known about it.
    Error,
    /// The agent was skipped.
    Skipped,
}

impl TaskVerdict {
    /// The name used in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Error => "error",
            Self::Skipped => "skipped",
        }
    }
}

impl From<handshake::Verdict> for TaskVerdict {
    fn from(verdict: handshake::Verdict) -> Self {
        match verdict {
            handshake::Verdict::Pass => Self::Pass,
            handshake::Verdict::Fail => Self::Fail,
            handshake::Verdict::Error => Self::Error,
        }
    }
}
