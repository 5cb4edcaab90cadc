//! The workflows for pull requests: what the gate checks, and what is reported.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;

use crate::server::{Server, ok};
use crate::support::{Env, ICON, Run};
use crate::verify::Verify;
use crate::workflows::{changed, has_jq, own, script, shell};

/// An npm registry that has version 1.0.0 of every package.
fn npm() -> Server {
    let published = json!({ "versions": { "1.0.0": { "bin": "x", "dist": { "integrity": "sha512-x" } } } });
    Server::answering(move |_| ok(published.to_string()))
}

#[test]
fn the_gate_checks_what_has_changed() {
    let check = script("validate", "Check what has changed");
    let npm = npm();
    let run = |env: &Env| {
        let mut command = shell(env, &check);
        Run::of(command.env("BASE", "HEAD^1").env("ACP_REGISTRY_NPM", npm.url("/")))
    };
    let good = changed(&["fresh"]);
    let done = run(&good);
    assert_eq!(done.code, 0, "{}{}", done.stdout, done.stderr);
    let report = |env: &Env| env.run(&["report", "r/report/rules.json"]).stdout;
    assert!(report(&good).contains("1 agent checked: 0 errors"));

    let bad = changed(&["fresh"]);
    bad.write("r/fresh/icon.svg", "<svg>");
    // Problems that existed before do not fail the pull request.
    bad.write("r/old/icon.svg", "<svg>");
    bad.git(&["commit", "-qam", "three"]);
    bad.write("r/fresh/icon.svg", "<svg");
    bad.git(&["commit", "-qam", "four"]);
    let done = run(&bad);
    assert_eq!(done.code, 1);
    assert!(done.stdout.contains("::error file=fresh/icon.svg") && !done.stdout.contains("old/"), "{}", done.stdout);
    assert!(report(&bad).contains("icon/syntax"));
}

#[test]
fn many_agents_are_divided_among_machines() {
    if !has_jq("many_agents_are_divided_among_machines") {
        return;
    }
    let plan = script("validate", "One machine for four agents, ten at most");
    let names: Vec<String> = (0..50).map(|number| format!("agent-{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    for (count, number) in [(0, 1), (1, 1), (4, 1), (5, 2), (50, 10)] {
        let env = changed(&names[..count]);
        if count > 0 {
            // Findings are left to another job.
            env.write("r/agent-0/icon.svg", "<svg");
        }
        let done = Run::of(shell(&env, &plan).env("BASE", "HEAD^1"));
        assert_eq!(done.code, 0, "{}", done.stderr);
        let shards: Vec<String> = (1..=number).map(|shard: i32| shard.to_string()).collect();
        let expected = format!("number={number}\nshards=[{}]\n", shards.join(","));
        assert_eq!(env.read("GITHUB_OUTPUT"), expected, "{count} agents");
    }
}

#[test]
fn only_what_has_changed_is_started() {
    let start = script("validate", "Start what has changed");
    let verify = Verify::new();
    verify.npx("old", &["exit", "1"]);
    verify.env.git(&["init", "-q"]);
    verify.env.git(&["add", "."]);
    verify.env.git(&["commit", "-qm", "one"]);
    let run = || {
        let mut command = shell(&verify.env, &start);
        command.env("TMPDIR", verify.env.path("tmp")).env("BASE", "HEAD^1").env("SHARD", "1/1");
        let run = Run::of(&mut command);
        fs::remove_dir_all(verify.env.path("r/report")).unwrap();
        (run.code, verify.env.read("GITHUB_STEP_SUMMARY"))
    };
    let commit = |message: &str| {
        verify.env.git(&["add", "."]);
        verify.env.git(&["commit", "-qm", message]);
    };
    verify.npx("good", &["ok"]);
    commit("two");
    let (code, report) = run();
    assert!(code == 0 && report.contains("1 passed, 0 failed") && !report.contains("old"), "{code} {report}");
    // What an examination finds is reported, and fails nothing.
    verify.npx("good", &["played", "client {\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":65535}}\nagent {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":65535}}"]);
    commit("examined");
    let (code, report) = run();
    assert!(code == 0 && report.contains("- fail `protocol/version`: "), "{code} {report}");
    verify.npx("good", &["exit", "3"]);
    commit("three");
    let (code, report) = run();
    assert!(code == 1 && report.contains("exited"), "{code} {report}");
    verify.env.write("r/README.md", "nothing to start");
    commit("four");
    let (code, report) = run();
    assert!(code == 0 && report.contains("0 passed"), "{code} {report}");
    verify.assert_clean();
}

