//! Examinations in `capabilities.json`: what is recorded, kept, reused and merged.
#![cfg(unix)]

use serde_json::{Value, json};

use crate::merge::{self, MERGE};
use crate::support::Env;
use crate::verify::Verify;

/// An exchange in which the agent returns the protocol version of the client.
const ECHO: &str = "client {\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":65535}}\n\
                    agent {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":65535}}";

fn snapshot(verify: &Verify) -> Value {
    let snapshot: Value = serde_json::from_str(&verify.env.read("c.json")).unwrap();
    let schema: Value = serde_json::from_str(acp_registry::verify::SCHEMA).unwrap();
    let validator = jsonschema::draft7::new(&schema).unwrap();
    let errors: Vec<String> = validator.iter_errors(&snapshot).map(|error| error.to_string()).collect();
    assert_eq!(errors, [] as [String; 0]);
    snapshot
}

fn reused(verify: &Verify, flags: &[&str]) -> Value {
    let (_, document) = verify.json(&[&["--reuse", "c.json"], flags].concat());
    document["summary"]["reused"].clone()
}

fn check<'a>(examination: &'a Value, id: &str) -> &'a Value {
    examination["checks"].as_array().unwrap().iter().find(|check| check["id"] == id).unwrap()
}

#[test]
fn without_an_examination_a_row_has_no_member_for_it() {
    let verify = Verify::new();
    verify.npx("good", &["ok"]).npx("silent", &["silent"]);
    verify.json(&["--timeout", "1", "--out", "c.json"]);
    assert!(!verify.env.read("c.json").contains("examination"));
    snapshot(&verify);
}

#[test]
fn a_row_records_the_examination_and_a_lesser_run_keeps_it() {
    let verify = Verify::new();
    verify.npx("echo", &["played", ECHO]);
    verify.json(&["--level", "protocol", "--out", "c.json"]);
    let row = snapshot(&verify)["agents"][0].clone();
    let examination = &row["examination"];
    let head = ["level", "reached", "model", "network", "version", "examined_at"].map(|name| &examination[name]);
    let [protocol, version] = [json!("protocol"), json!("1.0.0")];
    assert_eq!(head, [&protocol, &protocol, &json!(null), &json!("none"), &version, &row["checked_at"]]);
    assert!(examination["platform"].as_str().unwrap().contains('-'), "{}", examination["platform"]);
    let failed = check(examination, "protocol/version");
    assert_eq!((&failed["result"], &failed["force"]), (&json!("fail"), &json!("must")));
    assert_eq!(failed["message"], "the agent claims to support version 65535 of the protocol");
    assert!(failed["duration_seconds"].is_f64());

    // A handshake renews the row, and not the examination.
    let old = verify.env.read("c.json").replacen(row["checked_at"].as_str().unwrap(), "2026-01-01T00:00:00Z", 2);
    verify.env.write("c.json", old);
    let examination = &snapshot(&verify)["agents"][0]["examination"];
    verify.json(&["--out", "c.json"]);
    let renewed = snapshot(&verify)["agents"][0].clone();
    assert_eq!(&renewed["examination"], examination);
    assert_ne!(renewed["checked_at"], "2026-01-01T00:00:00Z");
    assert_eq!(renewed["examination"]["examined_at"], "2026-01-01T00:00:00Z");
    // A new version has not been examined.
    let text = verify.env.read("r/echo/agent.json").replace("1.0.0", "1.1.0");
    verify.env.write("r/echo/agent.json", text);
    verify.json(&["--out", "c.json"]);
    assert_eq!(snapshot(&verify)["agents"][0]["examination"], Value::Null);
}

