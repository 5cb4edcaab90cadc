//! `bump --verify --level`: examines the versions before and after.
#![cfg(unix)]

use serde_json::{Value, json};

use crate::server::{Server, not_found, ok};
use crate::support::{ICON, Run};
use crate::verify::Verify;

/// An exchange in which the agent returns the protocol version of the client.
const ECHO: &str = "client {\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":65535}}\n\
                    agent {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":65535}}";

/// A registry with these agents at version 1.0.0, and a package registry that has 1.1.0.
fn with(ids: &[&str]) -> (Verify, Server) {
    let verify = Verify::new();
    verify.env.write("exchange", ECHO);
    for id in ids {
        verify.npx(id, &[]);
        verify.env.write(&format!("r/{id}/icon.svg"), ICON);
    }
    let release = json!({ "bin": "a.js", "dist": { "integrity": "sha512-x" } });
    let package =
        json!({ "dist-tags": { "latest": "1.1.0" }, "versions": { "1.0.0": release, "1.1.0": release } }).to_string();
    let server =
        Server::answering(move |asked| if asked.path.starts_with("/npm/") { ok(package.clone()) } else { not_found() });
    (verify, server)
}

fn bump(verify: &Verify, server: &Server, flags: &[&str]) -> Run {
    let arguments = [&["--allow-host", server.host.as_str(), "bump", "--no-cache"], flags].concat();
    let run = Run::of(verify.program(&arguments).env("ACP_REGISTRY_NPM", server.url("/npm")));
    verify.assert_clean();
    run
}

fn document(verify: &Verify, server: &Server) -> Value {
    let run = bump(verify, server, &["--verify", "--level", "protocol", "--json"]);
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error} {}", run.stderr))
}

/// The packages that were installed.
fn installed(verify: &Verify) -> Vec<String> {
    let calls = std::fs::read_to_string(verify.env.path("calls")).unwrap_or_default();
    let mut calls: Vec<String> = calls.lines().map(ToOwned::to_owned).collect();
    calls.sort();
    std::fs::remove_file(verify.env.path("calls")).unwrap();
    calls
}

#[test]
fn a_level_needs_verify() {
    let (verify, server) = with(&["worse"]);
    let run = bump(&verify, &server, &["--level", "protocol"]);
    assert!(run.code == 2 && run.stderr.contains("--verify"), "{}", run.stderr);
}

#[test]
fn a_check_that_passed_and_fails_needs_a_review() {
    let (verify, server) = with(&["worse", "better"]);
    let report = document(&verify, &server);
    let updates = report["updates"].as_array().unwrap();
    let found: Vec<_> = updates.iter().map(|update| (&update["id"], &update["straightforward"])).collect();
    assert_eq!(found, [(&json!("better"), &json!(true)), (&json!("worse"), &json!(false))], "{report:#}");
    let message = "the agent claims to support version 65535 of the protocol";
    let reason = format!("the check protocol/version passed with 1.0.0 (npx), and fails now: {message}");
    assert_eq!(updates[1]["reasons"], json!([reason]));
    let change = |before: &str, after: &str, message: Value| json!([{ "check": "protocol/version", "before": before, "after": after, "message": message }]);
    assert_eq!(updates[1]["examinations"][0]["changes"], change("pass", "fail", json!(message)));
    assert_eq!(updates[0]["examinations"][0]["changes"], change("fail", "pass", Value::Null));
    assert_eq!(updates[0]["examinations"][0]["before"]["failed"], 1);
    assert_eq!(updates[0]["examinations"][0]["after"]["failed"], 0);
    assert_eq!(installed(&verify), ["better@1.0.0", "better@1.1.0", "worse@1.0.0", "worse@1.1.0"]);
    // Without a level, only the new versions are started.
    let run = bump(&verify, &server, &["--verify", "--json"]);
    assert!(!run.stdout.contains("examinations"), "{}", run.stdout);
    assert_eq!(installed(&verify), ["better@1.1.0", "worse@1.1.0"]);
}

#[test]
fn the_snapshot_of_the_registry_saves_the_examination_of_the_version_before() {
    let (verify, server) = with(&["worse"]);
    verify.json(&["--level", "protocol", "--out", "r/capabilities.json"]);
    installed(&verify);
    let report = document(&verify, &server);
    assert_eq!(report["updates"][0]["straightforward"], false, "{report:#}");
    assert_eq!(installed(&verify), ["worse@1.1.0"]);
    // Another version, or a lower level, is no replacement.
    let text = verify.env.read("r/capabilities.json");
    for (from, to) in
        [("\"version\": \"1.0.0\"", "\"version\": \"0.9.0\""), ("\"level\": \"protocol\"", "\"level\": \"handshake\"")]
    {
        assert!(text.contains(from));
        verify.env.write("r/capabilities.json", text.replace(from, to));
        let report = document(&verify, &server);
        assert_eq!(report["updates"][0]["straightforward"], false, "{report:#}");
        assert_eq!(installed(&verify), ["worse@1.0.0", "worse@1.1.0"], "{from}");
    }
}

#[test]
fn a_version_before_that_cannot_be_started_is_told_and_stops_nothing() {
    let (verify, server) = with(&["better"]);
    // The fake npm cannot install 1.0.0 any more.
    let npm = verify.env.read("bin/npm");
    verify.env.write(
        "bin/npm",
        npm.replacen("case $name in", "case $spec in better@1.0.0) exit 1 ;; esac\ncase $name in", 1),
    );
    let report = document(&verify, &server);
    let update = &report["updates"][0];
    assert_eq!((&report["errors"], &update["straightforward"]), (&json!([]), &json!(true)), "{report:#}");
    assert_eq!(
        (&update["examinations"][0]["before"], &update["examinations"][0]["changes"]),
        (&Value::Null, &json!([]))
    );
}
