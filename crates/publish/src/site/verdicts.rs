//! The results of an agent's examination, as pages show them: one judgement, by [`Record::judgement`], for every page.

use std::cmp::Reverse;

use acp_registry_examine::examination::{Check, CheckRecord, CheckVerdict, Force, Judgement, Level, Record, find};
use acp_registry_gate::verify::EarlierExamination;
use acp_registry_plan::text::plural;
use acp_registry_plan::timestamp::Timestamp;

use super::listing::system_name;
use super::text::shown;

/// Maximum number of results on a page.
const SHOWN: usize = 400;
/// Maximum length of a message, in Unicode scalar values.
const MESSAGE: usize = 300;

/// The results of an examination.
pub(super) struct Tests {
    /// The level up to which the agent was to be examined.
    pub(super) level: &'static str,
    /// The class of the judgement, and the judgement as a sentence without a full stop.
    pub(super) class: &'static str,
    pub(super) judgement: String,
    pub(super) version: String,
    /// The system of the machine, if known.
    pub(super) system: Option<String>,
    pub(super) day: Option<String>,
    /// How much of the network the agent could reach.
    pub(super) network: &'static str,
    pub(super) failed: Vec<Test>,
    pub(super) warnings: Vec<Test>,
    /// The checks that could not run, by the reason; the most frequent first.
    pub(super) unrun: Vec<(String, Vec<Test>)>,
    pub(super) passed: Vec<Test>,
}

/// The result of a check.
pub(super) struct Test {
    pub(super) id: String,
    /// The page of the protocol, of a check that this program knows.
    pub(super) page: Option<&'static str>,
    pub(super) is_proposal: bool,
    /// What an agent does that passes; the id of a check that this program does not know.
    pub(super) sentence: String,
    /// What the agent did instead; may be empty.
    pub(super) evidence: String,
}

impl Tests {
    pub(super) fn of(examined: &EarlierExamination) -> Self {
        let record = &examined.record;
        let checks = || record.checks.iter().take(SHOWN);
        let with = |verdict| checks().filter(|check| check.verdict == verdict).map(Test::of).collect();
        let (class, judgement) = judgement(record, record.level);
        Self {
            level: record.level.as_str(),
            class,
            judgement,
            version: shown(&examined.version, 40),
            system: system(examined),
            day: examined.at.map(Timestamp::day),
            network: match record.has_network {
                Some(true) => ", with access to the network",
                Some(false) => ", without access to the network",
                None => "",
            },
            failed: with(CheckVerdict::Fail),
            warnings: with(CheckVerdict::Warning),
            unrun: by_reason(checks().filter(|check| check.verdict == CheckVerdict::NotExercised)),
            passed: with(CheckVerdict::Pass),
        }
    }

    /// How many checks could not run.
    pub(super) fn unrun_count(&self) -> usize {
        self.unrun.iter().map(|(_, tests)| tests.len()).sum()
    }
}

impl Test {
    fn of(check: &CheckRecord) -> Self {
        let known = find(&check.id);
        let id = shown(&check.id, 80);
        Self {
            page: known.map(|check| check.spec),
            is_proposal: known.is_some_and(Check::is_proposal),
            sentence: known.map_or_else(|| id.clone(), |check| capitalized(check.summary)),
            evidence: check.message.as_deref().map(|message| shown(message, MESSAGE)).unwrap_or_default(),
            id,
        }
    }
}

/// A summary begins with a verb.
fn capitalized(summary: &str) -> String {
    let mut chars = summary.chars();
    let first = chars.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    // Code spans are not rendered.
    (first + chars.as_str()).replace('`', "")
}

fn by_reason<'a>(checks: impl Iterator<Item = &'a CheckRecord>) -> Vec<(String, Vec<Test>)> {
    let mut reasons: Vec<(String, Vec<Test>)> = Vec::new();
    for test in checks.map(Test::of) {
        match reasons.iter_mut().find(|(reason, _)| *reason == test.evidence) {
            Some((_, tests)) => tests.push(test),
            None => reasons.push((test.evidence.clone(), vec![test])),
        }
    }
    reasons.sort_by_key(|(_, tests)| Reverse(tests.len()));
    reasons
}