#[test]
fn a_row_is_reused_if_it_was_examined_far_enough_and_meets_what_is_required() {
    let verify = Verify::new();
    verify.npx("echo", &["played", ECHO]);
    verify.json(&["--out", "c.json"]);
    assert_eq!(reused(&verify, &["--level", "protocol"]), 0);
    verify.json(&["--level", "protocol", "--out", "c.json"]);
    assert_eq!(reused(&verify, &["--level", "sessions"]), 0);
    assert_eq!(reused(&verify, &["--require", "protocol"]), 0);
    assert_eq!(reused(&verify, &["--level", "protocol", "--reuse-max-age", "0s"]), 0);
    let (_, document) = verify.json(&["--reuse", "c.json", "--level", "protocol"]);
    assert_eq!(document["summary"]["reused"], 1);
    let examination = &document["results"][0]["examination"];
    assert_eq!(check(examination, "protocol/version")["result"], "fail");
    // The results of an earlier run are in reports, too.
    let run = verify.run(&["--reuse", "c.json", "--level", "protocol", "--format", "junit"]);
    assert!(run.stdout.contains("claims to support version 65535"), "{}", run.stdout);
    let mut old = snapshot(&verify);
    old["agents"][0]["examination"]["examined_at"] = json!("2001-01-01T00:00:00Z");
    verify.env.write("c.json", old.to_string());
    assert_eq!(reused(&verify, &["--level", "protocol"]), 0);
    assert_eq!(reused(&verify, &[]), 1);
}

fn examined(id: &str, level: &str, at: &str) -> Value {
    let mut row = merge::row(id);
    row["examination"] = json!({
        "examined_at": at, "version": "1.0.0", "platform": "linux-x86_64", "level": level, "reached": level,
        "model": null, "network": "none",
        "checks": [{ "id": "protocol/ids", "result": "pass", "force": "must", "spec": "protocol/v1/overview",
                     "message": null, "duration_seconds": 0.1 }],
        "summary": { "passed": 1, "failed": 0, "warnings": 0, "not_exercised": 0 },
    });
    row
}

const OLD: &str = "2026-01-01T00:00:00Z";
const NEW: &str = "2026-01-02T00:00:00Z";

fn forged(name: &str, value: Value) -> Value {
    let mut row = examined("a", "protocol", NEW);
    row["examination"][name] = value;
    row
}

#[test]
fn a_part_with_a_forged_examination_is_refused() {
    let env = merge::env();
    let check = |name: &str, value: Value| {
        let mut row = examined("a", "protocol", NEW);
        row["examination"]["checks"][0][name] = value;
        row
    };
    for row in [
        forged("examined_at", json!("9001-01-01T00:00:00Z")),
        forged("level", json!("perfect")),
        forged("reached", json!(7)),
        forged("checks", json!({})),
        forged("checks", json!(vec![examined("a", "protocol", NEW)["examination"]["checks"][0].clone(); 1001])),
        forged("summary", json!("all passed")),
        check("result", json!("excellent")),
        check("message", json!("x".repeat(502))),
        check("duration_seconds", json!(-1)),
    ] {
        merge::part(&env, 1, &[row.clone(), merge::row("c")]);
        let run = env.run(&MERGE);
        assert_eq!(run.code, 4, "{}: {}", row["examination"], run.stderr);
    }
}

#[test]
fn merging_keeps_what_went_further() {
    let of = |env: &Env, id: usize| -> (Value, Value) {
        let merged: Value = serde_json::from_str(&env.read("out.json")).unwrap();
        let examination = &merged["agents"][id]["examination"];
        (examination["reached"].clone(), examination["examined_at"].clone())
    };
    let env = merge::env();
    let rows = ["a", "b", "c", "d"].map(|id| examined(id, "protocol", OLD));
    env.write("out.json", json!({ "schema": 1, "agents": rows }).to_string());
    merge::part(&env, 1, &[merge::row("a"), examined("c", "handshake", NEW)]);
    merge::part(&env, 2, &[examined("b", "turns", NEW), merge::row("d")]);
    assert_eq!(env.run(&MERGE).code, 0);
    let kept = (json!("protocol"), json!(OLD));
    assert_eq!([of(&env, 0), of(&env, 2), of(&env, 3)], [kept.clone(), kept.clone(), kept]);
    assert_eq!(of(&env, 1), (json!("turns"), json!(NEW)));
    // The examination of another version is not kept.
    let mut earlier = examined("d", "protocol", OLD);
    (earlier["version"], earlier["examination"]["version"]) = (json!("0.9.0"), json!("0.9.0"));
    env.write("out.json", json!({ "schema": 1, "agents": [earlier] }).to_string());
    assert_eq!(env.run(&MERGE).code, 0);
    assert_eq!(of(&env, 3), (Value::Null, Value::Null));
}
