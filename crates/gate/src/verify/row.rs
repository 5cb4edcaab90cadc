//! A row of `verify`: the result of one task, with its JSON form.

use std::time::{Duration, SystemTime};

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{DistributionOrigin, QuarantinedAgent, TaskVerdict};
use acp_registry_client::install::{Kind, ScriptsNotRun};
use acp_registry_examine::examination::{Examination, Record};
use acp_registry_host::fs::PathError;
use acp_registry_plan::manifest::Channel;
use acp_registry_protocol::handshake::{self, Handshake, Outcome};

/// The result of one distribution of one release of an agent.
#[derive(Debug)]
pub struct Row {
    /// The agent's id.
    pub id: String,
    /// The version in the manifest; empty if it has none.
    pub version: String,
    /// The channel of that version.
    pub channel: Channel,
    /// The kind of distribution, if there is one.
    pub kind: Option<Kind>,
    /// The agent's quarantine, if any.
    pub held: Option<QuarantinedAgent>,
    /// Duration of the installation; zero if nothing was installed.
    pub install: Duration,
    /// The install scripts that npm did not run.
    pub scripts_not_run: ScriptsNotRun,
    /// Whether the package runner of its kind, `npx` or `uvx`, does not start the agent.
    pub is_not_startable: bool,
    /// Why temporary files could not be removed.
    pub left: Option<PathError>,
    /// Why it is not known whether the agent has looked for secrets, if so.
    pub unwatched: Option<String>,
    /// What it has left in its home, caches aside, if that is known.
    pub writes: Option<Vec<String>>,
    /// The names of hosts that it has asked for while it had no network, if they were heard.
    pub hosts: Option<Vec<String>>,
    /// The result of the task.
    pub state: State,
    /// What the verdict is based on, see [`Task::basis`](super::Task::basis).
    pub basis: Option<String>,
    /// The source that could not be reached, if that is why the agent was not checked.
    pub source_down: Option<DistributionOrigin>,
}

/// The result of a task.
#[derive(Debug, Clone)]
pub enum State {
    /// The agent was skipped.
    Skipped {
        /// The reason, as named in reports.
        reason: &'static str,
        /// The reason as a sentence.
        message: String,
    },
    /// The agent was not started.
    NotStarted(NotStarted),
    /// The agent was started.
    Checked {
        /// The result of the handshake.
        outcome: Box<Outcome>,
        /// The result of the examination, if one was requested.
        examination: Option<Box<Examination>>,
        /// When it was started.
        at: SystemTime,
    },
    /// An earlier run checked it; holds the row of its snapshot.
    Reused(Value),
}

/// Why an agent was not started.
#[derive(Debug, Clone)]
pub struct NotStarted {
    /// [`TaskVerdict::Fail`] if the manifest is wrong on any machine, otherwise [`TaskVerdict::Error`].
    pub verdict: TaskVerdict,
    /// The reason, as named in reports.
    pub reason: &'static str,
    /// The reason as a sentence.
    pub message: String,
    /// What helps, where that is known.
    pub remedy: Option<String>,
    /// The package manager's stderr, not escaped.
    pub stderr: String,
}

impl NotStarted {
    pub(crate) fn new(verdict: TaskVerdict, reason: &'static str, message: impl Into<String>) -> Self {
        Self { verdict, reason, message: message.into(), remedy: None, stderr: String::new() }
    }
}

/// Number of rows by result; they add up to the number of all rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct RowCounts {
    /// Agents that passed in this run.
    pub passed: usize,
    /// Agents that failed.
    pub failed: usize,
    /// Agents that could not be started.
    pub errors: usize,
    /// Agents that were skipped.
    pub skipped: usize,
    /// Agents that passed in an earlier run.
    pub reused: usize,
    /// Agents that were checked because their quarantine is over, and did not pass.
    pub held: usize,
}

impl RowCounts {
    /// Counts rows.
    pub fn of(rows: &[Row]) -> Self {
        let mut summary = Self::default();
        for row in rows {
            *match (&row.state, row.verdict()) {
                (State::Reused(_), _) => &mut summary.reused,
                (_, TaskVerdict::Fail | TaskVerdict::Error) if !row.is_finding() => &mut summary.held,
                (_, TaskVerdict::Pass) => &mut summary.passed,
                (_, TaskVerdict::Fail) => &mut summary.failed,
                (_, TaskVerdict::Error) => &mut summary.errors,
                (_, TaskVerdict::Skipped) => &mut summary.skipped,
            } += 1;
        }
        summary
    }
}

impl Row {
    /// A row with nothing but this.
    pub(crate) fn new(id: &str, version: &str, channel: Channel, kind: Option<Kind>, state: State) -> Self {
        Self {
            id: id.to_owned(),
            version: version.to_owned(),
            channel,
            kind,
            held: None,
            install: Duration::ZERO,
            scripts_not_run: ScriptsNotRun::default(),
            is_not_startable: false,
            left: None,
            unwatched: None,
            writes: None,
            hosts: None,
            state,
            basis: None,
            source_down: None,
        }
    }

    /// What the run says about the agent. A kept row has passed before.
    pub fn verdict(&self) -> TaskVerdict {
        match &self.state {
            State::Skipped { .. } => TaskVerdict::Skipped,
            State::NotStarted(why) => why.verdict,
            State::Checked { outcome, .. } => outcome.verdict.into(),
            State::Reused(_) => TaskVerdict::Pass,
        }
    }

    /// Whether the row needs attention: the agent did not pass. Agents in quarantine are expected to fail, so they
    /// count only if named explicitly.
    pub fn is_finding(&self) -> bool {
        let is_excused = self.held.as_ref().is_some_and(QuarantinedAgent::is_excused);
        !is_excused && matches!(self.verdict(), TaskVerdict::Fail | TaskVerdict::Error)
    }

