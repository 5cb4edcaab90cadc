//! The results of examinations: for people, as SARIF for code scanning, and as annotations.

mod examinee;

use std::cmp::Reverse;
use std::collections::BTreeMap;

use acp_registry::check::RULES;
use acp_registry::examination::{
    CHECKS, Check, CheckRecord, CheckVerdict, Examination, Force, Level, Record, VerdictCounts,
};
use acp_registry::text::{code_span, plural, printable, prose};
use serde_json::{Value, json};

pub(crate) use self::examinee::{Examinee, file_of_command};
use crate::formats::github::annotation;
use crate::formats::sarif::{artifact, descriptor, digest, log};
use crate::terminal::excerpt::{INDENT, cut};
use crate::terminal::layout::Look;

/// Maximum number of checks of an agent that are shown.
const SHOWN: usize = 20;

/// Maximum number of reasons that are shown why checks were not exercised.
const REASONS: usize = 4;

/// Renders the counts, and the checks that failed or have a warning, as Markdown.
pub(crate) fn comment(name: &str, record: &Record) -> String {
    let VerdictCounts { passed, failed, warnings, not_exercised } = record.summary();
    let reached = record.reached.map_or_else(
        || "could not be examined".to_owned(),
        |level: Level| format!("examined up to {}", code_span(level.as_str())),
    );
    let mut out = format!(
        "\n{} {reached}: {passed} passed, {failed} failed, {}, {not_exercised} not exercised{}\n\n",
        code_span(&cut(name)),
        plural(warnings, "warning"),
        record.incomplete().map(|incomplete| format!("; {incomplete}")).unwrap_or_default()
    );
    let is_told = |check: &&CheckRecord| matches!(check.verdict, CheckVerdict::Fail | CheckVerdict::Warning);
    for check in record.checks.iter().filter(is_told).take(SHOWN) {
        let (verdict, message) = (check.verdict.as_str(), check.message.as_deref().unwrap_or_default());
        out.push_str(&format!("- {verdict} {}: {}\n", code_span(&cut(&check.id)), prose(&cut(message))));
    }
    out
}

/// A line with all counts, then the checks that did not pass.
pub(crate) fn examination(examination: &Examination, look: Look) -> String {
    let mut lines = vec![format!("  examined  {}", summary(examination))];
    for (verdict, code) in [(CheckVerdict::Fail, "31"), (CheckVerdict::Warning, "33")] {
        for examined in examination.checks.iter().filter(|examined| examined.verdict == verdict) {
            let (check, word) = (examined.check, look.paint(code, &format!("{:9}", verdict.as_str())));
            lines.push(format!("  {word} {} ({}, {})", check.id, check.force.as_str(), check.spec));
            lines.extend(examined.message.as_deref().map(|text| format!("{:INDENT$}{}", "", printable(text))));
        }
    }
    lines.extend(unexercised(examination));
    lines.iter().map(|line| look.wrap(line, INDENT)).collect()
}

/// Why checks were not exercised, the reason of most of them first.
fn unexercised(examination: &Examination) -> Vec<String> {
    let mut reasons = BTreeMap::<&str, usize>::new();
    for examined in examination.checks.iter().filter(|examined| examined.verdict == CheckVerdict::NotExercised) {
        *reasons.entry(examined.message.as_deref().unwrap_or("no reason is known")).or_default() += 1;
    }
    let mut reasons: Vec<(&str, usize)> = reasons.into_iter().collect();
    reasons.sort_by_key(|(_, count)| Reverse(*count));
    let line =
        |(reason, count): &(&str, usize)| format!("  not run   {}: {}", plural(*count, "check"), printable(reason));
    let mut lines: Vec<String> = reasons.iter().take(REASONS).map(line).collect();
    let rest = reasons.iter().skip(REASONS).map(|(_, count)| count).sum::<usize>();
    if rest > 0 {
        lines.push(format!("  not run   {} for other reasons, which `--json` has", plural(rest, "check")));
    }
    lines
}

/// Which requirements an agent that answers has not met, and how to have it refused for that; `None` if it has met all.
pub(crate) fn shortcoming(examination: &Examination) -> Option<String> {
    let mut failed = BTreeMap::<Level, usize>::new();
    for examined in examination.checks.iter().filter(|examined| examined.verdict == CheckVerdict::Fail) {
        *failed.entry(examined.check.level).or_default() += 1;
    }
    let refused = |what: String, level: Level| format!("{what}, which `--require {}` would refuse", level.as_str());
    let Some((highest, _)) = failed.last_key_value() else {
        let unmet = || Some(refused(examination.shortfall(examination.level)?.message, examination.level));
        return examination.incomplete().or_else(unmet);
    };
    let parts: Vec<String> = failed
        .iter()
        .map(|(level, count)| format!("{} of `{}`", plural(*count, "requirement"), level.as_str()))
        .collect();
    let missed = refused(format!("{} failed", parts.join(" and ")), *highest);
    Some(examination.incomplete().map_or_else(|| missed.clone(), |incomplete| format!("{missed}; {incomplete}")))
}

/// The hint where an agent that answers does not start again for an examination.
const NO_NETWORK: &str = "; it had no network, which `npx` and `uvx` need: `--network shared` lets it have the host's";

fn summary(examination: &Examination) -> String {
    let VerdictCounts { passed, failed, warnings, not_exercised } = examination.summary();
    let (level, seconds) = (examination.level.as_str(), examination.duration.as_secs_f64());
    let why_none = examination.checks.iter().find_map(|examined| examined.message.as_deref()).unwrap_or_default();
    let incomplete = examination.incomplete().map(|incomplete| format!("; {incomplete}")).unwrap_or_default();
    if passed + failed + warnings == 0 {
        let without = if examination.has_network || !why_none.contains("started again") { "" } else { NO_NETWORK };
        return format!("up to `{level}`: no check was run, because {}{incomplete}{without}", printable(why_none));
    }
    format!(
        "up to `{level}`: {passed} passed, {failed} failed, {}, {not_exercised} not exercised in {seconds:.1} s{incomplete}",
        plural(warnings, "warning")
    )
}

