//! The results of an agent's examination, as pages show them.

use std::time::Duration;

use acp_registry_examine::examination::{CheckRecord, CheckVerdict, Level, VerdictCounts, find};
use acp_registry_gate::verify::EarlierExamination;
use acp_registry_plan::timestamp::Timestamp;

use super::text::shown;

/// Maximum number of results on a page.
const SHOWN: usize = 400;
/// Maximum length of a message, in Unicode scalar values.
const MESSAGE: usize = 300;

/// The results of an examination.
pub(super) struct Tests {
    /// The level that was reached; `None` if the agent did not answer.
    pub(super) level: Option<&'static str>,
    /// The results in numbers: "22 of 24 checks passed, 1 failed, 1 warning".
    pub(super) counts: String,
    pub(super) version: String,
    /// The system of the machine, if known.
    pub(super) system: Option<String>,
    pub(super) day: Option<String>,
    /// How much of the network the agent could reach.
    pub(super) network: &'static str,
    /// The checks that did not pass.
    pub(super) open: Vec<Test>,
    /// The checks that passed.
    pub(super) passed: Vec<Test>,
}

/// The result of a check.
pub(super) struct Test {
    pub(super) id: String,
    /// The page, if it is a proposal.
    pub(super) proposal: Option<&'static str>,
    pub(super) label: &'static str,
    pub(super) class: &'static str,
    /// What the agent did, or how long the check took.
    pub(super) evidence: String,
}

impl Tests {
    pub(super) fn of(examined: &EarlierExamination) -> Self {
        let record = &examined.record;
        let (passed, open): (Vec<&CheckRecord>, Vec<&CheckRecord>) =
            record.checks.iter().take(SHOWN).partition(|check| check.verdict == CheckVerdict::Pass);
        let platform = examined.platform.as_deref().map(|platform| platform.split('-').next().unwrap_or_default());
        Self {
            level: record.reached.map(Level::as_str),
            counts: match record.incomplete() {
                Some(incomplete) => format!("{}; {incomplete}", counts(record.summary())),
                None => counts(record.summary()),
            },
            version: shown(&examined.version, 40),
            system: platform.map(|os| match os {
                "darwin" => "macOS".to_owned(),
                "linux" => "Linux".to_owned(),
                "windows" => "Windows".to_owned(),
                other => shown(other, 40),
            }),
            day: examined.at.map(Timestamp::day),
            network: match record.has_network {
                Some(true) => ", with access to the network",
                Some(false) => ", without access to the network",
                None => "",
            },
            open: open.into_iter().map(Test::of).collect(),
            passed: passed.into_iter().map(Test::of).collect(),
        }
    }
}

impl Test {
    fn of(check: &CheckRecord) -> Self {
        let (label, class) = match check.verdict {
            CheckVerdict::Pass => ("Passed", "yes"),
            CheckVerdict::Fail => ("Failed", "auth"),
            CheckVerdict::Warning => ("Warning", "auth"),
            CheckVerdict::NotExercised => ("Not exercised", "none"),
        };
        let evidence = match &check.message {
            Some(message) => shown(message, MESSAGE),
            None => seconds(check.duration),
        };
        let proposal = find(&check.id).filter(|check| check.is_proposal()).map(|check| check.spec);
        Self { id: shown(&check.id, 80), proposal, label, class, evidence }
    }
}

fn counts(summary: VerdictCounts) -> String {
    let VerdictCounts { passed, failed, warnings, not_exercised } = summary;
    let ran = passed + failed + warnings;
    let mut text = format!("{passed} of {ran} checks passed");
    let warned = if warnings == 1 { "warning" } else { "warnings" };
    for (count, word) in [(failed, "failed"), (warnings, warned), (not_exercised, "could not run")] {
        if count > 0 {
            text.push_str(&format!(", {count} {word}"));
        }
    }
    text
}

fn seconds(duration: Duration) -> String {
    format!("{:.2} s", duration.as_secs_f64())
}

/// The cell of the matrix: its class, and the level with the number of failed checks.
pub(super) fn cell(examined: Option<&EarlierExamination>) -> (&'static str, String) {
    let Some(record) = examined.map(|examined| &examined.record) else { return ("none", "–".to_owned()) };
    let Some(level) = record.reached else { return ("no", "No answer".to_owned()) };
    match record.summary().failed {
        0 if record.incomplete().is_some() => ("auth", format!("{}, incomplete", level.as_str())),
        0 => ("yes", level.as_str().to_owned()),
        failed => ("auth", format!("{}, {failed} failed", level.as_str())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_add_up_and_leave_out_what_is_zero() {
        let of =
            |passed, failed, warnings, not_exercised| counts(VerdictCounts { passed, failed, warnings, not_exercised });
        assert_eq!(of(0, 0, 0, 24), "0 of 0 checks passed, 24 could not run");
        assert_eq!(of(22, 1, 1, 3), "22 of 24 checks passed, 1 failed, 1 warning, 3 could not run");
        assert_eq!(of(24, 0, 0, 0), "24 of 24 checks passed");
        assert_eq!(of(20, 0, 4, 0), "20 of 24 checks passed, 4 warnings");
        assert_eq!(cell(None), ("none", "–".to_owned()));
    }
}
