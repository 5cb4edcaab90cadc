//! Examinations at the level `sessions`: agents that keep their sessions apart, and agents that do not.

use std::time::Duration;

use acp_registry::examination::{CHECKS, Check, CheckVerdict, Examination, ExaminationPlan, Level};

use crate::examined::{for_each, not_passed, planned, planned_with, with};

fn examined(case: &[&str]) -> Examination {
    let mut plan = ExaminationPlan::up_to(Level::Sessions);
    plan.only = |check| check.level() == Level::Sessions;
    planned(case, Duration::from_secs(2), &plan)
}

fn checks() -> Vec<&'static Check> {
    CHECKS.iter().copied().filter(|check| check.level() == Level::Sessions).collect()
}

#[test]
fn the_failing_exchange_of_each_check_fails_that_check_and_no_other() {
    for_each(&checks(), |check| {
        let examination = examined(&["sessions", "", &check.failing_exchange()]);
        let found = not_passed(&examination);
        let is_right = found.len() == 1 && found[0].0 == check.id && !found[0].1.is_empty();
        if is_right { Ok(()) } else { Err(format!("{}: {found:?}", check.id)) }
    });
}

#[test]
fn the_passing_exchange_of_each_check_passes_it_and_fails_none() {
    for_each(&checks(), |check| {
        let examination = examined(&["sessions", "", &check.passing_exchange()]);
        let found = not_passed(&examination);
        let has_passed = with(&examination, &[CheckVerdict::Pass]).iter().any(|(id, _)| *id == check.id);
        if has_passed && found.is_empty() { Ok(()) } else { Err(format!("{}: {has_passed} {found:?}", check.id)) }
    });
}

#[test]
fn an_agent_that_does_everything_right_passes_all_checks() {
    let examination = examined(&["sessions", "", ""]);
    let found = with(&examination, &[CheckVerdict::Fail, CheckVerdict::Warning, CheckVerdict::NotExercised]);
    assert_eq!(found, [] as [(&str, &str); 0]);
}

/// An agent that demands a sign-in cannot be examined here; the reason says so once for each check.
#[test]
fn an_agent_that_opens_no_session_is_not_exercised() {
    let examination = examined(&["played", ""]);
    assert_eq!(examination.reached, Some(Level::Handshake));
    let reason = "needs sign-in: the agent answers `session/new` with error -32000: `Authentication required`";
    let reasons = with(&examination, &[CheckVerdict::NotExercised]);
    assert_eq!(reasons.len(), checks().len());
    let is_known =
        |text: &str| text == reason || text.starts_with("the agent does not advertise `sessionCapabilities.");
    assert!(reasons.iter().all(|(_, text)| is_known(text)), "{reasons:?}");
    assert!(reasons.contains(&("sessions/distinct-ids", reason)));
}

/// The executable is the MCP server.
#[test]
fn without_the_executable_no_mcp_server_is_given() {
    let mut plan = ExaminationPlan::up_to(Level::Sessions);
    plan.only = |check| check.id == "sessions/mcp-server";
    let examination =
        planned_with(&["sessions", "", ""], Duration::from_secs(2), &plan, |launch| launch.launcher = None);
    let reasons = with(&examination, &[CheckVerdict::NotExercised]);
    assert!(reasons.len() == 1 && reasons[0].1.contains("the path of the `acp-registry` executable"), "{reasons:?}");
}

/// The id of a session differs between runs, and a message that has it would make each run differ from the last.
#[test]
fn a_refusal_before_the_first_prompt_is_quoted_without_the_id() {
    let exchange = r#"client {"jsonrpc":"2.0","id":2,"method":"session/load","params":{"sessionId":"$ID","cwd":"$WORK","mcpServers":[]}}
agent {"jsonrpc":"2.0","id":2,"error":{"code":-32002,"message":"No conversation $LAST"}}"#;
    let examination = examined(&["sessions", "", exchange]);
    assert_eq!(not_passed(&examination), [] as [(&str, &str); 0]);
    let reason =
        "the agent answers `session/load` before the first prompt with error -32002: `No conversation $SESSION`";
    assert_eq!(with(&examination, &[CheckVerdict::NotExercised]), [("sessions/load", reason)]);
}

