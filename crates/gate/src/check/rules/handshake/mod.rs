//! Rules about the results of installing and starting agents. The rules themselves start nothing.

pub(super) mod broken_requirement;
pub(super) mod install_failed;
pub(super) mod invalid_answer;
pub(super) mod missing_method;
pub(super) mod missing_runtime;
pub(super) mod no_answer;
pub(super) mod no_supported_auth;
pub(super) mod not_startable_by_npx;
pub(super) mod not_startable_by_uvx;
pub(super) mod protocol_version;
pub(super) mod untidy;

use crate::check::reporter::Reporter;
use crate::check::rule::{Example, Online, Rule, Subject};
use crate::survey::Survey;
use crate::verify::{NotStarted, Row, State, TaskVerdict};
use acp_registry_client::install::Kind;
use acp_registry_plan::manifest::{BinaryTarget, Channel, PackageKind, Platform, Release};
use acp_registry_plan::text::{escape, quote};
use acp_registry_protocol::handshake::{FailReason, Handshake, Outcome, Timing, Verdict};

/// Maximum number of stderr lines in a finding.
const LINES: usize = 5;

/// The rule about agents that the package runner of a kind does not start.
pub fn rule_of_runner(kind: Kind) -> Option<&'static Rule> {
    match kind {
        Kind::Npx => Some(&not_startable_by_npx::RULE),
        Kind::Uvx => Some(&not_startable_by_uvx::RULE),
        Kind::Binary => None,
    }
}

/// The rule of this group that reports a reason of `verify`.
pub(super) fn rule_of_reason(reason: &str) -> Option<&'static Rule> {
    let rules: [(&[&str], &'static Rule); 7] = [
        (broken_requirement::REASONS, &broken_requirement::RULE),
        (install_failed::REASONS, &install_failed::RULE),
        (invalid_answer::REASONS, &invalid_answer::RULE),
        (missing_runtime::REASONS, &missing_runtime::RULE),
        (no_answer::REASONS, &no_answer::RULE),
        (no_supported_auth::REASONS, &no_supported_auth::RULE),
        (protocol_version::REASONS, &protocol_version::RULE),
    ];
    rules.into_iter().find(|(reasons, _)| reasons.contains(&reason)).map(|(_, rule)| rule)
}

/// The results of an agent.
fn rows<'a>(subject: &Subject<'_>, survey: &'a Survey) -> &'a [Row] {
    survey.agents.get(subject.folder).map_or(&[], Vec::as_slice)
}

/// The release that a result is about.
fn release<'a>(subject: &'a Subject<'_>, row: &Row) -> Option<Release<'a>> {
    subject.agent().releases().find(|release| release.channel == row.channel)
}

/// The binary target for this machine.
fn target<'a>(release: &Release<'a>) -> Option<&'a BinaryTarget> {
    let host = Platform::host()?;
    release.distribution.binary.iter().find(|target| target.platform == host.as_str())
}

/// JSON pointer of the distribution's package or `cmd`.
fn place(subject: &Subject<'_>, row: &Row) -> String {
    let Some(release) = release(subject, row) else { return String::new() };
    match row.kind {
        Some(Kind::Npx) => release.package_pointer(PackageKind::Npx, "package"),
        Some(Kind::Uvx) => release.package_pointer(PackageKind::Uvx, "package"),
        Some(Kind::Binary) => target(&release).map_or_else(
            || format!("{}/distribution/binary", release.pointer()),
            |target| release.target_pointer(target, "cmd"),
        ),
        None => format!("{}/distribution", release.pointer()),
    }
}

/// Reports the results that failed for one of `reasons`. `remedy` makes the help for an agent's id.
pub(super) fn report(
    subject: &Subject<'_>,
    survey: &Survey,
    reasons: &[&str],
    remedy: impl Fn(&str) -> String,
    report: &mut Reporter<'_>,
) {
    for row in rows(subject, survey).iter().filter(|row| !row.is_not_startable) {
        if row.reason().is_some_and(|reason| reasons.contains(&reason)) {
            report_row(subject, row, Some(own_remedy(row, &remedy)), report);
        }
    }
}

/// Reports the results of agents that the package runner of a kind does not start. `remedy` is the help where none is known.
fn report_not_startable(
    subject: &Subject<'_>,
    survey: &Survey,
    kind: Kind,
    remedy: &'static str,
    report: &mut Reporter<'_>,
) {
    for row in rows(subject, survey).iter().filter(|row| row.not_startable_by() == Some(kind)) {
        report_row(subject, row, Some(own_remedy(row, |_| remedy.into())), report);
    }
}

/// The remedy of a row, else this one.
fn own_remedy(row: &Row, usual: impl Fn(&str) -> String) -> String {
    row.remedy().map_or_else(|| usual(&row.id), ToOwned::to_owned)
}

