//! `report`: renders the results of untrusted jobs for a comment.

use serde_json::{Value, json};

use crate::support::{Env, manifest};

/// A registry with findings of several kinds.
fn env() -> Env {
    let env = Env::with(&["a", "b"]).file("r/a/icon.svg", "<svg>\n<!-- @someone -->");
    env.write("r/b/agent.json", manifest("b").replace("[\"--acp\"]", "[\"--acp\", 7]"));
    env.write("r/stray/agents.json", "{}");
    env
}

#[test]
fn a_document_gives_the_report_of_the_command() {
    let env = env();
    assert_eq!(env.run(&["validate", "--output", "json=rules.json", "--format", "markdown"]).code, 1);
    for format in ["markdown", "sarif"] {
        let direct = env.run(&["validate", "--format", format]);
        let run = env.run(&["report", "rules.json", "--format", format]);
        assert_eq!((run.code, run.stdout), (0, direct.stdout), "{}", run.stderr);
    }
    // A failed command explains why.
    env.write("failed.json", env.run(&["verify", "nobody", "--json"]).stdout);
    let run = env.run(&["report", "failed.json", "rules.json"]);
    assert!(run.code == 0 && run.stdout.starts_with("**`verify` failed:** there is no agent"), "{}", run.stdout);
    assert!(run.stdout.contains("2 agents checked"), "{}", run.stdout);
    assert_eq!(env.run(&["report", "failed.json", "--format", "sarif"]).code, 2);
}

#[test]
fn a_failure_hides_no_results() {
    let env = env();
    env.run(&["validate", "--output", "json=rules.json"]);
    let mut document: Value = serde_json::from_str(&env.read("rules.json")).unwrap();
    document["error"] = json!({ "code": "unavailable", "message": "no host could be reached" });
    env.write("rules.json", document.to_string());
    let run = env.run(&["report", "rules.json"]);
    let whole = "**`validate` failed:** no host could be reached\n\n**2 agents checked";
    assert!(run.code == 0 && run.stdout.starts_with(whole), "{}", run.stdout);
    assert!(env.run(&["report", "rules.json", "--format", "sarif"]).stdout.contains("icon/syntax"));
    let row = json!({
        "id": "a", "version": "1.0.0", "distribution": "npx", "verdict": "fail", "reason": "exited", "message": "m",
        "handshake": null,
    });
    let error = json!({ "code": "unavailable", "message": "the npm registry could not be reached" });
    let document = json!({ "schema": 1, "command": "verify", "results": [row], "summary": {}, "error": error });
    env.write("verified.json", document.to_string());
    let run = env.run(&["report", "verified.json"]);
    let start = "**`verify` failed:** the npm registry could not be reached\n\n### Agents: 0 passed, 1 failed";
    assert!(run.stdout.starts_with(start), "{}", run.stdout);
}

#[test]
fn a_forged_document_is_refused() {
    let finding = json!({
        "rule": "icon/size", "level": "error", "agent": "a", "file": "a/icon.svg", "line": 1, "column": 1,
        "end_line": 1, "end_column": 2, "pointer": null, "message": "m", "help": null,
    });
    let document = |name: &str, value: Value| {
        let mut finding = finding.clone();
        finding[name] = value;
        json!({ "schema": 1, "command": "validate", "findings": [finding], "agents": [] })
    };
    let env = Env::empty();
    for (code, document, message) in [
        (4, document("rule", json!("<b>")), "there is no rule `<b>`"),
        (4, document("level", json!("off")), "`off` is not a level"),
        (4, document("file", json!("../../etc/passwd")), "is not a file of a registry"),
        (4, document("file", json!("/etc/passwd")), "is not a file of a registry"),
        (4, document("file", json!("a\\b")), "is not a file of a registry"),
        // A file that is not a document of either command is a usage error.
        (2, document("line", json!(-1)), "invalid value"),
        (2, json!({ "schema": 1, "command": "publish" }), "it is one of `publish`"),
        (2, json!({ "schema": 2, "command": "validate" }), "`schema` is not 1"),
        (2, json!({ "schema": 1, "command": "verify", "results": [{}] }), "missing field"),
        (2, json!("# Approved"), "invalid type"),
    ] {
        env.write("forged.json", document.to_string());
        for format in ["markdown", "sarif"] {
            let run = env.run(&["report", "forged.json", "--format", format]);
            assert_eq!((run.code, run.stdout.as_str()), (code, ""), "{message}");
            assert!(run.stderr.contains(message), "{message}: {}", run.stderr);
            assert_eq!(
                run.stderr.contains("help: name a file that `acp-registry validate --json --registry-dir r`"),
                code == 2
            );
        }
    }
    for text in ["", "no JSON", "# Markdown", &"[".repeat(100_000)] {
        env.write("forged.json", text);
        let run = env.run(&["report", "forged.json"]);
        assert_eq!(run.code, 2, "{}", run.stderr);
        assert!(run.stderr.contains("is not a JSON document of `validate` or `verify`: "), "{}", run.stderr);
    }
    env.write("large.json", vec![b' '; (64 << 20) + 1]);
    assert_eq!(env.run(&["report", "large.json"]).code, 3);
    assert_eq!(env.run(&["report", "none.json"]).code, 3);
}

