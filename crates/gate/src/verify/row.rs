//! The result of a task.

use std::time::{Duration, SystemTime};

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{Held, Origin};
use acp_registry_client::install::{Kind, ScriptsNotRun};
use acp_registry_core::manifest::Channel;
use acp_registry_core::sys::fs::PathError;
use acp_registry_protocol::handshake::{self, Handshake, Outcome};

/// The result of one distribution of one release of an agent.
#[derive(Debug)]
pub struct Row {
    /// The agent.
    pub id: String,
    /// The version that its manifest states; empty where there is none.
    pub version: String,
    /// The channel of that version.
    pub channel: Channel,
    /// The kind of distribution, if there is any.
    pub kind: Option<Kind>,
    /// That the agent is in quarantine, if it is.
    pub held: Option<Held>,
    /// How long the installation took; zero without one.
    pub install: Duration,
    /// The install scripts that npm has not run.
    pub scripts_not_run: ScriptsNotRun,
    /// What of its temporary files could not be removed.
    pub left: Option<PathError>,
    /// How far it came.
    pub state: State,
    /// What the verdict rests on, as in [`Task::basis`](super::Task::basis).
    pub basis: Option<String>,
    /// The source that could not be reached, if that is why; it says nothing of the agent.
    pub source_down: Option<Origin>,
}

/// How far a task came.
#[derive(Debug, Clone)]
pub enum State {
    /// It was not to be done.
    Skipped {
        /// The reason's name in reports.
        reason: &'static str,
        /// The same as a sentence.
        message: String,
    },
    /// The agent was never started.
    NotStarted {
        /// [`Verdict::Fail`] when the manifest is at fault, whatever the machine; else [`Verdict::Error`].
        verdict: Verdict,
        /// The reason's name in reports.
        reason: &'static str,
        /// The same as a sentence.
        message: String,
        /// What the package manager wrote to stderr, as it was written.
        stderr: String,
    },
    /// The agent was started.
    Checked {
        /// Its result.
        outcome: Box<Outcome>,
        /// When.
        at: SystemTime,
    },
    /// An earlier run had checked it: the row of its snapshot.
    Reused(Value),
}

/// The judgement on a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The agent answers, and a person can sign in.
    Pass,
    /// It does not, or its manifest is wrong.
    Fail,
    /// It was never started, so that nothing is known of it.
    Error,
    /// It was not to be checked.
    Skipped,
}

/// How many rows there are of each kind; they add up to the number of rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Agents that pass, checked now.
    pub passed: usize,
    /// Agents that fail.
    pub failed: usize,
    /// Agents of which nothing is known.
    pub errors: usize,
    /// Agents that were not to be checked.
    pub skipped: usize,
    /// Agents that had passed in an earlier run.
    pub reused: usize,
    /// Agents in quarantine that were checked because their time was over, and did not pass.
    pub held: usize,
}

impl Summary {
    /// Counts rows.
    #[must_use]
    pub fn of(rows: &[Row]) -> Self {
        let mut summary = Self::default();
        for row in rows {
            *match (&row.state, row.verdict()) {
                (State::Reused(_), _) => &mut summary.reused,
                (_, Verdict::Fail | Verdict::Error) if !row.is_finding() => &mut summary.held,
                (_, Verdict::Pass) => &mut summary.passed,
                (_, Verdict::Fail) => &mut summary.failed,
                (_, Verdict::Error) => &mut summary.errors,
                (_, Verdict::Skipped) => &mut summary.skipped,
            } += 1;
        }
        summary
    }
}

