//! Verdicts on agents, and the reasons for a failure.

use serde::Serialize;

/// The verdict on an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The agent answers, and users can sign in.
    Pass,
    /// It does not answer, or users cannot sign in.
    Fail,
    /// It could not be started, so nothing is known about it.
    Error,
}

impl Verdict {
    /// The name used in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Error => "error",
        }
    }
}

/// Why an agent did not pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FailReason {
    /// It has no authentication methods.
    NoAuthMethods,
    /// It has only authentication methods that clients cannot carry out.
    NoSupportedAuthType,
    /// It did not answer in time.
    Timeout,
    /// It did not answer in time, but waited for a processor for most of it.
    MachineBusy,
    /// It ended before it answered.
    Exited,
    /// Its answer is invalid.
    InvalidResponse,
    /// It answered with an error.
    AgentError,
    /// It chose a protocol version that clients do not support.
    ProtocolVersion,
    /// It could not be started.
    SpawnFailed,
    /// It did not answer, and requires a newer runtime than the one that started it.
    RuntimeTooOld,
    /// It answered, but failed a check of the examination that was required.
    Examination,
    /// It opened a file with credentials that it has no use for.
    ReadsSecrets,
}

impl FailReason {
    /// The name used in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoAuthMethods => "no_auth_methods",
            Self::NoSupportedAuthType => "no_supported_auth_type",
            Self::Timeout => "timeout",
            Self::MachineBusy => "machine_busy",
            Self::Exited => "exited",
            Self::InvalidResponse => "invalid_response",
            Self::AgentError => "agent_error",
            Self::ProtocolVersion => "protocol_version",
            Self::SpawnFailed => "spawn_failed",
            Self::RuntimeTooOld => "runtime_too_old",
            Self::Examination => "examination",
            Self::ReadsSecrets => "reads_secrets",
        }
    }

    pub(super) fn verdict(self) -> Verdict {
        match self {
            Self::SpawnFailed | Self::RuntimeTooOld | Self::MachineBusy => Verdict::Error,
            _ => Verdict::Fail,
        }
    }
}

/// A reason with its message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HandshakeFailure {
    pub(super) reason: FailReason,
    pub(super) message: String,
}

impl HandshakeFailure {
    pub(super) fn new(reason: FailReason, message: impl Into<String>) -> Self {
        Self { reason, message: message.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_machine_causes_is_no_failure_of_the_agent() {
        for reason in [FailReason::MachineBusy, FailReason::RuntimeTooOld, FailReason::SpawnFailed] {
            assert_eq!(reason.verdict(), Verdict::Error, "{}", reason.as_str());
        }
        assert_eq!(FailReason::Timeout.verdict(), Verdict::Fail);
    }
}
