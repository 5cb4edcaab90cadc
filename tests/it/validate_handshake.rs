//! `acp-registry validate --handshake`: the results of started agents as findings.

use std::fs;

use serde_json::{Value, json};

use crate::server::{Server, not_found};
use crate::support::{ICON, Run};
use crate::verify::Verify;

/// The findings of the handshake rules: rule, agent, pointer, message.
fn findings(document: &Value) -> Vec<[&str; 4]> {
    let all = document["findings"].as_array().unwrap().iter();
    let own = all.filter(|finding| finding["rule"].as_str().unwrap().starts_with("handshake/"));
    own.map(|finding| ["rule", "agent", "pointer", "message"].map(|name| finding[name].as_str().unwrap())).collect()
}

fn validate(verify: &Verify, arguments: &[&str]) -> Run {
    let run = Run::of(&mut verify.program(&[&["validate", "--handshake"], arguments].concat()));
    verify.assert_clean();
    run
}

fn document(run: &Run) -> Value {
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {}{}", run.stdout, run.stderr))
}

#[test]
fn every_failure_is_a_finding_at_its_distribution() {
    let verify = Verify::new();
    let variables = r#"{"protocolVersion":1,"authMethods":[{"id":"k","name":"K","type":"env_var"}]}"#;
    let good = r#"{"protocolVersion":1,"authMethods":[{"id":"l","name":"L"}]}"#;
    let advertises = r#"{"protocolVersion":1,"authMethods":[{"id":"l","name":"L"}],"agentCapabilities":{"sessionCapabilities":{"list":{}}}}"#;
    verify.npx("absent", &[]).npx("exits", &["exit", "3", "why\u{1b}[2J"]).npx("silent", &["silent"]);
    verify.npx("variables", &["result", variables]).npx("version", &["result", r#"{"protocolVersion":99}"#]);
    verify.npx("null", &["result", "null"]).npx("lists", &["result", advertises]).npx("good", &["result", good]);
    verify.npx("noisy", &["reply", "hello\n$OK\n"]);
    // The second channel fails, the first does not.
    let mut agent: Value = serde_json::from_str(&crate::support::manifest("two")).unwrap();
    agent["distribution"] = json!({ "npx": verify.package("two@1.0.0", &["ok"]) });
    let uvx = json!({ "uvx": verify.package("two==1.1.0", &["exit", "1", ""]) });
    agent["preview"] = json!({ "version": "1.1.0", "distribution": uvx });
    verify.env.write("r/two/agent.json", agent.to_string());
    let run = validate(&verify, &["--json", "--timeout", "3", "--jobs", "4"]);
    assert_eq!(run.code, 1);
    let document = document(&run);
    let place = "/distribution/npx/package";
    let found = findings(&document);
    let short: Vec<[&str; 3]> = found.iter().map(|[rule, agent, pointer, _]| [*rule, *agent, *pointer]).collect();
    assert_eq!(
        short,
        [
            ["handshake/install-failed", "absent", place],
            ["handshake/no-answer", "exits", place],
            ["handshake/missing-method", "lists", place],
            ["handshake/untidy", "noisy", place],
            ["handshake/invalid-answer", "null", place],
            ["handshake/no-answer", "silent", place],
            ["handshake/no-answer", "two", "/preview/distribution/uvx/package"],
            ["handshake/no-supported-auth", "variables", place],
            ["handshake/protocol-version", "version", place],
        ]
    );
    let message = |agent: &str| found.iter().find(|finding| finding[1] == agent).unwrap()[3];
    assert!(message("exits").contains("exit code 3"), "{}", message("exits"));
    assert!(message("silent").contains("within 3 s"), "{}", message("silent"));
    assert!(message("lists").contains("`session/list`"), "{}", message("lists"));
    let exits = document["findings"].as_array().unwrap().iter().find(|finding| finding["agent"] == "exits").unwrap();
    assert!(exits["line"].is_u64() && exits["level"] == "error");
    // The message has the cause, and the help the remedy.
    let (message, help) = (exits["message"].as_str().unwrap(), exits["help"].as_str().unwrap());
    assert!(message.ends_with("; the end of stderr: `why\\u{1b}[2J`"), "{message}");
    assert!(help.starts_with("`acp-registry verify ") && !help.contains("stderr: "), "{help}");
    let status = |id: &str| {
        let agents = document["agents"].as_array().unwrap();
        agents.iter().find(|agent| agent["id"] == id).unwrap()["status"].as_str().unwrap().to_owned()
    };
    assert_eq!(["good", "lists", "exits"].map(status), ["ok", "ok", "failed"]);
}

#[test]
fn all_forms_show_them_and_none_lets_stderr_out() {
    let verify = Verify::new();
    verify.npx("exits", &["exit", "1", "\u{1b}[2J\u{202e} ::error::x @all <b>"]);
    for (format, part) in [
        ("human", "error[handshake/no-answer]"),
        ("github", "::error file=r/exits/agent.json"),
        ("markdown", "`handshake/no-answer`"),
        ("sarif", "\"ruleId\": \"handshake/no-answer\""),
        ("json", "handshake/no-answer"),
    ] {
        let run = validate(&verify, &["--format", format]);
        assert_eq!(run.code, 1);
        assert!(run.stdout.contains(part), "{format}: {}", run.stdout);
        for text in [&run.stdout, &run.stderr] {
            assert!(!text.contains(|c: char| (c.is_control() && c != '\n') || c == '\u{202e}'), "{format}: {text:?}");
        }
        assert!(format != "markdown" || !crate::support::outside_code(&run.stdout).contains("<b>"), "{}", run.stdout);
        assert!(!run.stdout.lines().any(|line| line.trim_start().starts_with("::error::")), "{}", run.stdout);
    }
}

#[test]
fn agents_in_quarantine_are_skipped_and_counted() {
    let verify = Verify::new();
    verify.npx("good", &["ok"]).npx("held", &["exit", "1", ""]).npx("over", &["exit", "1", ""]);
    for id in ["good", "held", "over"] {
        verify.env.write(&format!("r/{id}/icon.svg"), ICON);
    }
    verify.env.write("r/quarantine.json", r#"{ "held": "x", "over": { "reason": "x", "until": "2001-01-01" } }"#);
    let run = validate(&verify, &["--json"]);
    let report = document(&run);
    assert_eq!((run.code, findings(&report).len()), (0, 0), "{}", run.stdout);
    let note = "not started because they are in quarantine: 2 (`held`, `over`)";
    assert_eq!(report["notes"], json!([note]));
    assert!(run.stderr.contains(note), "{}", run.stderr);
    // Agents in quarantine are not started even if named: a pull request that changes them must not start a known bad
    // agent.
    let run = validate(&verify, &["--json", "held"]);
    assert_eq!(document(&run)["notes"], json!(["not started because they are in quarantine: 1 (`held`)"]));
    // If the list cannot be read, no agent is started.
    verify.env.write("r/quarantine.json", "{");
    let run = validate(&verify, &["--json"]);
    assert_eq!(run.code, 1);
    // That finding is not reported for selected agents.
    let run_of_one = validate(&verify, &["--json", "good"]);
    assert_eq!((run_of_one.code, &document(&run_of_one)["error"]["exit_code"]), (3, &json!(3)));
    let note = document(&run)["notes"][0].to_string();
    let expected = "no agent was started, because the quarantine list cannot be used: quarantine.json:1:";
    assert!(note.contains(expected), "{note}");
}

#[test]
fn only_the_selected_agents_are_started_and_rules_have_levels() {
    let verify = Verify::new();
    verify.npx("one", &["exit", "1", ""]).npx("two", &["exit", "1", ""]);
    verify.env.write("r/one/icon.svg", ICON);
    let run = validate(&verify, &["--json", "one"]);
    assert_eq!(findings(&document(&run)).iter().map(|finding| finding[1]).collect::<Vec<_>>(), ["one"]);
    let finding = &document(&run)["findings"][0];
    assert!(finding["help"].as_str().unwrap().starts_with("`acp-registry verify one` starts it again"), "{finding}");
    assert!(run.stderr.contains("1 of 1: one (npx) fail, exited\n"), "{}", run.stderr);
    let run = validate(&verify, &["--json", "one", "--warn", "handshake/no-answer"]);
    assert_eq!((run.code, &document(&run)["summary"]["warnings"]), (0, &1.into()));
    let run = validate(&verify, &["--json", "one", "--allow", "handshake/*"]);
    assert_eq!((run.code, findings(&document(&run)).len()), (0, 0));
}

#[test]
fn flags_that_mean_nothing_and_machines_that_can_do_nothing_are_told() {
    let verify = Verify::new();
    verify.npx("one", &["ok"]);
    for flags in [&["--jobs", "2"][..], &["--timeout", "3"], &["--install-timeout", "3"], &["--sandbox", "bwrap"]] {
        let run = Run::of(&mut verify.program(&[&["validate", "--urls"], flags].concat()));
        assert!(run.code == 2 && run.stderr.contains("need --handshake or --all"), "{flags:?}: {}", run.stderr);
    }
    fs::create_dir(verify.env.path("empty")).unwrap();
    let mut command = verify.program(&["validate", "--handshake", "--json"]);
    let run = Run::of(command.env("PATH", verify.env.path("empty")));
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert_eq!(findings(&document(&run))[0][0], "handshake/missing-runtime");
    let mut command = verify.program(&["validate", "--handshake", "--sandbox", "bwrap"]);
    let run = Run::of(command.env("PATH", verify.env.path("bin")));
    assert!(run.code == 3 && run.stderr.contains("install bubblewrap"), "{}", run.stderr);
}

#[test]
fn all_is_addresses_archives_and_handshake_and_says_nothing_twice() {
    let Some(host) = acp_registry::manifest::Platform::host() else { return };
    let verify = Verify::new();
    let archive = crate::archives::gz(&crate::archives::tar(&[("x", b"#!/bin/sh\n")]));
    let server =
        Server::answering(
            move |asked| {
                if asked.path == "/1.0.0/a.tgz" { crate::server::ok(archive.clone()) } else { not_found() }
            },
        );
    let target = json!({
        "archive": server.url("/1.0.0/a.tgz"), "cmd": "./agent", "sha256": "0".repeat(64),
        "env": { "FAKE_AGENT_TAG": verify.tag },
    });
    verify.agent("digest", &json!({ "binary": { host.as_str(): target } }));
    let mut command = verify.program(&["validate", "--json", "--all", "--allow-host", &server.host]);
    let run = Run::of(&mut command);
    let report = document(&run);
    let rules: Vec<&str> =
        report["findings"].as_array().unwrap().iter().map(|finding| finding["rule"].as_str().unwrap()).collect();
    assert!(rules.contains(&"archive/digest-mismatch") && rules.contains(&"archive/cmd-not-found"), "{rules:?}");
    assert!(!rules.iter().any(|rule| rule.starts_with("handshake/")), "{rules:?}");
    // Without the other checks, it is reported here.
    let run = validate(&verify, &["--json", "--allow-host", &server.host]);
    let report = document(&run);
    let [rule, _, pointer, message] = findings(&report)[0];
    assert_eq!(
        (rule, pointer),
        ("handshake/install-failed", &*format!("/distribution/binary/{host}/cmd", host = host.as_str()))
    );
    assert!(message.contains("has the SHA-256"), "{message}");
}
