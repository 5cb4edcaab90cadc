//! Results of an examination.

use std::path::Path;
use std::time::Duration;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use super::check::{Check, Force, Level};

/// How a check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckVerdict {
    /// The agent behaved as expected.
    Pass,
    /// It violated a requirement of the protocol.
    Fail,
    /// It violated a recommendation, or an expectation that the protocol does not mention.
    Warning,
    /// The check could not run with this agent.
    NotExercised,
}

impl CheckVerdict {
    /// All verdicts.
    pub const ALL: [Self; 4] = [Self::Pass, Self::Fail, Self::Warning, Self::NotExercised];

    /// The name used in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Warning => "warning",
            Self::NotExercised => "not_exercised",
        }
    }
}

/// The start of the message of a check that could not run within the time limit.
pub(super) const OUT_OF_TIME: &str = "the examination exceeded its time limit";

/// Whether a requirement was not examined because the time was over.
pub(super) fn is_cut(force: Force, verdict: CheckVerdict, message: Option<&str>) -> bool {
    force == Force::Must
        && verdict == CheckVerdict::NotExercised
        && message.is_some_and(|message| message.starts_with(OUT_OF_TIME))
}

/// The result of one check.
#[derive(Debug, Clone)]
pub struct Examined {
    /// The check.
    pub check: &'static Check,
    /// How it ended.
    pub verdict: CheckVerdict,
    /// The violation, or the reason why the check did not run. Safe to print.
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

/// Numbers of checks by verdict. Their sum is the number of checks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct VerdictCounts {
    /// Checks that passed.
    pub passed: usize,
    /// Failed checks of requirements.
    pub failed: usize,
    /// Other failed checks.
    pub warnings: usize,
    /// Checks that could not run.
    pub not_exercised: usize,
}

impl VerdictCounts {
    /// Counts verdicts.
    pub(super) fn of(verdicts: impl Iterator<Item = CheckVerdict>) -> Self {
        let mut summary = Self::default();
        for verdict in verdicts {
            *match verdict {
                CheckVerdict::Pass => &mut summary.passed,
                CheckVerdict::Fail => &mut summary.failed,
                CheckVerdict::Warning => &mut summary.warnings,
                CheckVerdict::NotExercised => &mut summary.not_exercised,
            } += 1;
        }
        summary
    }
}

/// Results of an examination. Serializes to the JSON of the command line's contract.
#[derive(Debug, Clone)]
pub struct Examination {
    /// The requested level.
    pub level: Level,
    /// The highest level of which a check ran; `None` if the agent did not answer `initialize`.
    pub reached: Option<Level>,
    /// Whether the agent shared the host's network.
    pub has_network: bool,
    /// The results, ordered by check.
    pub checks: Vec<Examined>,
    /// How long it took.
    pub duration: Duration,
    /// Directories that could not be removed, with the reason. Not serialized, because they do not concern the agent.
    pub left: Vec<String>,
}

impl Examination {
    /// Counts the results.
    pub fn summary(&self) -> VerdictCounts {
        VerdictCounts::of(self.checks.iter().map(|examined| examined.verdict))
    }

    /// Replaces a path that differs between runs with `$SANDBOX`.
    pub(super) fn hide_path(&mut self, path: &Path) {
        let path = path.to_string_lossy();
        for message in self.checks.iter_mut().filter_map(|examined| examined.message.as_mut()) {
            *message = message.replace(&*path, "$SANDBOX");
        }
    }

    /// Why the agent does not meet `level`: the requirements that it violates, or that no check of the level could run, or
    /// that requirements were not examined within the time limit. `None` if it does.
    pub fn shortfall(&self, level: Level) -> Option<String> {
        let failed = |examined: &&Examined| {
            examined.check.force == Force::Must
                && examined.check.level <= level
                && examined.verdict == CheckVerdict::Fail
        };
        let ids: Vec<&str> = self.checks.iter().filter(failed).map(|examined| examined.check.id).collect();
        if ids.is_empty() && self.reached.is_none_or(|reached| reached < level) {
            return Some(format!("the agent could not be examined at the level `{}`", level.as_str()));
        }
        let is_cut = |examined: &&Examined| {
            let Examined { check, verdict, message, .. } = examined;
            check.level <= level && is_cut(check.force, *verdict, message.as_deref())
        };
        let cut = self.checks.iter().filter(is_cut).count();
        if ids.is_empty() && cut > 0 {
            let checks = if cut == 1 { "check" } else { "checks" };
            let level = level.as_str();
            return Some(format!("{cut} required {checks} of the level `{level}` could not run within the time limit"));
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
        document.serialize_field("model", &self.level.has_model().then_some("scripted"))?;
        document.serialize_field("network", if self.has_network { "shared" } else { "none" })?;
        document.serialize_field("checks", &self.checks)?;
        document.serialize_field("summary", &self.summary())?;
        document.end()
    }
}
