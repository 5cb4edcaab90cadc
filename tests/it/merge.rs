//! `verify --merge`: merges snapshots of parts, any of which a hostile agent may have written.

use serde_json::{Value, json};
use time::OffsetDateTime;

use crate::support::Env;

pub(crate) fn row(id: &str) -> Value {
    json!({
        "id": id, "version": "1.0.0", "channel": "stable", "distribution": "npx", "verdict": "pass", "reason": null,
        "checked_at": "2026-01-01T00:00:00Z", "isolation": "environment",
        "timing": { "install_seconds": 1.0, "start_to_response_seconds": 0.5, "total_seconds": 1.0 },
        "protocol_version": 1, "agent_info": null, "auth_methods": [], "features": { "session/load": true },
        "capabilities": {}, "extra": {}, "probes": {}, "warnings": [],
    })
}

/// A registry with four agents, checked by two machines: `a` and `c`, `b` and `d`.
pub(crate) fn env() -> Env {
    let env = Env::with(&["a", "b", "c", "d"]);
    part(&env, 1, &[row("a"), row("c")]);
    part(&env, 2, &[row("b"), row("d")]);
    env
}

pub(crate) fn part(env: &Env, number: usize, rows: &[Value]) {
    env.write(&format!("{number}.json"), json!({ "schema": 1, "agents": rows }).to_string());
}

pub(crate) const MERGE: [&str; 7] = ["verify", "--merge", "1/2=1.json", "--merge", "2/2=2.json", "--out", "out.json"];

