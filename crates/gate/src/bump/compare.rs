//! Compares the examinations of the version before an update and the version after it.

use acp_registry_client::install::Kind;
use acp_registry_examine::examination::{CheckRecord, CheckVerdict, Level, Record, VerdictCounts};
use acp_registry_plan::text::printable;

/// Maximum length of a message, in Unicode scalar values.
const MESSAGE: usize = 200;

/// How the examination of an agent differs between two versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compared {
    /// The distribution that was examined.
    pub distribution: Kind,
    /// The level that the new version reached; `None` if it did not answer.
    pub reached: Option<Level>,
    /// The results of the earlier version in numbers; `None` if it could not be examined.
    pub before: Option<VerdictCounts>,
    /// The results of the new version in numbers.
    pub after: VerdictCounts,
    /// The checks with another result, in the order of the checks.
    pub changes: Vec<CheckChange>,
}

/// A check whose result has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckChange {
    /// Id of the check.
    pub check: String,
    /// The result before.
    pub before: CheckVerdict,
    /// The result now.
    pub after: CheckVerdict,
    /// Why the check does not pass now. Printable.
    pub message: Option<String>,
}

impl Compared {
    /// Compares two examinations. Only checks that both have are compared: a later level has further checks.
    pub fn new(distribution: Kind, before: Option<&Record>, after: &Record) -> Self {
        let earlier = |check: &CheckRecord| before?.checks.iter().find(|earlier| earlier.id == check.id);
        let changes = after.checks.iter().filter_map(|check| {
            let before = earlier(check)?.verdict;
            let message = check.message.as_deref().map(shortened);
            let id = printable(&check.id).into_owned();
            (before != check.verdict).then_some(CheckChange { check: id, before, after: check.verdict, message })
        });
        Self {
            distribution,
            reached: after.reached,
            before: before.map(Record::summary),
            after: after.summary(),
            changes: changes.collect(),
        }
    }

    /// Why a person should review an update from this version: checks that passed before, and fail now.
    pub fn reasons(&self, from: &str) -> Vec<String> {
        let fails = self.changes.iter().filter(|change| change.is_regression());
        let kind = self.distribution.as_str();
        fails
            .map(|CheckChange { check, message, .. }| {
                let why = message.as_deref().map_or_else(String::new, |message| format!(": {message}"));
                format!("the check {check} passed with {from} ({kind}), and fails now{why}")
            })
            .collect()
    }
}

impl CheckChange {
    /// Whether the check passed before, and fails now.
    pub fn is_regression(&self) -> bool {
        self.before == CheckVerdict::Pass && self.after == CheckVerdict::Fail
    }
}

fn shortened(text: &str) -> String {
    let mut cut: String = text.chars().take(MESSAGE).collect();
    if cut.len() < text.len() {
        cut.push('…');
    }
    printable(&cut).into_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn record(results: &[(&str, &str)]) -> Record {
        let check = |(id, result): &(&str, &str)| json!({ "id": id, "result": result, "message": "a\u{1b}b" });
        let checks: Vec<_> = results.iter().map(check).collect();
        Record::read(&json!({ "level": "protocol", "reached": "protocol", "checks": checks })).unwrap()
    }

    #[test]
    fn only_a_check_that_passed_and_fails_is_a_reason() {
        let before = record(&[
            ("a", "pass"),
            ("b", "fail"),
            ("c", "pass"),
            ("d", "fail"),
            ("e", "not_exercised"),
            ("gone", "pass"),
        ]);
        let after =
            record(&[("a", "fail"), ("b", "pass"), ("c", "warning"), ("d", "fail"), ("e", "fail"), ("new", "fail")]);
        let compared = Compared::new(Kind::Npx, Some(&before), &after);
        let changed: Vec<&str> = compared.changes.iter().map(|change| change.check.as_str()).collect();
        assert_eq!(changed, ["a", "b", "c", "e"]);
        let reason = "the check a passed with 1.0.0 (npx), and fails now: a\\u{1b}b";
        assert_eq!(compared.reasons("1.0.0"), [reason]);
        let unknown = Compared::new(Kind::Npx, None, &after);
        assert!(unknown.changes.is_empty() && unknown.before.is_none() && unknown.reasons("1.0.0").is_empty());
    }
}
