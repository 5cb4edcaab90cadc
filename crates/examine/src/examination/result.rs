//! What an examination has found.

use std::path::Path;
use std::time::Duration;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use serde_json::json;

use super::check::{Check, Force};
use super::level::Level;

/// How a check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The agent did as it should.
    Pass,
    /// It did not, and the protocol requires it.
    Fail,
    /// It did not, and the protocol recommends it, or says nothing of it.
    Warning,
    /// The check could not be made with this agent.
    NotExercised,
}

impl Verdict {
    /// The name in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Warning => "warning",
            Self::NotExercised => "not_exercised",
        }
    }
}

/// The result of one check.
#[derive(Debug, Clone)]
pub struct Examined {
    /// Which check.
    pub check: &'static Check,
    /// How it ended.
    pub verdict: Verdict,
    /// What the agent did, or why the check was not made. Printable.
    pub message: Option<String>,
    /// How long it took.
    pub duration: Duration,
}

impl Serialize for Examined {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut row = serializer.serialize_struct("Examined", 6)?;
        row.serialize_field("id", self.check.id)?;
        row.serialize_field("result", &self.verdict)?;
        row.serialize_field("force", &self.check.force)?;
        row.serialize_field("spec", self.check.spec)?;
        row.serialize_field("message", &self.message)?;
        row.serialize_field("duration_seconds", &self.duration.as_secs_f64())?;
        row.end()
    }
}

/// How many checks ended in each way; they add up to the number of checks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Checks that passed.
    pub passed: usize,
    /// Checks of requirements that did not.
    pub failed: usize,
    /// Other checks that did not.
    pub warnings: usize,
    /// Checks that could not be made.
    pub not_exercised: usize,
}

/// What an examination has found. Serialises as the command-line contract wants it.
#[derive(Debug, Clone)]
pub struct Examination {
    /// How far it was to go.
    pub level: Level,
    /// The last level of which a check was made; `None` for an agent that does not answer.
    pub reached: Option<Level>,
    /// Whether the agent could reach the host's network.
    pub has_network: bool,
    /// The results, ordered by check.
    pub checks: Vec<Examined>,
    /// How long it took.
    pub duration: Duration,
    /// Directories that could not be removed, with the reason. They say nothing of the agent, and are no part of what
    /// serialises.
    pub left: Vec<String>,
}

impl Examination {
    /// Counts the results.
    #[must_use]
    pub fn summary(&self) -> Summary {
        let mut summary = Summary::default();
        for examined in &self.checks {
            *match examined.verdict {
                Verdict::Pass => &mut summary.passed,
                Verdict::Fail => &mut summary.failed,
                Verdict::Warning => &mut summary.warnings,
                Verdict::NotExercised => &mut summary.not_exercised,
            } += 1;
        }
        summary
    }

    /// Puts `$SANDBOX` in the place of a path that is another in each run.
    pub(super) fn hide_path(&mut self, path: &Path) {
        let path = path.to_string_lossy();
        for message in self.checks.iter_mut().filter_map(|examined| examined.message.as_mut()) {
            *message = message.replace(&*path, "$SANDBOX");
        }
    }

    /// Why an agent does not meet a level: the requirements that it does not keep, or that there is nothing to judge it by.
    #[must_use]
    pub fn shortfall(&self, level: Level) -> Option<String> {
        let failed = |examined: &&Examined| {
            examined.check.force == Force::Must && examined.check.level <= level && examined.verdict == Verdict::Fail
        };
        let ids: Vec<&str> = self.checks.iter().filter(failed).map(|examined| examined.check.id).collect();
        if ids.is_empty() && self.reached.is_none_or(|reached| reached < level) {
            return Some(format!("the agent could not be examined at the level `{}`", level.as_str()));
        }
        let checks = if ids.len() == 1 { "a check" } else { "checks" };
        (!ids.is_empty())
            .then(|| format!("the agent fails {checks} of the level `{}`: {}", level.as_str(), ids.join(", ")))
    }
}

impl Serialize for Examination {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut document = serializer.serialize_struct("Examination", 6)?;
        document.serialize_field("level", &self.level)?;
        document.serialize_field("reached", &self.reached)?;
        // No check so far needs a model.
        document.serialize_field("model", &json!(null))?;
        document.serialize_field("network", if self.has_network { "shared" } else { "none" })?;
        document.serialize_field("checks", &self.checks)?;
        document.serialize_field("summary", &self.summary())?;
        document.end()
    }
}