/// Deviations of the fake agent: the check that notices, the name, and a part of the message.
const BREAKS: &[(&str, &str, &str)] = &[
    ("additional-directories", "directories-refused", "with error -32602"),
    ("additional-directories", "directories-other", "lists other additional directories"),
    ("close", "close-refused", "for an open session with error -32603"),
    ("close", "close-all", "after another was closed"),
    ("command-names", "command-slash", "with the name `/web`"),
    ("command-names", "command-twice", "two commands with the name `test`"),
    ("commands", "command-bare", "the command `test` without a `description`"),
    ("commands", "command-input", "the command `web` with an `input` without a `hint`"),
    ("commands", "commands-object", "without an array `availableCommands`"),
    ("config-options", "option-without-value", "no value for its option `model`"),
    ("config-options", "option-null", "no value for its option `mode`"),
    ("config-values", "value-not-listed", "the current value `huge` of its option `model`"),
    ("config-values", "option-twice", "the option `mode` twice"),
    ("config-values", "value-twice", "the value `small` of its option `model` twice"),
    ("cwd", "cwd-of-process", "/work` that was opened with `$SANDBOX/home/projects/first`"),
    ("cwd", "cwd-parent", "/projects` that was opened with `$SANDBOX/home/projects/first`"),
    ("delete", "delete-kept", "lists a session after `session/delete`"),
    ("delete", "delete-other", "lists a session after `session/delete`"),
    ("delete", "delete-all", "no longer lists another session"),
    ("delete-unknown", "delete-unknown-refused", "error -32002"),
    ("delete-unknown", "delete-unknown-fails", "error -32603"),
    ("distinct-ids", "same-id", "with the same id `session-0`"),
    ("distinct-ids", "id-of-directory", "with the same id"),
    ("fork", "fork-same", "the id of its original"),
    ("fork", "fork-nameless", "without a `sessionId`"),
    ("list", "list-object", "without an array `sessions`"),
    ("list", "list-relative", "not an absolute path: `project`"),
    ("list-cursor", "cursor-restarts", "accepts an invalid cursor"),
    ("list-cursor", "cursor-ends", "accepts an invalid cursor"),
    ("list-filter", "filter-ignored", "$SANDBOX"),
    ("list-filter", "filter-empty", "lists no session when asked for those of a directory in which it has one"),
    ("list-filter", "filter-null", "without an array `sessions`, for one `cwd`"),
    ("list-new", "list-empty", "before its first prompt"),
    ("list-new", "list-late", "before its first prompt"),
    ("list-paging", "cursor-refused", "error -32602: `Invalid params`, for the `nextCursor`"),
    ("list-paging", "cursor-endless", "the same `nextCursor` twice"),
    ("list-paging", "page-repeats", "twice"),
    ("load", "load-elsewhere", "in another session, `session-x`"),
    ("load", "load-text", "not an object"),
    ("mcp-env", "mcp-no-env", "does not set the variables"),
    ("mcp-env", "mcp-env-cut", "to `a=b` instead of `a=b 'c' $HOME`"),
    ("mcp-server", "mcp-ignored", "does not start the MCP server"),
    ("mcp-server", "mcp-only-started", "sends it no `initialize`"),
    ("modes", "mode-not-listed", "names `ask` as the current mode"),
    ("modes", "mode-twice", "the mode `code` twice"),
    ("modes-in-sync", "mode-differs", "with the mode `ask` and the option `code`"),
    ("modes-in-sync", "mode-apart", "the option `ask` after the mode was set to `code`"),
    ("null-cwd", "null-accepted", "accepts a session whose `cwd` is `null`"),
    ("null-cwd", "null-silent", "does not answer `session/new`"),
    ("relative-cwd", "relative-accepted", "accepts the relative `cwd` `.`"),
    ("relative-cwd", "relative-silent", "does not answer `session/new`"),
    ("resume", "resume-replays", "sends a `user_message_chunk`"),
    ("resume", "resume-tool-call", "sends a `tool_call`"),
    ("resume", "resume-true", "not an object"),
    ("set-config-option", "answer-partial", "without its option `model`"),
    ("set-config-option", "answer-empty", "without an array `configOptions`"),
    ("set-config-values", "option-not-set", "reports `ask` after its option `mode` was set to `code`"),
    ("set-config-values", "value-refused", "does not set its option `model` to `large`: error -32602"),
    ("set-mode", "mode-refused", "does not change to its mode `code`: error -32602"),
    ("set-mode", "mode-misreported", "reports the mode `ask` after it was set to `code`"),
    ("unadvertised-methods", "hidden-providers", "carries out `providers/list`"),
    ("unadvertised-methods", "hidden-close", "carries out `session/close`"),
    ("unknown-config-option", "any-option", "accepts an unknown configuration option"),
    ("unknown-config-option", "any-option-empty", "accepts an unknown configuration option"),
    ("unknown-config-value", "any-value", "an unknown value of its option `mode`"),
    ("unknown-config-value", "any-value-kept", "an unknown value of its option `mode`"),
    ("unknown-mode", "any-mode", "accepts an unknown mode"),
    ("unknown-mode", "any-mode-silently", "accepts an unknown mode"),
];

#[test]
fn every_break_fails_its_check_and_no_other() {
    for_each(BREAKS, |(name, deviation, text)| {
        let examination = examined(&["sessions", deviation, ""]);
        let found = not_passed(&examination);
        let is_right = found.len() == 1 && found[0].0 == format!("sessions/{name}") && found[0].1.contains(text);
        if is_right { Ok(()) } else { Err(format!("{name}: {deviation}: {found:?}")) }
    });
}

#[test]
fn each_check_has_two_breaks_or_more() {
    let few = |check: &&&Check| BREAKS.iter().filter(|(name, _, _)| check.id == format!("sessions/{name}")).count() < 2;
    let few: Vec<&str> = checks().iter().filter(few).map(|check| check.id).collect();
    assert_eq!(few, [] as [&str; 0]);
}
