//! Runs of `acp-registry verify` that are killed at any point, and the runs after them.
#![cfg(unix)]

use std::collections::BTreeMap;
use std::fs;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::{Run, wait_until};
use crate::verify::Verify;

const AGENTS: usize = 6;

/// Agents whose installations are recorded in `calls`. Each is started once after its installation.
fn counted() -> Verify {
    let verify = Verify::new();
    for number in 0..AGENTS {
        verify.npx(&format!("counted-{number}"), &["ok"]);
    }
    verify
}

fn starts(verify: &Verify) -> BTreeMap<String, usize> {
    let mut starts = BTreeMap::new();
    for id in fs::read_to_string(verify.env.path("calls")).unwrap_or_default().lines() {
        *starts.entry(id.to_owned()).or_default() += 1;
    }
    starts
}

fn passed(text: &str) -> usize {
    let snapshot: Value = serde_json::from_str(text).unwrap();
    snapshot["agents"].as_array().unwrap().iter().filter(|row| row["verdict"] == "pass").count()
}

/// Kills a run as soon as so many agents have been started, and repeats it until it ends. Returns the number of starts.
fn run_with_kills(verify: &Verify, kills: &[usize], jobs: &str) -> usize {
    let arguments = ["--jobs", jobs, "--no-probe", "--reuse", "c.json", "--out", "c.json"];
    for kill_at in kills {
        let mut command = verify.command(&arguments);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).stdin(Stdio::null()).spawn().unwrap();
        let is_there = || starts(verify).values().sum::<usize>() >= *kill_at;
        wait_until("agents are started", is_there);
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let run = Run::of(&mut verify.command(&arguments));
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    starts(verify).values().sum()
}

#[test]
fn a_run_that_is_killed_loses_at_most_the_agents_that_were_running() {
    for (kills, jobs) in [(&[1][..], 1), (&[3], 1), (&[6], 1), (&[2, 4, 5], 1), (&[3, 5], 2)] {
        let verify = counted();
        let number = run_with_kills(&verify, kills, &jobs.to_string());
        let most = AGENTS + kills.len() * jobs;
        assert!((AGENTS..=most).contains(&number), "{kills:?} {jobs}: {:?}", starts(&verify));
        assert_eq!(passed(&verify.env.read("c.json")), AGENTS);
        assert!(!verify.env.path("c.json.journal").exists());
    }
}

#[test]
fn a_file_that_another_run_writes_is_refused() {
    let verify = counted();
    let lock = verify.env.path("c.json.acp-registry-lock");
    fs::write(&lock, "process 7: acp-registry verify\n").unwrap();
    let held = fs::File::open(&lock).unwrap();
    held.lock().unwrap();
    let run = Run::of(&mut verify.command(&["--out", "c.json"]));
    assert!(run.code == 3 && run.stderr.contains("c.json is written by another run"), "{} {}", run.code, run.stderr);
    assert!(run.stderr.contains("help: wait until it has ended, or name another file with --out"), "{}", run.stderr);
    assert!(!verify.env.path("c.json").exists() && starts(&verify).is_empty());
    drop(held);
    assert_eq!(Run::of(&mut verify.command(&["--out", "c.json"])).code, 0);
    assert!(!lock.exists());
}

/// A large file is not written after each agent: finished rows are in the journal.
#[test]
fn rows_that_the_file_lacks_are_in_a_journal() {
    let verify = counted();
    verify.npx("large", &["ok"]);
    verify.json(&["large", "--out", "c.json"]);
    let mut snapshot: Value = serde_json::from_str(&verify.env.read("c.json")).unwrap();
    let basis_of_large = snapshot["agents"][0]["basis"].clone();
    snapshot["agents"][0]["extra"] = json!({ "x": vec!["x".repeat(60); 100_000] });
    verify.env.write("c.json", snapshot.to_string());
    let arguments = ["--jobs", "1", "--no-probe", "--reuse", "c.json", "--out", "c.json"];
    let mut command = verify.command(&arguments);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).stdin(Stdio::null()).spawn().unwrap();
    let rows = || fs::read_to_string(verify.env.path("c.json.journal")).unwrap_or_default().lines().count();
    wait_until("an agent is in the journal", || rows() >= 1);
    child.kill().unwrap();
    child.wait().unwrap();
    let journal = verify.env.read("c.json.journal");

    // An incomplete line, rows of another time, and whatever else was written there.
    let mut stale: Value = serde_json::from_str(journal.lines().next().unwrap()).unwrap();
    stale["id"] = json!("large");
    stale["checked_at"] = json!("2020-01-01T00:00:00Z");
    let torn = journal.lines().last().unwrap();
    verify.env.write("c.json.journal", format!("{journal}{stale}\n[]\n7\n\u{0}\n{}", &torn[..torn.len() / 2]));
    let run = Run::of(&mut verify.command(&[&arguments[..], &["--json"]].concat()));
    let document: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(run.code, 0, "{document}");
    let number: usize = starts(&verify).values().sum();
    assert!(number <= AGENTS + 1, "{:?}", starts(&verify));
    let snapshot: Value = serde_json::from_str(&verify.env.read("c.json")).unwrap();
    let large = snapshot["agents"].as_array().unwrap().iter().find(|row| row["id"] == "large").unwrap();
    assert_eq!((&large["basis"], large["extra"]["x"].as_array().unwrap().len()), (&basis_of_large, 100_000));
    assert_eq!(passed(&verify.env.read("c.json")), AGENTS + 1);
    assert!(!verify.env.path("c.json.journal").exists());
}