fn ids(env: &Env) -> Vec<String> {
    let snapshot: Value = serde_json::from_str(&env.read("out.json")).unwrap();
    snapshot["agents"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn parts_become_one_snapshot() {
    let env = env();
    let (code, report) = env.json(&MERGE);
    assert_eq!((code, &report["merged"]), (0, &json!({ "taken": 4, "unknown": [] })), "{report:#}");
    let snapshot: Value = serde_json::from_str(&env.read("out.json")).unwrap();
    assert_eq!(snapshot, json!({ "schema": 1, "agents": [row("a"), row("b"), row("c"), row("d")] }));
    // Unknown members of a row are not published.
    let mut more = row("b");
    more["note"] = json!("<script>");
    part(&env, 2, &[more, row("d")]);
    assert_eq!(env.run(&MERGE).code, 0);
    assert_eq!(serde_json::from_str::<Value>(&env.read("out.json")).unwrap(), snapshot);
}

#[test]
fn a_part_speaks_for_its_own_agents_only() {
    let with = |name: &str, value: Value| {
        let mut row = row("b");
        row[name] = value;
        row
    };
    for (rows, message) in [
        (vec![row("b"), row("d"), row("a")], "`a` `1.0.0` (`npx`) belongs to another part"),
        (vec![row("b"), row("b")], "two rows of `b`"),
        (vec![row("nobody")], "`nobody` `1.0.0`"),
        (vec![with("distribution", json!("uvx"))], "`b` `1.0.0` (`uvx`) belongs"),
        (vec![with("version", json!("9.9.9"))], "`b` `9.9.9`"),
        (vec![with("channel", json!("preview"))], "belongs to another part"),
        (vec![with("features", json!("all"))], "does not conform to the snapshot's schema at `/agents/0/features`"),
        (vec![with("checked_at", json!("2999-01-01T00:00:00Z"))], "is not a time in the past"),
        (vec![with("checked_at", json!("soon"))], "is not a time in the past"),
        (vec![with("warnings", json!(["x".repeat(2 << 20)]))], "longer than"),
        (vec![with("id", json!("b\u{202e}\u{1b}[31m"))], "\\u{202e}"),
    ] {
        let env = env();
        env.write("out.json", "{\"schema\":1,\"agents\":[]}");
        part(&env, 2, &rows);
        let run = env.run(&MERGE);
        assert_eq!(run.code, 4, "{message}: {}", run.stderr);
        assert!(run.stderr.contains("part 2/2") && run.stderr.contains(message), "{message}: {}", run.stderr);
        assert_eq!(env.read("out.json"), "{\"schema\":1,\"agents\":[]}", "nothing is written");
    }
    let env = env();
    env.write("2.json", "<html>");
    assert_eq!(env.run(&MERGE).code, 4);
}

#[test]
fn parts_of_a_run_that_began_on_the_day_before_are_merged() {
    // Agents in quarantine without an end are checked on one day of the week, by their id.
    let today = OffsetDateTime::now_utc().date();
    let due = |days: i64| {
        let day = i64::from((today - time::Duration::days(days)).to_julian_day());
        let id = (b'a'..=b'g').find(|id| (day + i64::from(*id)).rem_euclid(7) == 0).unwrap();
        char::from(id).to_string()
    };
    for (days, code) in [(0, 0), (1, 0), (3, 4)] {
        let id = due(days);
        let env = Env::with(&[&id, "z"]);
        env.write("r/quarantine.json", json!({ &id: "x" }).to_string());
        part(&env, 1, &[row(&id), row("z")]);
        let run = env.run(&["verify", "--merge", "1/1=1.json", "--out", "out.json"]);
        assert_eq!(run.code, code, "{days}: {}", run.stderr);
    }
}

#[test]
fn an_outage_says_nothing_of_an_agent() {
    let env = env();
    let mut down = row("b");
    (down["verdict"], down["reason"], down["features"]) = (json!("error"), json!("install_failed"), json!({}));
    part(&env, 2, &[down]);
    let (code, report) = env.json(&MERGE);
    let run = env.run(&[&MERGE[..], &["--output", "json=report.json"]].concat());
    assert!(run.code == 0 && run.stdout.contains("from 2 parts"), "{}", run.stderr);
    assert_eq!(serde_json::from_str::<Value>(&env.read("report.json")).unwrap()["merged"], report["merged"]);
    let run = env.run(&[&MERGE[..], &["--format", "sarif"]].concat());
    let refusal = "error: --merge has no result in the form sarif\nhelp: name human, markdown or json\n";
    assert_eq!((run.code, run.stderr.as_str()), (2, refusal));
    let unknown = |id: &str, reason: &str, has_row: bool| json!({ "id": id, "distribution": "npx", "reason": reason, "has_row": has_row });
    assert_eq!((code, &report["merged"]["taken"]), (0, &json!(2)));
    let expected = json!([unknown("b", "install_failed", false), unknown("d", "no_row", false)]);
    assert_eq!((&report["merged"]["unknown"], ids(&env)), (&expected, vec!["a".to_owned(), "c".to_owned()]));

    // Earlier rows are kept, even of an earlier version; rows of removed agents are dropped.
    let mut earlier = row("b");
    earlier["version"] = json!("0.9.0");
    env.write("out.json", json!({ "schema": 1, "agents": [earlier, row("d"), row("gone")] }).to_string());
    let (code, report) = env.json(&MERGE);
    let expected = json!([unknown("b", "install_failed", true), unknown("d", "no_row", true)]);
    assert_eq!((code, &report["merged"]["unknown"]), (0, &expected));
    let told = env.run(&MERGE).stdout;
    assert!(told.contains("d (npx) has no row in its part; the earlier row stays\n"), "{told}");
    assert_eq!(ids(&env), ["a", "b", "c", "d"]);
    assert!(env.read("out.json").contains("0.9.0"));

    // A missing part counts as having no results.
    std::fs::remove_file(env.path("1.json")).unwrap();
    let run = env.run(&MERGE);
    assert!(run.code == 0 && run.stderr.contains("part 1/2 has no file"), "{}", run.stderr);
    assert_eq!(ids(&env), ["a", "b", "c", "d"]);
}

#[test]
fn parts_are_named_once_and_alike() {
    let env = env();
    for arguments in [
        &["--merge", "1/2=1.json", "--merge", "1/2=1.json"][..],
        &["--merge", "1/2=1.json", "--merge", "2/3=2.json"],
        &["--merge", "1.json"],
        &["--merge", "3/2=1.json"],
        &["--merge", "1/2=1.json", "a"],
        &["--merge", "1/2=1.json", "--shard", "1/2"],
    ] {
        assert_eq!(env.run(&[&["verify", "--out", "out.json"], arguments].concat()).code, 2, "{arguments:?}");
    }
    for (part, missing) in [("2/3=2.json", "lacks parts 1/3, 3/3\n"), ("1/2=1.json", "lacks part 2/2\n")] {
        let run = env.run(&["verify", "--out", "out.json", "--merge", part]);
        assert!(run.code == 2 && run.stderr.contains(missing), "{part}: {}", run.stderr);
    }
    assert_eq!(env.run(&["verify", "--merge", "1/1=1.json"]).code, 2, "without --out");
    assert!(!env.path("out.json").exists());
}

/// All parts and the merge must divide the agents alike: by the durations in the registry's own snapshot.
#[test]
fn parts_are_divided_by_the_durations_of_the_last_snapshot() {
    let env = env();
    let measured = |id: &str, seconds: u32| {
        let mut row = row(id);
        row["timing"]["install_seconds"] = json!(seconds);
        row
    };
    let rows = [measured("a", 9), measured("b", 1), measured("c", 1), measured("d", 1)];
    env.write("r/capabilities.json", json!({ "schema": 1, "agents": rows }).to_string());
    // These parts were divided by number, as in a first run.
    assert_eq!(env.run(&MERGE).code, 0);
    // Parts that were divided in no way are refused.
    part(&env, 1, &[row("a"), row("b")]);
    part(&env, 2, &[row("c"), row("d")]);
    let run = env.run(&MERGE);
    assert!(run.code == 4 && run.stderr.contains("part 1/2") && run.stderr.contains("`b` `1.0.0`"), "{}", run.stderr);
    assert!(run.stderr.contains("the same registry and `capabilities.json` as the other parts"), "{}", run.stderr);
    part(&env, 1, &[row("a")]);
    part(&env, 2, &[row("b"), row("c"), row("d")]);
    let (code, report) = env.json(&MERGE);
    assert_eq!((code, &report["merged"]), (0, &json!({ "taken": 4, "unknown": [] })), "{report:#}");
    // An agent in no part is named, even if each part has agents of its own only.
    part(&env, 2, &[row("b"), row("c")]);
    let (_, report) = env.json(&MERGE);
    assert_eq!(
        report["merged"]["unknown"][0],
        json!({ "id": "d", "distribution": "npx", "reason": "no_row", "has_row": true })
    );
}
