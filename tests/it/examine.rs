//! Examinations of agents that follow the protocol, and of agents that violate it in one point.

use std::time::Duration;

use acp_registry::examination::{CHECKS, Check, CheckVerdict, Examination, ExaminationPlan, LIMIT, Level};
use serde_json::{Value, json};

use crate::examined::{for_each, not_passed, planned, planned_with, with};

/// Examines the fake agent in this case at the level `protocol`.
fn examined_within(case: &[&str], patience: Duration, limit: Duration) -> Examination {
    let mut plan = ExaminationPlan::up_to(Level::Protocol);
    plan.limit = Some(limit);
    planned(case, patience, &plan)
}

fn examined(case: &[&str]) -> Examination {
    examined_within(case, Duration::from_secs(2), LIMIT)
}

fn checks() -> Vec<&'static Check> {
    let is_meant = |check: &&Check| check.level() == Level::Protocol && (cfg!(unix) || !is_for_unix(check));
    CHECKS.iter().copied().filter(is_meant).collect()
}

fn is_for_unix(check: &Check) -> bool {
    check.id == "protocol/sigterm"
}

#[test]
fn the_failing_exchange_of_each_check_fails_that_check_and_no_other() {
    for_each(&checks(), |check| {
        let examination = examined(&["played", &check.failing_exchange()]);
        let found = not_passed(&examination);
        let ids: Vec<&str> = found.iter().map(|(id, _)| *id).collect();
        let is_right = ids == [check.id] && !found[0].1.is_empty();
        if is_right { Ok(()) } else { Err(format!("{}: {found:?}", check.id)) }
    });
}

#[test]
fn the_passing_exchange_of_each_check_passes_all() {
    for_each(&checks(), |check| {
        let examination = examined(&["played", &check.passing_exchange()]);
        let mut found = with(&examination, &[CheckVerdict::Fail, CheckVerdict::Warning, CheckVerdict::NotExercised]);
        // Other systems have no signals.
        found.retain(|(id, _)| cfg!(unix) || *id != "protocol/sigterm");
        if found.is_empty() { Ok(()) } else { Err(format!("{}: {found:?}", check.id)) }
    });
}

const INIT: &str =
    r#"{"id":1,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{"terminal":true}}}"#;
const BARE: &str = r#"{"id":1,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{}}}"#;
const PING: &str = r#"{"id":2,"method":"_acp-registry/ping","params":{}}"#;
const NEW: &str = r#"{"id":2,"method":"session/new","params":{"cwd":"$WORK","mcpServers":[]}}"#;
const NOT_FOUND: &str = r#"agent {"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"Method not found"}}"#;

/// A valid result of `initialize` with one member replaced.
fn good_but(name: &str, value: Value) -> String {
    let mut result = json!({
        "protocolVersion": 1, "agentCapabilities": { "loadSession": true },
        "agentInfo": { "name": "fake-agent", "version": "1.0.0" }, "authMethods": [{ "id": "login", "name": "Log in" }],
    });
    result[name] = value;
    format!("agent {}", json!({ "jsonrpc": "2.0", "id": 1, "result": result }))
}

