//! What a check has found.

use std::path::Path;
use std::time::Duration;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::answer::Handshake;
use super::probes::Probe;
use acp_registry_core::sys::process::{Exit, How};

/// The judgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The agent answers, and a person can sign in.
    Pass,
    /// It does not.
    Fail,
    /// It was never started, so that nothing is known of it.
    Error,
}

/// Why an agent has not passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// It offers no way to sign in.
    NoAuthMethods,
    /// It offers only ways that a client cannot carry out.
    NoSupportedAuthType,
    /// It said nothing in time.
    Timeout,
    /// It ended before it answered.
    Exited,
    /// What it answered is not an answer.
    InvalidResponse,
    /// It answered with an error.
    AgentError,
    /// It chose a version of the protocol that clients do not speak.
    ProtocolVersion,
    /// The system could not start it.
    SpawnFailed,
    /// It did not answer, and does not run on the version of the runtime that started it.
    RuntimeTooOld,
}

impl Reason {
    /// The reason's name in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoAuthMethods => "no_auth_methods",
            Self::NoSupportedAuthType => "no_supported_auth_type",
            Self::Timeout => "timeout",
            Self::Exited => "exited",
            Self::InvalidResponse => "invalid_response",
            Self::AgentError => "agent_error",
            Self::ProtocolVersion => "protocol_version",
            Self::SpawnFailed => "spawn_failed",
            Self::RuntimeTooOld => "runtime_too_old",
        }
    }

    fn verdict(self) -> Verdict {
        if matches!(self, Self::SpawnFailed | Self::RuntimeTooOld) { Verdict::Error } else { Verdict::Fail }
    }
}

/// A reason with its sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) reason: Reason,
    pub(super) message: String,
}

impl Failure {
    pub(super) fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self { reason, message: message.into() }
    }
}

/// How long it took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// From the start of the process to its response; `None` without one.
    pub start_to_response: Option<Duration>,
    /// From the start to the end of the last process and the removal of all files.
    pub total: Duration,
}

/// What a check has found. Serialises as the command-line contract wants it, without `schema` and `command`.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The judgement.
    pub verdict: Verdict,
    /// Why it is bad.
    pub reason: Option<Reason>,
    /// The same as a sentence for people, with what would help. Printable.
    pub message: Option<String>,
    /// What the agent has answered.
    pub handshake: Handshake,
    /// How long it took.
    pub timing: Timing,
    /// How the process has ended; `None` if it was never started, or did not even yield to being killed.
    pub exit: Option<Exit>,
    /// The end of what it wrote to stderr, at most 64 KiB, as it was written: escape it before it is shown.
    pub stderr_tail: String,
    /// What kept the agent apart from the host.
    pub isolation: &'static str,
    /// The directory of the check, and why it could not be removed. It says nothing of the agent, and is not part of what
    /// serialises.
    pub left: Option<String>,
    /// Whether the agent passed only when it was started again. No part of what serialises.
    pub is_flaky: bool,
}

/// The replacement of a path that is another in each run.
const SANDBOX: &str = "$SANDBOX";

impl Outcome {
    /// Puts `$SANDBOX` in the place of a path that is another in each run, in all that the agent has answered.
    pub fn hide_path(&mut self, path: &Path) {
        let Some(path) = path.to_str() else { return };
        let hide = |text: &mut String| {
            if text.contains(path) {
                *text = text.replace(path, SANDBOX);
                // Below it each check has a directory with a random name.
                let below = format!("{SANDBOX}/acp-registry-");
                while let Some(at) = text.find(&below) {
                    let end = text[at + below.len()..].find('/').map_or(text.len(), |length| at + below.len() + length);
                    text.replace_range(at + SANDBOX.len()..end, "");
                }
            }
        };
        let handshake = &mut self.handshake;
        hide_in(&mut handshake.agent_info, &hide);
        hide_in(&mut handshake.capabilities, &hide);
        handshake.extra.values_mut().for_each(|value| hide_in(value, &hide));
        handshake.auth_methods.iter_mut().for_each(|method| hide(&mut method.name));
        handshake.setup_required.iter_mut().for_each(hide);
        handshake.warnings.iter_mut().for_each(hide);
    }