/// Notes follow the findings, and use only the space that is left.
#[test]
fn a_comment_has_room_for_findings_and_notes() {
    // Equal findings would be grouped.
    let finding = |number: usize| {
        json!({
            "rule": "icon/size", "level": "error", "agent": "a", "file": "a/icon.svg", "line": null, "column": null,
            "end_line": null, "end_column": null, "pointer": null, "message": format!("the message {number}"), "help": null,
        })
    };
    let env = Env::empty();
    for (findings, notes, words) in [
        (1, 3, vec!["the message", "note 0", "note 2"]),
        (1, 5_000, vec!["the message", "note 0", " notes did not fit"]),
        (5_000, 1, vec!["the message", " findings more did not fit", "note 0"]),
        (5_000, 5_000, vec!["the message", " findings more did not fit", "note 0", " notes did not fit"]),
    ] {
        let notes: Vec<String> = (0..notes).map(|number| format!("note {number} {}", "x".repeat(100))).collect();
        let document = json!({
            "schema": 1, "command": "validate", "findings": (0..findings).map(finding).collect::<Vec<_>>(), "agents": [], "notes": notes,
        });
        env.write("some.json", document.to_string());
        let run = env.run(&["report", "some.json"]);
        let places: Vec<_> = words.iter().map(|word| run.stdout.find(word)).collect();
        assert!(places.is_sorted() && places[0].is_some(), "{words:?} {places:?}");
        assert!(run.code == 0 && run.stdout.len() < 61_000, "{} {}", run.stdout.len(), run.stderr);
    }
    let document = json!({
        "schema": 1, "command": "validate", "findings": vec![finding(1); 5], "agents": [], "notes": [],
    });
    env.write("some.json", document.to_string());
    let run = env.run(&["report", "some.json"]);
    let is_once = run.stdout.matches("the message").count() == 1;
    assert!(is_once && run.stdout.contains("<br>and 4 more |"), "{}", run.stdout);
}

#[test]
fn texts_of_strangers_are_quoted() {
    let text = "<img src=x>\n# Approved\n@someone ![x](https://evil.example) \u{1b}[31m\u{202e} ##[command] ```";
    let finding = json!({
        "rule": "icon/size", "level": "error", "agent": text, "file": "a/x\n# Approved", "line": null, "column": null,
        "end_line": null, "end_column": null, "pointer": null, "message": text, "help": text,
    });
    let row = json!({
        "id": text, "version": text, "distribution": text, "verdict": "fail", "reason": text, "message": text,
        "stderr_tail": text,
        "examination": { "level": "protocol", "reached": "protocol", "network": text, "checks": [
            { "id": text, "result": "fail", "force": "must", "spec": text, "message": text, "duration_seconds": 1 },
        ] },
    });
    let env = Env::empty();
    let documents = [
        json!({ "schema": 1, "command": "validate", "findings": [finding], "agents": [], "notes": [text] }),
        json!({ "schema": 1, "command": "verify", "results": [row] }),
        json!({ "schema": 1, "command": "verify", "error": { "message": text } }),
    ];
    for (number, document) in documents.iter().enumerate() {
        env.write(&format!("{number}.json"), document.to_string());
    }
    let run = env.run(&["report", "0.json", "1.json", "2.json"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    // Indented lines are shown literally.
    for line in run.stdout.lines().filter(|line| !line.starts_with("    ")) {
        let line = crate::support::outside_code(line);
        for live in ["<img", "# Approved", "@someone", "](", "##[", "```"] {
            assert!(!line.contains(live), "{live}: {line}");
        }
    }
    assert!(!run.stdout.contains(['\u{1b}', '\u{202e}']) && !run.stdout.lines().any(|line| line.starts_with("# ")));
}