/// The operating system of the machine, if known.
pub(super) fn system(examined: &EarlierExamination) -> Option<String> {
    let os = examined.platform.as_deref()?.split('-').next().unwrap_or_default();
    Some(shown(system_name(os), 40))
}

/// The class of a judgement, and the judgement in words: "passed", "failed: 2 requirements", or "incomplete" with the number of
/// checks that could not run and the most frequent reason.
pub(super) fn judgement(record: &Record, level: Level) -> (&'static str, String) {
    let count = |is: fn(&&CheckRecord) -> bool| record.up_to(level).filter(is).count();
    match record.judgement(level) {
        Judgement::Passed => ("tested", "passed".to_owned()),
        Judgement::Failed => {
            let failed = count(|check| check.verdict == CheckVerdict::Fail && check.force == Force::Must);
            ("failed", format!("failed: {}", plural(failed, "requirement")))
        }
        Judgement::Incomplete => {
            let all = record.up_to(level).count();
            let unrun = by_reason(record.up_to(level).filter(|check| check.verdict == CheckVerdict::NotExercised));
            let count: usize = unrun.iter().map(|(_, tests)| tests.len()).sum();
            let reason = unrun.first().map(|(reason, _)| format!("; mostly: {reason}")).unwrap_or_default();
            ("auth", format!("incomplete: {count} of {all} checks could not run{reason}"))
        }
    }
}

/// The cell of the matrix: its class, and the level with its judgement.
pub(super) fn cell(examined: Option<&EarlierExamination>) -> (&'static str, String) {
    let Some(record) = examined.map(|examined| &examined.record) else { return ("none", "Not examined".to_owned()) };
    let (class, words) = judgement(record, record.level);
    let words = words.split(':').next().unwrap_or_default();
    (class, format!("{}: {words}", record.level.as_str()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn record(reached: Option<&str>, results: &[(&str, &str, &str)]) -> Record {
        let checks: Vec<_> = results
            .iter()
            .map(|(id, result, message)| json!({ "id": id, "result": result, "force": "must", "message": message }))
            .collect();
        Record::read(&json!({ "level": "turns", "reached": reached, "checks": checks })).unwrap()
    }

    #[test]
    fn nothing_passes_because_nothing_ran() {
        let none = record(None, &[("turns/a", "not_exercised", "it did not answer"); 3]);
        let (class, words) = judgement(&none, Level::Turns);
        assert_eq!(
            (class, words.as_str()),
            ("auth", "incomplete: 3 of 3 checks could not run; mostly: it did not answer")
        );
        let some = record(
            Some("protocol"),
            &[
                ("protocol/a", "pass", ""),
                ("turns/b", "not_exercised", "needs sign-in"),
                ("turns/c", "not_exercised", "x"),
                ("turns/d", "not_exercised", "needs sign-in"),
            ],
        );
        assert_eq!(judgement(&some, Level::Protocol).1, "passed");
        assert_eq!(judgement(&some, Level::Turns).1, "incomplete: 3 of 4 checks could not run; mostly: needs sign-in");
        let failed =
            record(Some("turns"), &[("protocol/a", "fail", "x"), ("turns/b", "fail", "y"), ("turns/c", "pass", "")]);
        assert_eq!(judgement(&failed, Level::Protocol), ("failed", "failed: 1 requirement".to_owned()));
        assert_eq!(judgement(&failed, Level::Turns), ("failed", "failed: 2 requirements".to_owned()));
        assert_eq!(cell(None), ("none", "Not examined".to_owned()));
    }

    #[test]
    fn reasons_are_counted() {
        let record = record(
            None,
            &[("turns/a", "not_exercised", "x"), ("turns/b", "not_exercised", "y"), ("turns/c", "not_exercised", "y")],
        );
        let reasons: Vec<_> =
            by_reason(record.checks.iter()).into_iter().map(|(reason, tests)| (reason, tests.len())).collect();
        assert_eq!(reasons, [("y".to_owned(), 2), ("x".to_owned(), 1)]);
    }
}