    /// The end of stderr of the agent or the package manager. Not escaped: escape it before printing.
    pub fn stderr(&self) -> &str {
        match &self.state {
            State::NotStarted(why) => &why.stderr,
            State::Checked { outcome, .. } => &outcome.stderr_tail,
            State::Skipped { .. } | State::Reused(_) => "",
        }
    }

    /// What to do with an agent in quarantine, as a sentence.
    pub fn advice(&self) -> Option<String> {
        self.held.as_ref()?.message(self.verdict())
    }

    /// The reason why it did not pass, as named in reports.
    pub fn reason(&self) -> Option<&'static str> {
        match &self.state {
            State::Skipped { reason, .. } | State::NotStarted(NotStarted { reason, .. }) => Some(reason),
            State::Checked { outcome, .. } => outcome.reason.map(handshake::FailReason::as_str),
            State::Reused(_) => None,
        }
    }

    /// The reason as a sentence. Free of control characters.
    pub fn message(&self) -> Option<&str> {
        match &self.state {
            State::Skipped { message, .. } | State::NotStarted(NotStarted { message, .. }) => Some(message),
            State::Checked { outcome, .. } => outcome.message.as_deref(),
            State::Reused(_) => None,
        }
    }

    /// What helps, where that is known. Printable.
    pub fn remedy(&self) -> Option<&str> {
        if let State::NotStarted(why) = &self.state { why.remedy.as_deref() } else { None }
    }

    /// The message with what helps. Printable.
    pub fn explanation(&self) -> Option<String> {
        let message = self.message()?;
        Some(self.remedy().map_or_else(|| message.to_owned(), |remedy| format!("{message}; {remedy}")))
    }

    /// The results of the examination, if one was made in this run or, for a reused row, in an earlier one.
    pub fn record(&self) -> Option<Record> {
        match &self.state {
            State::Checked { examination, .. } => examination.as_deref().map(Record::from),
            State::Reused(earlier) => Record::read(&earlier["examination"]),
            State::Skipped { .. } | State::NotStarted(_) => None,
        }
    }

    /// The result of the examination, if one was made in this run.
    pub fn examination(&self) -> Option<&Examination> {
        if let State::Checked { examination, .. } = &self.state { examination.as_deref() } else { None }
    }

    /// The agent's message if it answers but cannot open a session for a reason other than missing credentials.
    pub fn setup_required(&self) -> Option<&str> {
        match &self.state {
            State::Checked { outcome, .. } => outcome.handshake.setup_required.as_deref(),
            State::Reused(earlier) => earlier["setup_required"].as_str(),
            State::Skipped { .. } | State::NotStarted(_) => None,
        }
    }

    /// The isolation that the agent ran in, if it was started.
    pub fn isolation(&self) -> Option<&'static str> {
        if let State::Checked { outcome, .. } = &self.state { Some(outcome.isolation) } else { None }
    }

    /// Whether the agent passed only at the second start.
    pub fn is_flaky(&self) -> bool {
        matches!(&self.state, State::Checked { outcome, .. } if outcome.is_flaky)
    }

    /// The package runner that does not start the agent.
    pub fn not_startable_by(&self) -> Option<Kind> {
        self.kind.filter(|_| self.is_not_startable)
    }

    /// The kind of distribution, or `-`.
    pub fn distribution(&self) -> &'static str {
        self.kind.map_or("-", Kind::as_str)
    }

    /// The row in the JSON format of reports.
    pub fn to_json(&self) -> Value {
        let mut row = json!({
            "id": self.id, "version": self.version, "channel": self.channel.as_str(),
            "distribution": self.kind.map(Kind::as_str), "verdict": self.verdict(), "reason": self.reason(),
            "message": self.explanation(), "flaky": self.is_flaky(),
            "reused": matches!(self.state, State::Reused(_)),
            "quarantine": self.held.as_ref().map(|held| held.to_json(self.verdict())),
        });
        let found = match &self.state {
            State::Checked { outcome, .. } => members(&**outcome),
            State::Reused(earlier) => reused(earlier),
            State::Skipped { .. } => not_started(""),
            State::NotStarted(why) => not_started(&why.stderr),
        };
        if let Value::Object(row) = &mut row {
            if !self.scripts_not_run.is_empty() {
                row.insert("scripts_not_run".to_owned(), json!(self.scripts_not_run.packages));
                row.insert("scripts_ignored_by".to_owned(), json!(self.scripts_not_run.ignored_by));
            }
            if let Some(kind) = self.not_startable_by() {
                row.insert("not_startable_by".to_owned(), kind.as_str().into());
            }
            for (name, value) in found {
                row.entry(name).or_insert(value);
            }
            let examination = match &self.state {
                State::Reused(earlier) => earlier.get("examination").cloned(),
                _ => self.examination().map(|examination| json!(examination)),
            };
            row.extend(examination.map(|examination| ("examination".to_owned(), examination)));
            for (name, observed) in [("writes", &self.writes), ("hosts", &self.hosts)] {
                let observed = match &self.state {
                    State::Reused(earlier) => earlier.get(name).cloned(),
                    _ => observed.as_ref().map(|observed| json!(observed)),
                };
                row.extend(observed.map(|observed| (name.to_owned(), observed)));
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

/// The members of the JSON format for an agent that was not started.
fn not_started(stderr: &str) -> Map<String, Value> {
    members(&json!({
        "handshake": Handshake::default(),
        "timing": { "start_to_response_seconds": null, "total_seconds": 0.0 },
        "exit": null, "stderr_tail": stderr, "isolation": null,
    }))
}

/// The members of the JSON format that the snapshot contains.
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