/// Reports a row: what is known in the message, what to do in the help.
fn report_row(subject: &Subject<'_>, row: &Row, remedy: Option<String>, report: &mut Reporter<'_>) {
    let message = row.message().unwrap_or("the agent did not pass");
    // The message may already contain one of the lines.
    let is_news = |line: &&str| !line.is_empty() && !message.contains(&escape(line));
    let lines: Vec<&str> = row.stderr().lines().map(str::trim).filter(is_news).collect();
    let last: Vec<String> = lines.iter().skip(lines.len().saturating_sub(LINES)).map(|line| quote(line)).collect();
    let stderr = if last.is_empty() { String::new() } else { format!("; the end of stderr: {}", last.join(" ")) };
    let draft = report.value(place(subject, row), format!("{message}{stderr}"));
    if let Some(remedy) = remedy {
        draft.help(remedy);
    }
}

/// For examples: an agent distributed with npx.
pub(super) const AGENT: Example =
    Example::Manifest("\"distribution\": { \"npx\": { \"package\": \"example@1.0.0\" } }");

/// For examples: the part of [`AGENT`] that findings underline.
pub(super) const MARKS: &str = "\"example@1.0.0\"";

/// For examples: an agent that passes.
pub(super) const ANSWERS: Example = Example::Online(&Online {
    manifest: AGENT,
    world: "The agent answers `initialize`, and a person can sign in.",
    answers: passed,
});

/// For examples: adds the result of an agent that passed.
pub(super) fn passed(survey: &mut Survey) {
    started(survey, Handshake::default());
}

/// For examples: adds the result of an agent that passed with this handshake.
fn started(survey: &mut Survey, handshake: Handshake) {
    put_outcome(survey, handshake, None);
}

/// For examples: adds the result of an agent that failed.
pub(super) fn failed(survey: &mut Survey, reason: FailReason, message: &str) {
    put_outcome(survey, Handshake::default(), Some((reason, message)));
}

fn put_outcome(survey: &mut Survey, handshake: Handshake, failure: Option<(FailReason, &str)>) {
    let outcome = Outcome {
        verdict: if failure.is_some() { Verdict::Fail } else { Verdict::Pass },
        reason: failure.map(|(reason, _)| reason),
        message: failure.map(|(_, message)| message.to_owned()),
        handshake,
        timing: Timing { start_to_response: None, total: std::time::Duration::ZERO },
        exit: None,
        stderr_tail: String::new(),
        isolation: "environment",
        left: None,
        is_flaky: false,
    };
    put(
        survey,
        State::Checked { outcome: Box::new(outcome), examination: None, at: std::time::SystemTime::UNIX_EPOCH },
    );
}

/// For examples: adds the result of an agent that the package runner of a kind does not start.
fn not_startable(survey: &mut Survey, kind: Kind, message: &str, remedy: Option<&str>) {
    not_started(survey, "install_failed", message, remedy);
    for row in survey.agents.values_mut().flatten() {
        (row.kind, row.is_not_startable) = (Some(kind), true);
    }
}

/// For examples: adds the result of an agent that was not started.
fn not_started(survey: &mut Survey, reason: &'static str, message: &str, remedy: Option<&str>) {
    let why = NotStarted::new(TaskVerdict::Error, reason, message);
    put(survey, State::NotStarted(NotStarted { remedy: remedy.map(ToOwned::to_owned), ..why }));
}

fn put(survey: &mut Survey, state: State) {
    let row = Row::new("example", "1.0.0", Channel::Stable, Some(Kind::Npx), state);
    survey.agents.insert("example".to_owned(), vec![row]);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each reason why a start fails belongs to exactly one rule.
    #[test]
    fn every_reason_has_one_rule() {
        let all = [
            broken_requirement::REASONS,
            install_failed::REASONS,
            invalid_answer::REASONS,
            missing_runtime::REASONS,
            no_answer::REASONS,
            no_supported_auth::REASONS,
            protocol_version::REASONS,
        ];
        let mut reasons: Vec<&str> = all.concat();
        reasons.sort_unstable();
        let known = [
            "agent_error", "cmd_not_found", "digest_mismatch", "examination", "exited", "held_by_cooldown",
            "install_failed", "invalid_response", "machine_busy", "missing_runtime", "no_auth_methods",
            "no_supported_auth_type", "package_not_found", "protocol_version", "runtime_too_old", "spawn_failed",
            "timeout", "unsafe_archive",
        ];
        assert_eq!(reasons, known);
        assert!(known.iter().all(|reason| rule_of_reason(reason).is_some()));
        assert!(rule_of_reason("unsupported_platform").is_none());
    }
}
