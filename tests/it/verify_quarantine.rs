//! `acp-registry verify` and agents in quarantine.
#![cfg(unix)]

use serde_json::{Value, json};

use crate::verify::{Verify, row, rows};

#[test]
fn quarantined_agents_are_skipped_unless_they_are_named() {
    let verify = Verify::new();
    verify.npx("good", &["ok"]).npx("held", &["exit", "1", ""]);
    verify.env.write("r/quarantine.json", r#"{ "held": { "reason": "crashes\u001b[2J", "until": "9999-12-31" } }"#);
    let (code, document) = verify.json(&[]);
    assert_eq!((code, rows(&document)), (0, vec![("good", "pass", ""), ("held", "skipped", "quarantined")]));
    assert_eq!(row(&document, "held")["message"], "in quarantine until 9999-12-31: `crashes\\u{1b}[2J`");
    // An entry without a valid reason does not allow the agent to start, except on one day of the week, because the
    // entry has no end; the two agents have different days.
    verify.npx("kept", &["exit", "1", ""]);
    let entry = json!({ "until": "9999-12-31" });
    verify.env.write("r/quarantine.json", json!({ "held": entry, "kept": entry }).to_string());
    let (code, document) = verify.json(&[]);
    let skipped = ["held", "kept"].map(|id| (id, "skipped", "quarantined"));
    assert!(code == 0 && rows(&document).iter().any(|row| skipped.contains(row)), "{document}");
    std::fs::remove_dir_all(verify.env.path("r/kept")).unwrap();
    verify.env.write("r/quarantine.json", r#"{ "held": { "reason": "crashes", "until": "9999-12-31" } }"#);
    let (code, document) = verify.json(&["held"]);
    assert_eq!((code, rows(&document)), (1, vec![("held", "fail", "exited")]));
    for (broken, cause) in
        [("[]", "quarantine.json:1:1: not a JSON object"), ("{", "quarantine.json:1:1: not valid JSON: ")]
    {
        verify.env.write("r/quarantine.json", broken);
        let run = verify.run(&[]);
        assert!(run.code == 3 && run.stderr.contains(cause), "{}", run.stderr);
        let run = verify.env.run(&["validate", "good"]);
        assert!(
            run.stderr.contains(&format!("warning: the quarantine list cannot be used: {cause}")),
            "{}",
            run.stderr
        );
    }
}

#[test]
fn after_its_last_day_an_agent_in_quarantine_is_tested_again() {
    let verify = Verify::new();
    verify.npx("healed", &["ok"]).npx("broken", &["exit", "1", "why"]).npx("full", &[]).npx("held", &["deaf"]);
    let quarantine = json!({
        "healed": { "reason": "crashed\u{1b}[2J", "until": "2001-01-01" }, "broken": { "reason": "x", "until": "2001-01-01" },
        "full": { "reason": "x", "until": "2001-01-01" }, "held": { "reason": "hangs", "until": "9999-12-31" },
    });
    verify.env.write("r/quarantine.json", quarantine.to_string());
    let (code, document) = verify.json(&["--out", "c.json"]);
    // An agent in quarantine that still fails does not change the exit code.
    assert_eq!(code, 0);
    assert_eq!(
        rows(&document),
        [
            ("broken", "fail", "exited"),
            ("full", "error", "install_failed"),
            ("healed", "pass", ""),
            ("held", "skipped", "quarantined"),
        ]
    );
    let summary = &document["summary"];
    let count = |name: &str| summary[name].as_u64().unwrap();
    assert_eq!(["passed", "failed", "errors", "skipped", "held"].map(count), [1, 0, 0, 1, 2]);
    let advice = |id: &str| row(&document, id)["quarantine"]["advice"].clone();
    assert_eq!(
        ["broken", "full", "healed", "held"].map(advice),
        ["extend".into(), "retry".into(), "release".into(), Value::Null]
    );
    assert_eq!(row(&document, "healed")["quarantine"]["until"], "2001-01-01");
    let suggested = row(&document, "broken")["quarantine"]["suggested_until"].as_str().unwrap();
    assert!(
        acp_registry::timestamp::date(suggested).unwrap()
            > acp_registry::timestamp::today(std::time::SystemTime::now())
    );
    assert_eq!(row(&document, "held")["message"], "in quarantine until 9999-12-31: `hangs`");

    for format in ["human", "markdown"] {
        let run = verify.run(&["--format", format, "--color", "never"]);
        assert_eq!(run.code, 0);
        for part in
            ["1 skipped, 0 reused, 2 still held", "it works again and can be released", suggested, "crashed\\u{1b}[2J"]
        {
            assert!(run.stdout.contains(part), "{part}: {}", run.stdout);
        }
        assert!(!run.stdout.contains('\u{1b}'), "{}", run.stdout);
    }
    // An earlier pass is not reused.
    let (_, document) = verify.json(&["--reuse", "c.json"]);
    assert_eq!((&document["summary"]["passed"], &document["summary"]["reused"]), (&1.into(), &0.into()));
    // A named agent is checked.
    let (code, document) = verify.json(&["broken", "healed"]);
    assert_eq!((code, &document["summary"]["failed"]), (1, &1.into()));
    assert_eq!(row(&document, "healed")["quarantine"]["advice"], "release");
}
