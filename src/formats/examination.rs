//! The results of examinations: for people, as SARIF for code scanning, and as annotations.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use acp_registry::check::{RULES, Rule, rule_of_reason, rule_of_runner};
use acp_registry::examination::{
    CHECKS, Check, CheckRecord, CheckVerdict, Examination, Force, Level, Record, VerdictCounts,
};
use acp_registry::handshake::{FailReason, Outcome};
use acp_registry::text::{code_span, plural, printable, prose};
use acp_registry::verify::{Row, State, TaskVerdict};
use serde_json::{Value, json};

use crate::formats::github::annotation;
use crate::formats::sarif::{self, artifact, descriptor, digest, log};
use crate::terminal::layout::{INDENT, Look, cut};

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
        *failed.entry(examined.check.level()).or_default() += 1;
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
    let rules = rules(examinees);
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

/// The rules of the handshake, the others that these agents break, and the checks.
fn rules(examinees: &[Examinee<'_>]) -> Vec<Value> {
    let unexamined = json!({
        "id": UNEXAMINED,
        "shortDescription": { "text": "the agent could not be examined at the required level" },
        "help": { "text": "Run the examination again with -v, and see which checks could not run." },
        "defaultConfiguration": { "level": "error" },
    });
    let is_broken = |name: &str| examinees.iter().any(|one| one.rule.is_some_and(|rule| rule.name == name));
    let rules = RULES.iter().filter(|rule| rule.group() == "handshake" || is_broken(rule.name));
    rules.map(|rule| descriptor(rule)).chain([unexamined]).chain(CHECKS.iter().map(|check| rule(check))).collect()
}

fn rule(check: &Check) -> Value {
    let markdown = format!(
        "{}\n\nThe check is based on the page `{}`.\n\nDoes not pass:\n\n```text\n{}\n```\n\nPasses:\n\n```text\n{}\n```\n",
        check.fix,
        check.spec,
        check.failing_exchange(),
        check.passing_exchange()
    );
    json!({
        "id": check.id,
        "shortDescription": { "text": check.summary },
        "fullDescription": { "text": check.why },
        "help": { "text": check.fix, "markdown": markdown },
        "defaultConfiguration": { "level": if check.force == Force::Must { "error" } else { "warning" } },
        "properties": { "force": check.force, "tags": [check.level()] },
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
    let place = json!({
        "physicalLocation": { "artifactLocation": artifact(&examinee.file) },
        "logicalLocations": [{ "name": name, "kind": "module" }],
    });
    // Messages contain what differs between runs.
    let same = json!({ "check/v1": digest(&[rule, &examinee.file, &examinee.name]) });
    sarif::result(rules, (rule, level, &format!("{name}: {message}")), &place, &same)
}

/// An agent with the results of its handshake and its examination. Texts are unescaped.
#[derive(Debug)]
pub(crate) struct Examinee<'a> {
    /// The agent's id and distribution, or its command.
    pub(crate) name: String,
    /// The file that results are attached to, relative to the repository.
    pub(crate) file: String,
    /// [`TaskVerdict::Skipped`] for an agent in quarantine, which is expected to fail.
    pub(crate) verdict: TaskVerdict,
    pub(crate) reason: Option<&'a str>,
    /// The rule about that reason.
    pub(crate) rule: Option<&'static Rule>,
    pub(crate) message: Option<String>,
    pub(crate) stderr: &'a str,
    /// Duration of the handshake.
    pub(crate) duration: Duration,
    pub(crate) record: Option<Record>,
}

impl<'a> Examinee<'a> {
    /// A command that was started by `probe`. `file` is the file of the repository that stands for the agent.
    pub(crate) fn from_outcome(
        name: &str,
        file: &str,
        outcome: &'a Outcome,
        examination: Option<&Examination>,
    ) -> Self {
        Self {
            name: name.to_owned(),
            file: file.to_owned(),
            verdict: outcome.verdict.into(),
            reason: outcome.reason.map(FailReason::as_str),
            rule: outcome.reason.and_then(|reason| rule_of_reason(reason.as_str())),
            message: outcome.message.clone(),
            stderr: &outcome.stderr_tail,
            duration: outcome.timing.total,
            record: examination.map(Record::from),
        }
    }

    /// A row of `verify`. `prefix` is the path of the registry directory within the repository, ending in `/`.
    pub(crate) fn from_row(row: &'a Row, prefix: &str) -> Self {
        let is_excused = !row.is_finding() && matches!(row.verdict(), TaskVerdict::Fail | TaskVerdict::Error);
        let duration = match &row.state {
            State::Checked { outcome, .. } => outcome.timing.total,
            State::Skipped { .. } | State::NotStarted(_) | State::Reused(_) => Duration::ZERO,
        };
        let message = if is_excused { row.advice() } else { row.explanation() };
        Self {
            name: format!("{} ({})", row.id, row.distribution()),
            file: format!("{prefix}{}/agent.json", row.id),
            verdict: if is_excused { TaskVerdict::Skipped } else { row.verdict() },
            reason: row.reason(),
            rule: row.not_startable_by().and_then(rule_of_runner).or_else(|| rule_of_reason(row.reason()?)),
            message: message.or_else(|| row.explanation()),
            stderr: row.stderr(),
            duration,
            record: row.record(),
        }
    }

    /// Whether the handshake itself failed. It did not if the agent only violates a requirement that its checks show.
    pub(crate) fn fails_handshake(&self) -> bool {
        let is_shown = || self.record.as_ref().is_some_and(|record| record.summary().failed > 0);
        match self.verdict {
            TaskVerdict::Pass | TaskVerdict::Skipped => false,
            TaskVerdict::Fail | TaskVerdict::Error => self.reason != Some("examination") || !is_shown(),
        }
    }

    /// Why the handshake failed or was skipped. Printable.
    pub(crate) fn why(&self) -> String {
        printable(self.message.as_deref().unwrap_or("the agent did not pass")).into_owned()
    }
}

/// The file of the repository that stands for a command: the first of its words that names a file below `directory`, or
/// else the name of the program.
pub(crate) fn file_of_command<'w>(words: impl IntoIterator<Item = &'w Path>, directory: &Path) -> String {
    let mut program = String::new();
    for word in words {
        let path = directory.join(word);
        let inside = path.canonicalize().ok().filter(|path| path.is_file());
        let real = directory.canonicalize().unwrap_or_default();
        if let Some(path) = inside.as_deref().and_then(|path| path.strip_prefix(&real).ok()) {
            let parts: Vec<_> = path.components().map(|part| part.as_os_str().to_string_lossy()).collect();
            return parts.join("/");
        }
        if program.is_empty() {
            program = word.file_name().unwrap_or_default().to_string_lossy().into_owned();
        }
    }
    program
}

#[cfg(test)]
mod tests {
    use super::*;
    use acp_registry::examination::{CHECKS, Examined};
    use std::time::Duration;

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
        let checks = CHECKS.iter().filter(|check| check.level() <= level).map(examined).collect();
        let mut whole =
            Examination { level, reached: Some(level), has_network: false, checks, duration, left: Vec::new() };
        assert_eq!(shortcoming(&whole), None);
        let unreached = Examination { reached: Some(Level::Protocol), ..whole.clone() };
        let text = "the agent could not be examined at the level `turns`, which `--require turns` would refuse";
        assert_eq!(shortcoming(&unreached).as_deref(), Some(text));
        let mut fail = |level, count| {
            let of_level = whole.checks.iter_mut().filter(|examined| examined.check.level() == level);
            of_level.take(count).for_each(|examined| examined.verdict = CheckVerdict::Fail);
            shortcoming(&whole).unwrap()
        };
        let text = "2 requirements of `protocol` failed, which `--require protocol` would refuse";
        assert_eq!(fail(Level::Protocol, 2), text);
        let text =
            "2 requirements of `protocol` and 1 requirement of `turns` failed, which `--require turns` would refuse";
        assert_eq!(fail(Level::Turns, 1), text);
    }

    #[test]
    fn a_command_is_known_by_its_file_in_the_repository() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("dist")).unwrap();
        std::fs::write(folder.path().join("dist/index.js"), "").unwrap();
        let of = |words: &[&str]| file_of_command(words.iter().map(Path::new), folder.path());
        assert_eq!(of(&["/usr/bin/node", "dist/index.js", "--acp"]), "dist/index.js");
        assert_eq!(of(&["node", "./dist/../dist/index.js"]), "dist/index.js");
        for words in [&["/opt/x/gemini", "--acp"][..], &["gemini", "dist"], &["gemini", "../../etc/passwd"]] {
            assert_eq!(of(words), "gemini", "{words:?}");
        }
        assert_eq!(of(&[]), "");
    }
}