impl Verdict {
    /// The verdict's name in reports.
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

impl From<handshake::Verdict> for Verdict {
    fn from(verdict: handshake::Verdict) -> Self {
        match verdict {
            handshake::Verdict::Pass => Self::Pass,
            handshake::Verdict::Fail => Self::Fail,
            handshake::Verdict::Error => Self::Error,
        }
    }
}

impl Row {
    /// The judgement.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        match &self.state {
            State::Skipped { .. } => Verdict::Skipped,
            State::NotStarted { verdict, .. } => *verdict,
            State::Checked { outcome, .. } => outcome.verdict.into(),
            State::Reused(_) => Verdict::Pass,
        }
    }

    /// Whether somebody has to do something about it. Of an agent in quarantine nobody has expected anything else, unless
    /// somebody has asked for it.
    #[must_use]
    pub fn is_finding(&self) -> bool {
        let is_excused = self.held.as_ref().is_some_and(Held::is_excused);
        !is_excused && matches!(self.verdict(), Verdict::Fail | Verdict::Error)
    }

    /// The end of what the agent, or the package manager, wrote to stderr, as it was written: escape it before it is shown.
    #[must_use]
    pub fn stderr(&self) -> &str {
        match &self.state {
            State::NotStarted { stderr, .. } => stderr,
            State::Checked { outcome, .. } => &outcome.stderr_tail,
            State::Skipped { .. } | State::Reused(_) => "",
        }
    }

    /// What the check means for an agent in quarantine, as a sentence.
    #[must_use]
    pub fn advice(&self) -> Option<String> {
        self.held.as_ref()?.message(self.verdict())
    }

    /// The name of the reason for which it has not passed.
    #[must_use]
    pub fn reason(&self) -> Option<&'static str> {
        match &self.state {
            State::Skipped { reason, .. } | State::NotStarted { reason, .. } => Some(reason),
            State::Checked { outcome, .. } => outcome.reason.map(handshake::Reason::as_str),
            State::Reused(_) => None,
        }
    }

    /// The same as a sentence. Printable.
    #[must_use]
    pub fn message(&self) -> Option<&str> {
        match &self.state {
            State::Skipped { message, .. } | State::NotStarted { message, .. } => Some(message),
            State::Checked { outcome, .. } => outcome.message.as_deref(),
            State::Reused(_) => None,
        }
    }

    /// Why an agent that answers opens no session, in its own words, where signing in is not what it lacks.
    #[must_use]
    pub fn setup_required(&self) -> Option<&str> {
        match &self.state {
            State::Checked { outcome, .. } => outcome.handshake.setup_required.as_deref(),
            State::Reused(earlier) => earlier["setup_required"].as_str(),
            State::Skipped { .. } | State::NotStarted { .. } => None,
        }
    }

    /// What kept the agent apart from the host, if it was started.
    #[must_use]
    pub fn isolation(&self) -> Option<&'static str> {
        if let State::Checked { outcome, .. } = &self.state { Some(outcome.isolation) } else { None }
    }

    /// Whether the agent passed only when it was started again.
    #[must_use]
    pub fn is_flaky(&self) -> bool {
        matches!(&self.state, State::Checked { outcome, .. } if outcome.is_flaky)
    }

    /// The kind of distribution, or a dash.
    #[must_use]
    pub fn distribution(&self) -> &'static str {
        self.kind.map_or("-", Kind::as_str)
    }

    /// The row as the command-line contract wants it.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut row = json!({
            "id": self.id, "version": self.version, "channel": self.channel.as_str(),
            "distribution": self.kind.map(Kind::as_str), "verdict": self.verdict(), "reason": self.reason(),
            "message": self.message(), "flaky": self.is_flaky(),
            "reused": matches!(self.state, State::Reused(_)),
            "quarantine": self.held.as_ref().map(|held| held.to_json(self.verdict())),
        });
        let found = match &self.state {
            State::Checked { outcome, .. } => members(&**outcome),
            State::Reused(earlier) => reused(earlier),
            State::Skipped { .. } => not_started(""),
            State::NotStarted { stderr, .. } => not_started(stderr),
        };
        if let Value::Object(row) = &mut row {
            if !self.scripts_not_run.is_empty() {
                row.insert("scripts_not_run".to_owned(), json!(self.scripts_not_run.packages));
                row.insert("scripts_ignored_by".to_owned(), json!(self.scripts_not_run.ignored_by));
            }
            for (name, value) in found {
                row.entry(name).or_insert(value);
            }
            if let Some(Value::Object(timing)) = row.get_mut("timing") {
                timing.insert("install_seconds".to_owned(), self.install.as_secs_f64().into());
            }
        }
        row
    }
}

fn members(value: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(value) {
        Ok(Value::Object(members)) => members,
        _ => Map::new(),
    }
}

/// The members of an outcome that never came about.
fn not_started(stderr: &str) -> Map<String, Value> {
    members(&json!({
        "handshake": Handshake::default(),
        "timing": { "start_to_response_seconds": null, "total_seconds": 0.0 },
        "exit": null, "stderr_tail": stderr, "isolation": null,
    }))
}

/// The members of an outcome, as far as the snapshot has kept them.
fn reused(earlier: &Value) -> Map<String, Value> {
    let mut outcome = not_started("");
    if let Some(Value::Object(handshake)) = outcome.get_mut("handshake") {
        for (name, value) in handshake {
            if let Some(kept) = earlier.get(name.as_str()) {
                value.clone_from(kept);
            }
        }
    }
    outcome
}
