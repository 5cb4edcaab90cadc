//! Results of an examination.

use std::path::Path;
use std::time::Duration;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use super::check::{Check, Force, Level};
use super::failure::{BUSY, OUT_OF_TIME};

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

/// Whether a check did not run for want of time: on a faster machine, or with a longer limit, it would have.
pub(super) fn is_cut(verdict: CheckVerdict, message: Option<&str>) -> bool {
    let starts = |message: &str| message.starts_with(OUT_OF_TIME) || message.starts_with(BUSY);
    verdict == CheckVerdict::NotExercised && message.is_some_and(starts)
}

/// How many of `total` checks did not run for want of time, in words; `None` if it is none.
pub(super) fn incomplete(cut: usize, total: usize) -> Option<String> {
    (cut > 0).then(|| format!("incomplete: {cut} of {total} checks did not run for want of time"))
}

/// Why an agent does not meet a level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shortfall {
    /// Whether the agent may meet it: what is missing did not run for want of time.
    pub is_open: bool,
    /// The requirements that it violates, or what was not examined. Printable.
    pub message: String,
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
    /// After a failure: the text of an [`Exchange`](super::Exchange), if it is short enough. Not serialized, and not escaped.
    pub exchange: Option<String>,
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

    /// How many checks did not run for want of time, in words; `None` if all were run that the agent allows.
    pub fn incomplete(&self) -> Option<String> {
        let is_cut = |examined: &&Examined| is_cut(examined.verdict, examined.message.as_deref());
        incomplete(self.checks.iter().filter(is_cut).count(), self.checks.len())
    }

    /// Why the agent does not meet `level`: the requirements that it violates, or that no check of the level could run, or
    /// that requirements were not examined for want of time. `None` if it does.
    pub fn shortfall(&self, level: Level) -> Option<Shortfall> {
        let failed = |examined: &&Examined| {
            examined.check.force == Force::Must
                && examined.check.level() <= level
                && examined.verdict == CheckVerdict::Fail
        };
        let ids: Vec<&str> = self.checks.iter().filter(failed).map(|examined| examined.check.id).collect();
        let name = level.as_str();
        if !ids.is_empty() {
            let checks = if ids.len() == 1 { "a check" } else { "checks" };
            let message = format!("the agent fails {checks} of the level `{name}`: {}", ids.join(", "));
            return Some(Shortfall { is_open: false, message });
        }
        let is_cut = |examined: &&Examined| {
            let Examined { check, verdict, message, .. } = examined;
            check.force == Force::Must && check.level() <= level && is_cut(*verdict, message.as_deref())
        };
        let cut = self.checks.iter().filter(is_cut).count();
        if cut > 0 {
            let checks = if cut == 1 { "check" } else { "checks" };
            let message = format!(
                "incomplete: {cut} required {checks} of the level `{name}` did not run for want of time; \
                 `--examination-timeout` sets how long an examination may take"
            );
            return Some(Shortfall { is_open: true, message });
        }
        self.reached.is_none_or(|reached| reached < level).then(|| Shortfall {
            is_open: false,
            message: format!("the agent could not be examined at the level `{name}`"),
        })
    }
}

impl Serialize for Examination {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut document = serializer.serialize_struct("Examination", 7)?;
        document.serialize_field("level", &self.level)?;
        document.serialize_field("reached", &self.reached)?;
        document.serialize_field("model", &self.level.has_model().then_some("scripted"))?;
        document.serialize_field("complete", &self.incomplete().is_none())?;
        document.serialize_field("network", if self.has_network { "shared" } else { "none" })?;
        document.serialize_field("checks", &self.checks)?;
        document.serialize_field("summary", &self.summary())?;
        document.end()
    }
}
