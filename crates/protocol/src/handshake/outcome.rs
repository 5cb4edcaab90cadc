//! The result of checking an agent.

use std::path::Path;
use std::time::Duration;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::answer::Handshake;
use super::probe::Probe;
use super::verdict::{FailReason, HandshakeFailure, Verdict};
use acp_registry_host::process::{Exit, How};
use acp_registry_plan::text::quote;

/// Durations of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// From the start of the process to its response; `None` if it did not respond.
    pub start_to_response: Option<Duration>,
    /// From the start of the process until all processes have ended and all files are removed.
    pub total: Duration,
}

/// The result of a check. Serializes to the JSON format of reports, without `schema` and `command`.
#[derive(Debug, Clone, Serialize)]
pub struct Outcome {
    /// The verdict.
    pub verdict: Verdict,
    /// Why the agent did not pass.
    pub reason: Option<FailReason>,
    /// The reason as a message for people, with help. Free of control characters.
    pub message: Option<String>,
    /// The answers of the agent.
    pub handshake: Handshake,
    /// Durations of the check.
    pub timing: Timing,
    /// How the process ended; `None` if it was not started or could not be killed.
    #[serde(serialize_with = "write_exit")]
    pub exit: Option<Exit>,
    /// The last 64 KiB of stderr, as written. Not escaped: escape it before printing.
    pub stderr_tail: String,
    /// The isolation that the agent ran in.
    pub isolation: &'static str,
    /// The directory of the check, and why it could not be removed. Not serialized, since it says nothing about the
    /// agent.
    #[serde(skip)]
    pub left: Option<String>,
    /// Whether the agent passed only at the second start. Not serialized.
    #[serde(skip)]
    pub is_flaky: bool,
}

/// Replacement for paths that differ between runs.
const SANDBOX: &str = "$SANDBOX";

impl Outcome {
    /// Replaces a path that differs between runs by `$SANDBOX` in all answers of the agent.
    pub fn hide_path(&mut self, path: &Path) {
        let Some(path) = path.to_str() else { return };
        let hide = |text: &mut String| {
            if text.contains(path) {
                *text = text.replace(path, SANDBOX);
                // The next component is a directory with a random name.
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

    /// Whether another start may have a different result: the agent crashed or was killed, or did not answer in time.
    #[must_use]
    pub fn may_be_chance(&self) -> bool {
        let has_crashed = self.exit.is_some_and(|exit| exit.how == How::Signaled);
        match self.reason {
            Some(FailReason::Timeout | FailReason::MachineBusy) => true,
            _ => self.verdict == Verdict::Fail && has_crashed,
        }
    }

    /// Turns this outcome into that of a second start, after one that [may have failed by chance](Self::may_be_chance).
    #[must_use]
    pub fn after_failure(mut self) -> Self {
        self.is_flaky = self.verdict == Verdict::Pass;
        if self.reason == Some(FailReason::Timeout) {
            // The time in the message is that of each start.
            self.message = self.message.map(|message| format!("{message}, in each of two starts"));
        }
        self
    }

    /// Whether a request after `initialize` was not answered in time, which may be caused by a busy machine.
    #[must_use]
    pub fn has_silence(&self) -> bool {
        self.silences() > 0
    }

    fn silences(&self) -> usize {
        self.handshake.probes.iter().filter(|(_, probe)| *probe == Probe::Timeout).count()
    }

    /// Returns `again` if it has the same verdict and reason, and fewer unanswered requests; otherwise returns `self`.
    #[must_use]
    pub fn prefer_fewer_timeouts(self, again: Self) -> Self {
        let is_alike = again.verdict == self.verdict && again.reason == self.reason;
        if is_alike && again.silences() < self.silences() { Self { is_flaky: self.is_flaky, ..again } } else { self }
    }

    /// Attributes a missing answer to the runtime. `shortfall` names the installed and the required version, worded to
    /// follow "the agent", without control characters.
    pub fn blame_runtime(&mut self, shortfall: &str) {
        if !self.lacks_answer() {
            return;
        }
        let said = self.message.take().map_or_else(String::new, |message| format!("; without that, {message}"));
        self.verdict = FailReason::RuntimeTooOld.verdict();
        self.reason = Some(FailReason::RuntimeTooOld);
        self.message = Some(format!("the agent {shortfall}{said}"));
    }

    /// Adds to a missing answer, and to the warnings, why package runners do not start the agent. Returns whether the answer
    /// is missing. `why` has no control characters.
    pub fn blame_start(&mut self, why: &str) -> bool {
        if !self.lacks_answer() {
            return false;
        }
        let said = self.message.take().map_or_else(String::new, |message| format!("; {message}"));
        self.handshake.warnings.push(why.to_owned());
        self.message = Some(format!("{why}{said}"));
        true
    }

    /// Turns any outcome into a failure if the agent has opened canary files, whose paths are relative to its home. Returns
    /// whether it has.
    pub fn blame_secrets(&mut self, opened: &[&str]) -> bool {
        if opened.is_empty() {
            return false;
        }
        let said = self.message.take().map_or_else(String::new, |message| format!("; besides, {message}"));
        let files: Vec<String> = opened.iter().map(|file| quote(&format!("~/{file}"))).collect();
        let message = format!(
            "the agent opened {}, where a person's credentials would be, although nothing asked it to{said}",
            files.join(", ")
        );
        self.judge(Err(HandshakeFailure::new(FailReason::ReadsSecrets, message)));
        self.is_flaky = false;
        true
    }

    fn lacks_answer(&self) -> bool {
        let no_answer = [
            FailReason::AgentError,
            FailReason::Exited,
            FailReason::InvalidResponse,
            FailReason::MachineBusy,
            FailReason::SpawnFailed,
            FailReason::Timeout,
        ];
        self.reason.is_some_and(|reason| no_answer.contains(&reason))
    }

    /// Turns a pass into a failure of the examination, or, where that is open, into an error. The message is printable.
    pub fn fail_examination(&mut self, message: String, is_open: bool) {
        if self.verdict == Verdict::Pass {
            self.judge(Err(HandshakeFailure::new(FailReason::Examination, message)));
            if is_open {
                self.verdict = Verdict::Error;
            }
        }
    }

    pub(super) fn judge(&mut self, judgement: Result<(), HandshakeFailure>) {
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

impl Serialize for Timing {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_struct("Timing", 2)?;
        map.serialize_field("start_to_response_seconds", &self.start_to_response.map(|time| time.as_secs_f64()))?;
        map.serialize_field("total_seconds", &self.total.as_secs_f64())?;
        map.end()
    }
}

#[derive(Serialize)]
struct ExitForm {
    how: &'static str,
    code: Option<i32>,
    signal: Option<i32>,
}

#[expect(clippy::ref_option, reason = "serde passes the field by reference")]
fn write_exit<S: Serializer>(exit: &Option<Exit>, serializer: S) -> Result<S::Ok, S::Error> {
    let form = exit.map(|Exit { how, code, signal }| {
        let how = match how {
            How::Exited => "exited",
            How::Signaled => "signaled",
            How::Terminated => "terminated",
            How::Killed => "killed",
        };
        ExitForm { how, code, signal }
    });
    form.serialize(serializer)
}
