//! The behaviours of the fake agent, and the outcome of each.

#[cfg(target_os = "linux")]
use std::path::Path;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use acp_registry::handshake::{FailReason, Probe, TypeSource, Verdict};
#[cfg(unix)]
use acp_registry::host::process::How;
use serde_json::{Value, json};

use crate::agent::{check_case, check_with};

/// A line with a response to `initialize` that has this result.
fn response(result: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{result}}}\n")
}

/// A case with its arguments, the expected reason (`None` if it passes), and a part of the message or, if it passes, of a
/// warning (empty if there is none).
type Row = (Vec<String>, Option<FailReason>, &'static str);

fn rows() -> Vec<Row> {
    use FailReason::{
        AgentError, Exited, InvalidResponse, NoAuthMethods, NoSupportedAuthType, ProtocolVersion, SpawnFailed, Timeout,
    };

    let row = |case: &[&str], reason, text| (case.iter().map(ToString::to_string).collect(), reason, text);
    let reply = |text: &str, reason, message| row(&["reply", text], reason, message);
    let result = |result: Value, reason, message| reply(&response(&result.to_string()), reason, message);
    let methods = |methods: Value| json!({ "protocolVersion": 1, "authMethods": methods });
    let method = json!([{ "id": "a", "name": "A" }]);
    let version = |version: Value| json!({ "protocolVersion": version, "authMethods": method });

    let deep = response(&format!("{}1{}", "[".repeat(10_000), "]".repeat(10_000)));
    vec![
        // Answers in any pieces.
        row(&["ok"], None, ""),
        row(&["bytewise", "$OK\n"], None, ""),
        reply("{\"jsonrpc\":\"2.0\",\"method\":\"_x\"}\n$OK\n", None, ""),
        reply("$OK\n{\"jsonrpc\":\"2.0\",\"method\":\"_x\"}\n", None, ""),
        reply("[{\"jsonrpc\":\"2.0\",\"method\":\"_x\"},$OK]\n", Some(InvalidResponse), "messages in an array"),
        reply("[{\"jsonrpc\":\"2.0\",\"method\":\"_x\"}]\n$OK\n", Some(InvalidResponse), "messages in an array"),
        row(&["ask-first"], None, ""),
        reply("\n \n$OK\n", None, ""),
        reply("$OK\r\n", None, ""),
        reply("\u{feff}$OK\n", None, "byte order mark"),
        reply(
            "\u{1b}[31mhello\n$OK\n",
            None,
            "wrote 1 line that is not JSON-RPC to stdout before the response: `\\u{1b}[31mhello`",
        ),
        reply("{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}\n$OK\n", None, "belongs to no request"),
        reply(
            "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"x\"}}\n$OK\n",
            None,
            "belongs to no request",
        ),
        row(&["stderr", "200000"], None, ""),
        row(&["reply-and-exit", "$OK", "0"], None, "without a line end"),
        row(&["reply-and-exit", "$OK\n", "3"], None, "ended (exit code 3) after `session/new`"),
        row(&["late", "300"], None, ""),
        // Silence.
        row(&["silent"], Some(Timeout), "did not answer `initialize` within 1 s"),
        row(&["deaf"], Some(Timeout), "within 1 s"),
        row(&["late", "2000"], Some(Timeout), "within 1 s"),
        reply("{\"jsonrpc\":", Some(Timeout), "it stopped in the middle of a line: `{\"jsonrpc\":`"),
        reply("$OK", Some(Timeout), "it wrote a message without the line end"),
        row(&["flood-stderr"], Some(Timeout), "within 1 s"),
        row(&["exit", "0"], Some(Exited), "(exit code 0)"),
        row(&["exit", "1", "\u{1b}boom"], Some(Exited), "(exit code 1): `boom`"),
        row(&["reply-and-exit", "oops\n", "0"], Some(Exited), "(exit code 0): `oops`"),
        row(&["crash"], Some(Exited), "(signal 6, SIGABRT)"),
        row(&["closes-stdout"], Some(InvalidResponse), "closed its stdout without an answer, and went on running"),
        row(&["orphan", "sleep"], Some(Exited), "(exit code 0)"),
        row(&["orphan", "setsid"], Some(Exited), "(exit code 0)"),
        // Too much output.
        row(&["flood", "x", "20000"], Some(InvalidResponse), "more than 1 MiB to stdout without a line end"),
        row(&["flood", "x\\n", "20000"], Some(InvalidResponse), "more than 16 MiB to stdout without an answer"),
        row(
            &["flood", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"fs/x\"}\\n", "0"],
            Some(InvalidResponse),
            "more than 10000 messages",
        ),
        row(&["reply", &deep], Some(InvalidResponse), "nested more than 128 levels deep"),
        result(json!({ "protocolVersion": 1, "authMethods": method, "x": "$LARGE" }), None, ""),
        result(json!({ "x": "$LARGE$LARGE" }), Some(InvalidResponse), "more than 1 MiB"),
        // Invalid answers.
        reply(
            "{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"result\":{}}\n",
            Some(InvalidResponse),
            "has the id `\"1\"`, a string",
        ),
        reply("{\"jsonrpc\":\"2.0\",\"id\":999,\"result\":{}}\n", Some(InvalidResponse), "has the id `999`"),
        reply(
            "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"no\"}}\n",
            Some(AgentError),
            "without naming the request, with error -32700: `no`",
        ),
        reply(
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32603,\"message\":\"no\"}}\n",
            Some(AgentError),
            "with error -32603: `no`",
        ),
        reply("{\"jsonrpc\":\"2.0\",\"id\":1}\n", Some(InvalidResponse), "has neither `result` nor `error`"),
        reply("{\"id\":1,\"result\":{}}\n", Some(InvalidResponse), "has no member `\"jsonrpc\": \"2.0\"`"),
        result(json!(null), Some(InvalidResponse), "has `result` that is null, not an object"),
        result(json!([]), Some(InvalidResponse), "has `result` that is an array"),
        // Versions.
        result(version(json!(0)), Some(ProtocolVersion), "version 0"),
        result(version(json!(99)), Some(ProtocolVersion), "version 99"),
        result(version(json!("1")), Some(InvalidResponse), "which is a string, not an integer"),
        result(json!({ "authMethods": method }), Some(InvalidResponse), "has no `protocolVersion`"),
        result(version(json!(2)), Some(InvalidResponse), "has `authMethods[0]` without `methodId`"),
        result(
            json!({ "protocolVersion": 2, "info": {}, "authMethods": [{ "methodId": "a", "name": "A", "type": "agent" }] }),
            None,
            "answers version 1 of the protocol with version 2",
        ),
        // Ways to sign in.
        result(json!({ "protocolVersion": 1 }), Some(NoAuthMethods), "there are no `authMethods`"),
        result(methods(json!([])), Some(NoAuthMethods), "`authMethods` is empty"),
        result(methods(json!(null)), Some(InvalidResponse), "has `authMethods` that is null, not an array"),
        result(methods(json!([{}])), Some(InvalidResponse), "has `authMethods[0]` without `id`"),
        result(methods(json!([{ "id": "a" }])), Some(InvalidResponse), "has `authMethods[0]` without `name`"),
        result(
            methods(json!([{ "id": "k", "name": "K", "type": "env_var", "vars": [] }])),
            Some(NoSupportedAuthType),
            "of type `env_var`; a registry requires at least one",
        ),
        result(methods(json!([{ "id": "t", "name": "T", "type": "terminal" }])), None, ""),
        // How the agent ends.
        row(&["ignores-term"], Some(Timeout), "within 1 s"),
        row(&["parent", "sleep"], None, "left 1 process behind"),
        row(&["parent", "setsid"], None, "left 1 process behind"),
        row(&["parent", "ignores-term"], None, "left 1 process behind"),
        row(&["crowd", "40"], None, "left 40 processes behind"),
        row(&["litter"], None, ""),
        row(&["no such program"], Some(SpawnFailed), "there is no such program in PATH"),
    ]
}

/// Whether a case needs features of Unix.
fn is_for_unix(row: &Row) -> bool {
    ["closes-stdout", "orphan", "parent", "crowd", "ignores-term", "crash"].contains(&row.0[0].as_str())
}

fn judge((case, reason, text): &Row) -> Result<(), String> {
    let case: Vec<&str> = case.iter().map(String::as_str).collect();
    // A long limit for agents that answer, in case the machine is busy; a short one for agents that do not answer. Agents
    // whose output the message quotes need time to write it; for an answer with an unknown id, the full limit passes.
    let is_waited_for = *reason == Some(FailReason::Timeout) || text.starts_with("has the id `999`");
    let timeout = match text {
        _ if text.contains("within 1 s") => 1,
        _ if is_waited_for || text.starts_with("without naming") => 10,
        _ => 60,
    };
    let checked = if *reason == Some(FailReason::SpawnFailed) {
        check_with(&[], |launch| launch.program = case[0].into(), |_| ())
    } else {
        check_case(&case, Duration::from_secs(timeout))
    };
    let outcome = &checked.outcome;
    let expected = match reason {
        None => Verdict::Pass,
        Some(FailReason::SpawnFailed) => Verdict::Error,
        Some(_) => Verdict::Fail,
    };
    if (outcome.verdict, outcome.reason) != (expected, *reason) {
        return Err(format!("{:?} {:?} {:?}", outcome.verdict, outcome.reason, outcome.message));
    }
    let message = outcome.message.clone().unwrap_or_default();
    let warnings = &outcome.handshake.warnings;
    let said = if reason.is_some() { message.contains(text) } else { warnings.iter().any(|w| w.contains(text)) };
    if !said && (!text.is_empty() || !warnings.is_empty()) {
        return Err(format!("{message:?} {warnings:?}"));
    }
    if text.is_empty() && !warnings.is_empty() {
        return Err(format!("{warnings:?}"));
    }
    if outcome.message.iter().chain(warnings).any(|text| text.contains(char::is_control)) {
        return Err("control characters in a message".to_owned());
    }
    // The limit, the probes, the end of the agent, and two minutes for a busy machine.
    let most = Duration::from_secs(timeout + 1 + 9 + 120);
    if checked.time > most { Err(format!("took {:?}", checked.time)) } else { Ok(()) }
}

#[test]
fn every_agent_is_judged_rightly_and_nothing_is_left_of_it() {
    let rows: Vec<Row> = rows().into_iter().filter(|row| cfg!(unix) || !is_for_unix(row)).collect();
    let next = Mutex::new(rows.iter());
    let wrong = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                loop {
                    let Some(row) = next.lock().unwrap().next() else { break };
                    if let Err(error) = judge(row) {
                        let case: String = format!("{:?}", row.0).chars().take(200).collect();
                        wrong.lock().unwrap().push(format!("{case}: {error}"));
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[cfg(unix)]
#[test]
fn the_end_is_told_as_it_was() {
    let exit_within = |case: &[&str], seconds| check_case(case, Duration::from_secs(seconds)).outcome.exit.unwrap();
    let exit = |case: &[&str]| exit_within(case, 60);
    let end = exit(&["ok"]);
    assert_eq!((end.how, end.code, end.signal), (How::Exited, Some(0), None));
    let end = exit(&["crash"]);
    assert_eq!((end.how, end.code, end.signal), (How::Signaled, None, Some(6)));
    let end = exit_within(&["deaf"], 1);
    assert_eq!((end.how, end.signal), (How::Terminated, Some(15)));
    // The limit leaves time for the agent to ignore the signal.
    let end = exit_within(&["ignores-term"], 10);
    assert_eq!((end.how, end.signal), (How::Killed, Some(9)));
}

#[test]
fn probes_are_recorded_and_change_no_verdict() {
    let result = json!({
        "protocolVersion": 1,
        "agentCapabilities": {
            "loadSession": true, "providers": {}, "nes": {}, "sessionCapabilities": { "list": {}, "delete": {} }
        },
        "authMethods": [{ "id": "a", "name": "A" }],
        "sessions": "open",
    });
    let outcome =
        check_with(&["result", &result.to_string()], |_| (), |options| options.probe = Some(Duration::from_secs(10)))
            .outcome;
    assert_eq!(outcome.verdict, Verdict::Pass);
    let handshake = outcome.handshake;
    let expected = [
        ("session/new", Probe::Ok),
        ("session/list", Probe::MethodNotFound),
        ("session/load", Probe::ResourceNotFound),
        ("session/delete", Probe::InvalidParams),
        ("providers/list", Probe::Timeout),
        ("nes/start", Probe::AuthRequired),
    ];
    assert_eq!(handshake.probes.iter().collect::<Vec<_>>(), expected);
    assert_eq!(handshake.warnings, ["advertises `session/list`, but answers that there is no such method"]);
    assert!(handshake.features.has("session/config-options/boolean"));
    let session = handshake.session.unwrap();
    assert_eq!((session.modes, session.config_options[0].id.as_str()), (vec!["ask".to_owned()], "o"));
    assert_eq!(handshake.setup_required, None);
    assert_eq!(handshake.extra["sessions"], "open");
}

#[test]
fn all_probes_that_are_not_answered_share_one_limit() {
    const LIMIT: Duration = Duration::from_secs(2);
    let result = json!({
        "protocolVersion": 1,
        "agentCapabilities": {
            "loadSession": true, "providers": {}, "nes": {},
            "sessionCapabilities": { "list": {}, "resume": {}, "fork": {}, "close": {}, "delete": {} },
        },
        "authMethods": [{ "id": "a", "name": "A" }],
    });
    let answer = json!({ "jsonrpc": "2.0", "id": 1, "result": result });
    // Reads everything, and answers nothing after `initialize`.
    let outcome = check_with(&["reply", &format!("{answer}\n")], |_| (), |options| options.probe = Some(LIMIT)).outcome;
    assert_eq!(outcome.verdict, Verdict::Pass);
    let probes: Vec<Probe> = outcome.handshake.probes.iter().map(|(_, probe)| probe).collect();
    assert_eq!(probes, [Probe::Timeout; 9]);
    let start = outcome.timing.start_to_response.unwrap();
    let took = outcome.timing.total.saturating_sub(start);
    // A slow start raises the limit; the agent ends as soon as its stdin is closed.
    let limit = LIMIT.max(start * 3);
    assert!(took >= LIMIT && took < limit * 2, "{took:?} instead of {limit:?}");
}

#[test]
fn an_agent_that_ends_when_it_is_probed_has_passed_all_the_same() {
    let result = json!({ "protocolVersion": 1, "authMethods": [{ "id": "a", "name": "A" }], "sessions": "exit" });
    let outcome = check_case(&["result", &result.to_string()], Duration::from_secs(30)).outcome;
    assert_eq!(outcome.verdict, Verdict::Pass);
    assert_eq!(outcome.handshake.probes.get("session/new"), Some(Probe::Error));
    assert_eq!(outcome.handshake.warnings, ["ended (exit code 7) after `session/new`"]);
}

#[test]
fn an_agent_that_must_be_set_up_first_passes_and_is_told_apart() {
    let result = json!({ "protocolVersion": 1, "authMethods": [{ "id": "a", "name": "A" }], "sessions": "setup" });
    let outcome = check_case(&["result", &result.to_string()], Duration::from_secs(30)).outcome;
    assert_eq!((outcome.verdict, outcome.handshake.probes.get("session/new")), (Verdict::Pass, Some(Probe::Error)));
    let words = "Internal error: The program pi was not found. Install it via `npm install -g pi`";
    assert_eq!(outcome.handshake.setup_required.as_deref(), Some(words));
    // Signing in does not count as setup.
    let outcome = check_case(&["ok"], Duration::from_secs(30)).outcome;
    assert_eq!((outcome.handshake.setup_required, outcome.handshake.session), (None, None));
}

#[test]
fn without_probes_only_initialize_is_sent() {
    let outcome = check_with(&["ok"], |_| (), |options| options.probe = None).outcome;
    assert_eq!(outcome.handshake.probes.iter().count(), 0);
    assert_eq!(outcome.handshake.auth_methods[0].source, TypeSource::Default);
}

#[test]
fn the_requests_of_an_agent_are_counted() {
    let handshake = check_case(&["ask-first"], Duration::from_secs(30)).outcome.handshake;
    assert_eq!(handshake.requests.keys().collect::<Vec<_>>(), ["fs/read_text_file", "session/request_permission"]);
    assert_eq!(handshake.notifications["_note"], 1);
}

#[test]
fn the_end_of_stderr_is_kept() {
    let outcome = check_case(&["stderr", "200000"], Duration::from_secs(30)).outcome;
    assert!(outcome.stderr_tail.len() > 60_000 && outcome.stderr_tail.len() <= 65_536);
    assert!(outcome.stderr_tail.ends_with("e\n"));
}

#[cfg(target_os = "linux")]
#[test]
fn an_agent_has_limits_and_a_session_of_its_own() {
    // Shells and CI runners may leave descriptors open in their children.
    let _open = nix::unistd::dup(std::fs::File::open("/dev/null").unwrap()).unwrap();
    let info = check_case(&["environment"], Duration::from_secs(30)).outcome.handshake.agent_info;
    let text = |name: &str| info[name].as_str().unwrap().to_owned();
    let limits = text("limits");
    let limit = |name: &str| -> Vec<String> {
        let line = limits.lines().find(|line| line.starts_with(name)).unwrap();
        line[name.len()..].split_whitespace().take(2).map(ToOwned::to_owned).collect()
    };
    assert_eq!(limit("Max core file size"), ["0", "0"]);
    let file_size: Vec<u64> = limit("Max file size").iter().map(|number| number.parse().unwrap()).collect();
    assert!(file_size.iter().all(|size| (1..=4 << 30).contains(size)), "{file_size:?}");
    let memory: Vec<u64> = limit("Max data size").iter().map(|number| number.parse().unwrap()).collect();
    assert!(memory.iter().all(|size| (1..=16 << 30).contains(size)), "{memory:?}");
    assert_eq!(text("oom_score_adj"), "1000\n");
    assert_eq!(info["descriptors"], json!(["0", "1", "2"]));
    let status = text("status");
    let of = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim();
    assert_eq!((of("NoNewPrivs:"), of("Umask:")), ("1", "0077"));
    // Fields: process, parent, group, session.
    let stat: Vec<String> = text("stat").split(' ').map(ToOwned::to_owned).collect();
    assert_eq!((&stat[4], &stat[5]), (&stat[0], &stat[0]));
    assert!(
        Path::new(info["environment"]["HOME"].as_str().unwrap())
            .starts_with(info["environment"]["ACP_REGISTRY_SANDBOX"].as_str().unwrap())
    );
}

#[test]
fn a_dropped_check_leaves_nothing() {
    use acp_registry::handshake::{HandshakeOptions, check};
    use acp_registry::host::process::{Environment, Isolation, LaunchSpec};

    let temporary = tempfile::tempdir().unwrap();
    let tag = crate::agent::tag();
    let mut environment = Environment::from_host(std::env::vars_os());
    environment.set("FAKE_AGENT_TAG", &tag);
    let launch = LaunchSpec {
        program: crate::agent::fake_agent().into(),
        arguments: if cfg!(unix) { vec!["orphan".into(), "setsid".into()] } else { vec!["deaf".into()] },
        directory: None,
        environment,
        isolation: Isolation::Environment,
        readable: Vec::new(),
        launcher: Some(crate::support::PROGRAM.into()),
        namespace: None,
    };
    let options = HandshakeOptions::new(temporary.path().to_owned());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let started = async {
            let until = Instant::now() + Duration::from_mins(2);
            // Other systems do not reveal the environment of processes.
            while cfg!(target_os = "linux") && crate::agent::left_with("environ", &tag).is_empty() {
                assert!(Instant::now() < until, "the agent was not started");
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        };
        tokio::select! {
            _ = check(&launch, &options) => (),
            () = started => (),
        }
    });
    assert_eq!(crate::agent::left_with("environ", &tag), [] as [u32; 0]);
    assert_eq!(std::fs::read_dir(temporary.path()).unwrap().count(), 0);
}