/// What a contributor runs on one folder, and pastes into the pull request, is the verdict of the gate.
#[test]
fn the_verdict_of_a_contributor_is_that_of_the_gate() {
    let (check, start) = (script("validate", "Check what has changed"), script("validate", "Start what has changed"));
    let npm = npm();
    for (case, code, words) in [
        (&["ok"][..], 0, "1 agent checked: 0 errors"),
        (&["exit", "3"], 1, "handshake/no-answer"),
        (&["result", r#"{"protocolVersion":1,"authMethods":[]}"#], 1, "handshake/no-supported-auth"),
    ] {
        let verify = Verify::new();
        verify.env.write("r/README.md", "a registry");
        verify.env.git(&["init", "-q"]);
        verify.env.git(&["add", "."]);
        verify.env.git(&["commit", "-qm", "one"]);
        verify.npx("good", case);
        verify.env.write("r/good/icon.svg", ICON);
        verify.env.git(&["add", "."]);
        verify.env.git(&["commit", "-qm", "two"]);
        let own = Run::of(
            verify
                .program(&["validate", "good", "--all", "--no-cache", "--format", "markdown"])
                .env("ACP_REGISTRY_NPM", npm.url("/")),
        );
        assert!(own.code == code && own.stdout.contains(words), "{} {}{}", own.code, own.stdout, own.stderr);
        let mut gate = 0;
        for script in [&check, &start] {
            let mut command = shell(&verify.env, script);
            command.env("TMPDIR", verify.env.path("tmp")).env("BASE", "HEAD^1").env("SHARD", "1/1");
            gate = gate.max(Run::of(command.env("ACP_REGISTRY_NPM", npm.url("/"))).code);
            fs::remove_dir_all(verify.env.path("r/report")).unwrap();
        }
        assert_eq!(gate, code, "{case:?}");
        verify.assert_clean();
    }
}

#[test]
fn the_gate_is_shut_unless_all_is_well() {
    let text = fs::read_to_string(own(".github/workflows/validate.yml")).unwrap();
    let (_, gate) = text.split_once("  gate:\n").unwrap();
    assert!(gate.contains("if: always()") && gate.contains("needs: [rules, plan, verify]"), "{gate}");
    let gate = script("validate", "Gate");
    let env = Env::empty();
    for (results, code) in [
        ("success success success", 0),
        ("success skipped success", 1),
        ("failure success success", 1),
        ("success success cancelled", 1),
    ] {
        assert_eq!(Run::of(shell(&env, &gate).env("RESULTS", results)).code, code, "{results}");
    }
}

/// The job that posts a comment takes only findings from an untrusted job, rendered by the program and quoted.
#[test]
fn a_report_is_bounded_and_holds_no_markdown_of_strangers() {
    let write = script("report", "Write the report");
    let finding = json!({
        "rule": "icon/size", "level": "error", "agent": "a", "file": "a/icon.svg", "line": null, "column": null,
        "end_line": null, "end_column": null, "pointer": null, "help": null,
        "message": "<img src=x> [sign in](https://evil.example) @someone",
    });
    let rules = json!({
        "schema": 1, "command": "validate", "findings": [finding],
        "agents": [{ "id": "a", "status": "failed" }], "notes": [], "summary": { "duration_seconds": 0.1 },
    });
    let row = json!({
        "id": "a", "version": "1", "distribution": "npx", "verdict": "fail", "reason": "exited",
        "message": "x".repeat(5_000), "stderr_tail": "# Approved\n".repeat(500),
    });
    let verified = json!({ "schema": 1, "command": "verify", "results": vec![row; 1000] });
    let env = Env::empty().file("secret", "secret");
    env.write("temp/report/report-rules/rules.json", rules.to_string());
    env.write("temp/report/report-verify-1/verify.json", verified.to_string());
    // Other files are not read, as they were when jobs wrote Markdown.
    env.write("temp/report/report-rules/rules.md", "other");
    env.write("temp/report/other/verify.json", "other");
    let run = Run::of(&mut shell(&env, &write));
    assert_eq!(run.code, 0, "{}", run.stderr);
    let comment = env.read("temp/comment.md");
    assert!(comment.starts_with("<!-- acp-registry report -->\n**1 agent checked: 1 error"), "{comment}");
    assert_eq!(env.read("GITHUB_OUTPUT"), "findings=true\n");
    assert!(comment.contains("| `<img src=x> [sign in](https://evil.example) @someone` |"), "{comment}");
    assert!(comment.contains("1000 failed") && comment.len() <= 65_000 && !comment.contains("other"));
    assert!(comment.lines().all(|line| !line.starts_with('#') || line.starts_with("### ")), "{comment}");

    // A link could refer to any file of the machine, and a text could have any content.
    let path = env.path("temp/report/report-verify-1/verify.json");
    fs::remove_file(&path).unwrap();
    symlink(env.path("secret"), &path).unwrap();
    let run = Run::of(&mut shell(&env, &write));
    assert!(run.code == 3 && !env.read("temp/comment.md").contains("secret"), "{} {}", run.code, run.stderr);
    fs::remove_file(&path).unwrap();
    env.write("temp/report/report-verify-1/verify.json", "# Approved");
    assert_eq!(Run::of(&mut shell(&env, &write)).code, 2);
    // A registry that could not be checked has no findings: the comment says why.
    let env = Env::empty().file("r/registry.toml", "nonsense = 1\n");
    assert_eq!(env.run(&["validate", "--output", "json=rules.json"]).code, 2);
    env.write("temp/report/report-rules/rules.json", env.read("rules.json"));
    assert_eq!(Run::of(&mut shell(&env, &write)).code, 0);
    let comment = env.read("temp/comment.md");
    assert!(comment.contains("**`validate` failed:**") && comment.contains("unknown field"), "{comment}");
    assert!(!comment.contains("u{a}") && env.read("GITHUB_OUTPUT").is_empty(), "{comment}");
    // Without any document, the comment says so.
    let env = Env::empty();
    assert_eq!(Run::of(&mut shell(&env, &write)).code, 0);
    assert!(env.read("temp/comment.md").contains("left no report"));
}