/// More violations: the check's name, the exchange, and a part of the message.
fn breaks() -> Vec<(&'static str, String, &'static str)> {
    let to = |said: &str, reply: &str| format!("client {said}\n{reply}");
    let answer = |rest: &str| format!("agent {{\"jsonrpc\":\"2.0\",\"id\":2,{rest}}}");
    let error = |code: i64, text: &str| answer(&format!("\"error\":{{\"code\":{code},\"message\":\"{text}\"}}"));
    let ping = |reply: &str| to(PING, &format!("{reply}\n{NOT_FOUND}"));
    let request = |method: &str, params: &str| format!("{{\"id\":2,\"method\":\"{method}\",\"params\":{params}}}");
    let note = |method: &str, params: &str| format!("{{\"method\":\"{method}\",\"params\":{params}}}");
    let no_session = "{\"sessionId\":\"acp-registry-no-such-session\"}";
    let nameless = r#"agent {"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"Method not found"}}"#;
    let idless = r#"agent {"jsonrpc":"2.0","error":{"code":-1,"message":"x"}}"#;
    let (extension, unknown) = (request("_acp-registry/unknown", "{}"), request("acp-registry/unknown", "{}"));
    let long = request("_acp-registry/ping", "{\"text\":\"$LONG\"}");
    let (first, seven) = (INIT.replace("\"id\":1", "\"id\":2"), request("session/new", "{\"cwd\":7}"));
    let future = first.replace("\"protocolVersion\":1", "\"protocolVersion\":65535");
    let sign_in = request("authenticate", "{\"methodId\":\"acp-registry-no-such-method\"}");
    let terminal =
        r#"agent {"jsonrpc":"2.0","id":9,"method":"terminal/create","params":{"sessionId":"s","command":"id"}}"#;
    let text_7 = r#"{"id":"7","method":"_acp-registry/ping","params":{}}"#;
    let twelve = r#"{"id":"zw\u00f6lf \ud83e\udd80","method":"_acp-registry/ping","params":{}}"#;
    vec![
        ("agent-info", to(INIT, &good_but("agentInfo", Value::Null)), "neither its name nor its version"),
        (
            "agent-info",
            to(INIT, &good_but("agentInfo", json!({ "name": "a", "version": "" }))),
            "an empty name or version",
        ),
        ("version", to(&future, &answer("\"result\":{\"protocolVersion\":0}")), "with version 0"),
        (
            "auth-required",
            to(NEW, &error(-32603, "Please log in \\u001b[1mfirst")),
            "error -32603: `Please log in \\u{1b}",
        ),
        ("auth-required", to(NEW, &error(-32001, "Unauthorized")), "with error -32001"),
        ("before-initialize", format!("agent starts\nclient {NEW}"), "does not answer `session/new`"),
        ("cancel-unknown-session", to(&note("session/cancel", no_session), nameless), "which is a notification"),
        ("client-capabilities", to(BARE, "agent ends"), "ends (exit code 7) instead of answering"),
        ("client-capabilities", to(BARE, ""), "does not answer `initialize` (waited "),
        ("ids", to(text_7, &NOT_FOUND.replace("\"id\":2", "\"id\":7")), "answers the id `\"7\"` with the id `7`"),
        ("ids", to(text_7, ""), "does not answer `_acp-registry/ping` with the id `\"7\"`"),
        ("initialize", to(INIT, &good_but("agentInfo", json!({ "name": "a" }))), "`result.agentInfo` has no `version`"),
        ("initialize", to(INIT, &good_but("_meta", json!([]))), "`result._meta` is not an object"),
        (
            "load-unknown-session",
            to(&request("session/load", no_session), &answer("\"result\":{}")),
            "accepts `session/load`",
        ),
        ("load-unknown-session", to(&request("session/load", no_session), ""), "does not answer `session/load`"),
        ("long-line", to(&long, ""), "does not answer a request of 1 MiB"),
        (
            "malformed-line",
            "client {\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\nagent ends".to_owned(),
            "after a line that is not JSON",
        ),
        ("malformed-line", "client acp-registry\nagent ends".to_owned(), "after a line that is not JSON"),
        ("malformed-line", "client \nagent ends".to_owned(), "after an empty line"),
        ("messages", ping(r#"agent {"jsonrpc":"1.0","method":"_x"}"#), "`_x` has no member"),
        (
            "messages",
            ping(r#"agent {"jsonrpc":"2.0","method":"session/update","params":{}}"#),
            "`params` has no `sessionId`",
        ),
        ("messages", ping(r#"agent {"jsonrpc":"2.0","id":[],"method":"_x"}"#), "neither a string nor an integer"),
        ("messages", to(&unknown, &format!("{idless}\n{NOT_FOUND}")), "it has no `id`"),
        ("messages", to(PING, &answer("\"result\":{},\"error\":null")), "both `result` and `error`"),
        ("messages", to(PING, &answer("\"error\":{\"code\":-32601}")), "`error` has no `message`"),
        ("pipelined-requests", to(&request("_acp-registry/ping", "{\"number\":20}"), ""), "does not answer all of 20"),
        (
            "prompt-unknown-session",
            to(&request("session/prompt", no_session), &answer("\"result\":{\"stopReason\":\"cancelled\"}")),
            "accepts `session/prompt`",
        ),
        ("split-line", to(twelve, ""), "that was sent one byte at a time"),
        ("stdout", ping("agent \u{1b}[2J\u{7}\u{9b}"), "`\\u{1b}[2J\\u{7}\\u{9b}` (and"),
        ("stdout", ping("agent []"), "`[]`"),
        ("stdout", ping("agent {\"level\":\"info\"}"), "level"),
        (
            "unadvertised-methods",
            format!(
                "client {BARE}\n{}\n{}",
                good_but("x", Value::Null),
                to(NEW, &format!("{terminal}\n{}", error(-32000, "A")))
            ),
            "calls `terminal/create`",
        ),
        ("unknown-auth-method", to(&sign_in, &answer("\"result\":null")), "has not advertised"),
        ("unknown-auth-method", to(&sign_in, ""), "does not answer `authenticate`"),
        ("unknown-extension", to(&extension, &answer("\"result\":null")), "with a result"),
        ("unknown-extension", to(&extension, ""), "does not answer"),
        ("unknown-method", to(&unknown, &error(-32600, "x")), "error -32600: `x` instead of the code -32601"),
        ("unknown-method", to(&unknown, ""), "does not answer `acp-registry/unknown`"),
        ("unknown-notification", to(&note("_acp-registry/note", "{}"), "agent ends"), "after an unknown notification"),
        ("unknown-notification", to(&note("$/acp-registry", "{}"), nameless), "answers an unknown notification"),
        ("version", to(&future, &error(-32602, "x")), "answers version 65535 of the protocol with error -32602"),
        ("version", to(&future, "agent ends"), "ends (exit code 7)"),
        ("wrong-params", to(&seven, &error(-32603, "x")), "error -32603: `x` instead of the code -32602"),
        ("wrong-params", to(&seven, "agent ends"), "instead of answering `session/new`"),
    ]
}

#[test]
fn every_break_fails_its_check_and_no_other() {
    for_each(&breaks(), |(name, exchange, text)| {
        let examination = examined(&["played", exchange]);
        let found = not_passed(&examination);
        let is_right = found.len() == 1 && found[0].0 == format!("protocol/{name}") && found[0].1.contains(text);
        if is_right { Ok(()) } else { Err(format!("{name}: {found:?}\n  {exchange}")) }
    });
}

/// A silent agent is given up early. Checks that could not run report why.
#[test]
fn an_agent_that_is_silent_or_ends_after_initialize_is_told_as_such() {
    let silent = examined_within(&["reply", "$OK\n"], Duration::from_millis(200), LIMIT);
    assert_eq!(silent.reached, Some(Level::Protocol));
    let reasons = with(&silent, &[CheckVerdict::NotExercised]);
    let given_up = reasons.iter().filter(|(_, text)| *text == "the agent answers nothing after `initialize`");
    assert!(given_up.count() > 8, "{reasons:?}");
    assert!(not_passed(&silent).iter().any(|(_, text)| text.contains("does not answer")));

    let ended = examined_within(&["reply-and-exit", "$OK\n", "0"], Duration::from_millis(200), LIMIT);
    let failed = with(&ended, &[CheckVerdict::Fail]);
    assert!(failed.iter().any(|(_, text)| text.contains("ends (exit code 0) instead of answering")), "{failed:?}");

    let flooding = format!("$OK\n{}", "x\n".repeat(10));
    let flooded = examined_within(&["reply", &flooding], Duration::from_millis(200), LIMIT);
    let stdout = not_passed(&flooded).into_iter().find(|(id, _)| *id == "protocol/stdout").unwrap().1.to_owned();
    assert!(stdout.starts_with("the agent writes a line to stdout that is not a message: `x` (and "), "{stdout}");
}

/// Checks that start an agent themselves wait as long as those for which it is started: a slow start is no fault.
#[cfg(unix)]
#[test]
fn an_agent_that_starts_slowly_later_passes_all_the_same() {
    const OWN: [&str; 3] = ["protocol/before-initialize", "protocol/client-capabilities", "protocol/version"];
    let folder = tempfile::tempdir().unwrap();
    let mut plan = ExaminationPlan::up_to(Level::Protocol);
    plan.only = |check| OWN.contains(&check.id);
    let examination = planned_with(&["played", ""], Duration::from_secs(2), &plan, |launch| {
        let script = "[ ! -e \"$0\" ] || sleep 3; : > \"$0\"; exec \"$@\"";
        let state = folder.path().join("started");
        let fake_agent = std::mem::replace(&mut launch.program, "/bin/sh".into());
        launch.arguments.splice(0..0, ["-c".into(), script.into(), state.into(), fake_agent]);
    });
    let passed = with(&examination, &[CheckVerdict::Pass]);
    assert_eq!(passed.iter().map(|(id, _)| *id).collect::<Vec<_>>(), OWN, "{examination:?}");
}

#[test]
fn parameters_of_methods_that_an_agent_does_not_know_are_not_judged() {
    let unknown = r#"agent {"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"Method not found"}}"#;
    let exchange = format!(
        "client {{\"id\":2,\"method\":\"session/new\",\"params\":{{\"cwd\":7}}}}\n{unknown}\n\
         client {{\"id\":2,\"method\":\"session/prompt\",\"params\":{{\"sessionId\":7}}}}\n{unknown}"
    );
    let mut plan = ExaminationPlan::up_to(Level::Protocol);
    plan.only = |check| check.id == "protocol/wrong-params";
    let examination = planned_with(&["played", &exchange], Duration::from_secs(2), &plan, |_| ());
    let [(_, reason)] = with(&examination, &[CheckVerdict::NotExercised])[..] else { panic!("{examination:?}") };
    assert!(reason.starts_with("the agent knows neither `session/new` nor `session/prompt`"), "{reason}");
}

#[test]
fn nothing_is_tried_once_the_time_is_over() {
    let examination = examined_within(&["played", ""], Duration::from_secs(2), Duration::ZERO);
    assert_eq!(examination.reached, Some(Level::Handshake));
    let reasons = with(&examination, &[CheckVerdict::NotExercised]);
    assert_eq!(reasons.len(), examination.checks.len());
    let is_known = |text: &str| text.contains("time limit of 0 s") || text.contains("could not be started again");
    assert!(reasons.iter().all(|(_, text)| is_known(text)), "{reasons:?}");
}

#[test]
fn an_agent_that_does_not_answer_is_not_examined() {
    for case in
        [&["silent"][..], &["exit", "3"], &["flood", "x\\n", "20000"], &["reply-and-exit", "\u{1b}[2J\u{0}\n", "0"]]
    {
        let examination = examined_within(case, Duration::from_millis(200), LIMIT);
        assert_eq!(examination.reached, None, "{case:?}");
        let reason = "the agent did not answer `initialize`";
        assert!(examination.checks.iter().all(|examined| examined.verdict == CheckVerdict::NotExercised), "{case:?}");
        assert!(examination.checks.iter().all(|examined| examined.message.as_deref() == Some(reason)), "{case:?}");
    }
}