    /// Whether another start may end otherwise: the agent died by a signal, or did not answer in time.
    #[must_use]
    pub fn may_be_chance(&self) -> bool {
        let has_crashed = self.exit.is_some_and(|exit| exit.how == How::Signaled);
        self.verdict == Verdict::Fail && (self.reason == Some(Reason::Timeout) || has_crashed)
    }

    /// The outcome of a second start, after a first one that [may have failed by chance](Self::may_be_chance).
    #[must_use]
    pub fn after_failure(mut self) -> Self {
        self.is_flaky = self.verdict == Verdict::Pass;
        if self.reason == Some(Reason::Timeout) {
            // The time that has passed is that of both starts.
            self.message = self.message.map(|message| format!("{message}, in each of two starts"));
        }
        self
    }

    /// Whether the agent has left a request unanswered that came after `initialize`, as it may do only because the machine is
    /// busy.
    #[must_use]
    pub fn has_silence(&self) -> bool {
        self.silences() > 0
    }

    fn silences(&self) -> usize {
        self.handshake.probes.iter().filter(|(_, probe)| *probe == Probe::Timeout).count()
    }

    /// Chooses between two starts of the same agent: `again` where it was judged alike, and left fewer requests unanswered.
    #[must_use]
    pub fn or_less_silent(self, again: Self) -> Self {
        let is_alike = again.verdict == self.verdict && again.reason == self.reason;
        if is_alike && again.silences() < self.silences() { Self { is_flaky: self.is_flaky, ..again } } else { self }
    }

    /// Gives the runtime the blame where the agent has not answered. `shortfall` says which version is there, and which is
    /// wanted, as a printable part of a sentence.
    pub fn blame_runtime(&mut self, shortfall: &str) {
        let no_answer =
            [Reason::AgentError, Reason::Exited, Reason::InvalidResponse, Reason::SpawnFailed, Reason::Timeout];
        if self.reason.is_none_or(|reason| !no_answer.contains(&reason)) {
            return;
        }
        let said = self.message.take().map_or_else(String::new, |message| format!("; without that, {message}"));
        self.verdict = Reason::RuntimeTooOld.verdict();
        self.reason = Some(Reason::RuntimeTooOld);
        self.message = Some(format!("the agent {shortfall}{said}"));
    }

    pub(super) fn judge(&mut self, judgement: Result<(), Failure>) {
        let failure = judgement.err();
        self.verdict = failure.as_ref().map_or(Verdict::Pass, |failure| failure.reason.verdict());
        self.reason = failure.as_ref().map(|failure| failure.reason);
        self.message = failure.map(|failure| failure.message);
    }
}

fn hide_in(value: &mut Value, hide: &impl Fn(&mut String)) {
    match value {
        Value::String(text) => hide(text),
        Value::Array(items) => items.iter_mut().for_each(|item| hide_in(item, hide)),
        Value::Object(members) => members.values_mut().for_each(|member| hide_in(member, hide)),
        _ => {}
    }
}

impl Serialize for Outcome {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_struct("Outcome", 8)?;
        map.serialize_field("verdict", &self.verdict)?;
        map.serialize_field("reason", &self.reason)?;
        map.serialize_field("message", &self.message)?;
        map.serialize_field("handshake", &self.handshake)?;
        map.serialize_field("timing", &self.timing)?;
        map.serialize_field("exit", &self.exit.map(ExitForm))?;
        map.serialize_field("stderr_tail", &self.stderr_tail)?;
        map.serialize_field("isolation", self.isolation)?;
        map.end()
    }
}

impl Serialize for Timing {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_struct("Timing", 2)?;
        map.serialize_field("start_to_response_seconds", &self.start_to_response.map(|time| time.as_secs_f64()))?;
        map.serialize_field("total_seconds", &self.total.as_secs_f64())?;
        map.end()
    }
}

struct ExitForm(Exit);

impl Serialize for ExitForm {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let how = match self.0.how {
            How::Exited => "exited",
            How::Signaled => "signaled",
            How::Terminated => "terminated",
            How::Killed => "killed",
        };
        let mut map = serializer.serialize_struct("Exit", 3)?;
        map.serialize_field("how", how)?;
        map.serialize_field("code", &self.0.code)?;
        map.serialize_field("signal", &self.0.signal)?;
        map.end()
    }
}