/// The rule for an agent that could not be examined at the required level.
const UNEXAMINED: &str = "examination/required-level";

/// Renders the results of agents.
pub(crate) fn sarif(examinees: &[Examinee<'_>]) -> String {
    let rules = rules();
    let results = examinees
        .iter()
        .flat_map(|examinee| problems(examinee).map(|problem| result(examinee, &rules, &problem)).collect::<Vec<_>>());
    log(&rules, &results.collect::<Vec<_>>())
}

/// Renders what did not pass as annotations.
pub(crate) fn github(examinees: &[Examinee<'_>]) -> String {
    let annotations = examinees.iter().flat_map(|examinee| {
        problems(examinee).map(|(rule, level, message)| {
            let text = format!("{}: {message}", printable(&examinee.name));
            annotation(level, &examinee.file, None, &rule, &text)
        })
    });
    annotations.collect()
}

/// Rule or check, level and message of all that did not pass.
fn problems<'a>(examinee: &'a Examinee<'_>) -> impl Iterator<Item = (String, &'static str, String)> + 'a {
    let handshake = examinee.fails_handshake().then(|| {
        let rule = examinee.rule.map_or(UNEXAMINED, |rule| rule.name);
        (rule.to_owned(), "error", examinee.why())
    });
    let checks = examinee.record.iter().flat_map(|record| &record.checks).filter_map(problem);
    handshake.into_iter().chain(checks)
}

/// The rules of the handshake, and the checks.
fn rules() -> Vec<Value> {
    let unexamined = json!({
        "id": UNEXAMINED,
        "shortDescription": { "text": "the agent could not be examined at the required level" },
        "help": { "text": "Run the examination again with -v, and see which checks could not run." },
        "defaultConfiguration": { "level": "error" },
    });
    let handshake = RULES.iter().filter(|rule| rule.group() == "handshake").map(|rule| descriptor(rule));
    handshake.chain([unexamined]).chain(CHECKS.iter().map(|check| rule(check))).collect()
}

fn rule(check: &Check) -> Value {
    let markdown = format!(
        "{}\n\nThe check is based on the page `{}`.\n\nDoes not pass:\n\n```text\n{}\n```\n\nPasses:\n\n```text\n{}\n```\n",
        check.fix, check.spec, check.fails, check.passes
    );
    json!({
        "id": check.id,
        "shortDescription": { "text": check.summary },
        "fullDescription": { "text": check.why },
        "help": { "text": check.fix, "markdown": markdown },
        "defaultConfiguration": { "level": if check.force == Force::Must { "error" } else { "warning" } },
        "properties": { "force": check.force, "tags": [check.level] },
    })
}

/// Rule, level and message of a check that did not pass.
fn problem(check: &CheckRecord) -> Option<(String, &'static str, String)> {
    let level = match check.verdict {
        CheckVerdict::Fail => "error",
        CheckVerdict::Warning => "warning",
        CheckVerdict::Pass | CheckVerdict::NotExercised => return None,
    };
    let message = check.message.as_deref().unwrap_or("the check did not pass");
    Some((printable(&check.id).into_owned(), level, printable(message).into_owned()))
}

fn result(examinee: &Examinee<'_>, rules: &[Value], (rule, level, message): &(String, &str, String)) -> Value {
    let name = printable(&examinee.name);
    let mut result = json!({
        "ruleId": rule,
        "level": level,
        "message": { "text": format!("{name}: {message}") },
        "locations": [{
            "physicalLocation": { "artifactLocation": artifact(&examinee.file) },
            "logicalLocations": [{ "name": name, "kind": "module" }],
        }],
        // Messages contain what differs between runs.
        "partialFingerprints": { "check/v1": digest(&[rule, &examinee.file, &examinee.name]) },
    });
    if let Some(index) = rules.iter().position(|known| known["id"] == **rule) {
        result["ruleIndex"] = json!(index);
    }
    result
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use acp_registry::examination::{CHECKS, Examined};

    use super::*;

    #[test]
    fn what_was_not_met_is_counted_by_level_with_the_level_that_refuses_all_of_it() {
        let examined = |check: &&'static Check| Examined {
            check,
            verdict: CheckVerdict::Pass,
            message: None,
            duration: Duration::ZERO,
            exchange: None,
        };
        let (level, duration) = (Level::Turns, Duration::ZERO);
        let checks = CHECKS.iter().filter(|check| check.level <= level).map(examined).collect();
        let mut whole =
            Examination { level, reached: Some(level), has_network: false, checks, duration, left: Vec::new() };
        assert_eq!(shortcoming(&whole), None);
        let unreached = Examination { reached: Some(Level::Protocol), ..whole.clone() };
        let text = "the agent could not be examined at the level `turns`, which `--require turns` would refuse";
        assert_eq!(shortcoming(&unreached).as_deref(), Some(text));
        let mut fail = |level, count| {
            let of_level = whole.checks.iter_mut().filter(|examined| examined.check.level == level);
            of_level.take(count).for_each(|examined| examined.verdict = CheckVerdict::Fail);
            shortcoming(&whole).unwrap()
        };
        let text = "2 requirements of `protocol` failed, which `--require protocol` would refuse";
        assert_eq!(fail(Level::Protocol, 2), text);
        let text =
            "2 requirements of `protocol` and 1 requirement of `turns` failed, which `--require turns` would refuse";
        assert_eq!(fail(Level::Turns, 1), text);
    }
}
