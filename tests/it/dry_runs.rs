//! Dry runs, and failures that are common to many agents.

use serde_json::json;

use crate::people::{People, entry, host};

#[test]
fn a_dry_run_names_what_would_go_and_changes_nothing() {
    let people = People::new();
    people.publish(&[people.agent("a", "1.0.0")]);
    assert_eq!(people.run(&["install", "a", "--no-check"]).code, 0);
    people.publish(&[people.agent("a", "2.0.0"), people.agent("b", "1.0.0")]);
    assert_eq!(people.run(&["update", "--refresh", "--no-check"]).code, 0);
    let before = people.left();

    let run = people.run(&["gc", "--dry-run"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stdout.starts_with("would remove a 1.0.0, "), "{}", run.stdout);
    assert!(run.stdout.contains("\n1 version would be removed, "), "{}", run.stdout);
    let (code, would) = people.json(&["gc", "--dry-run"]);
    assert_eq!((code, &would["dry_run"], &would["removed"][0]["version"]), (0, &json!(true), &json!("1.0.0")));

    let run = people.run(&["uninstall", "a", "--dry-run"]);
    assert!(run.code == 0 && run.stdout.starts_with("would uninstall a, "), "{}{}", run.stdout, run.stderr);
    let (code, both) = people.json(&["uninstall", "--all", "--dry-run"]);
    assert_eq!((code, both["removed"].as_array().unwrap().len()), (0, 2));

    let run = people.run(&["install", "a", "b", "--dry-run"]);
    assert_eq!((run.code, run.stdout.as_str()), (0, "a 2.0.0 is installed\nwould install b 1.0.0 (binary)\n"));
    let (code, planned) = people.json(&["install", "b", "--dry-run"]);
    assert_eq!((code, &planned["agents"][0]["installed"]), (0, &json!(false)));
    assert_eq!(people.left(), before);

    let (code, done) = people.json(&["gc"]);
    assert_eq!((code, &done["dry_run"], &done["freed_bytes"]), (0, &json!(false), &would["freed_bytes"]));
    assert_eq!(done["removed"][0]["size"], done["freed_bytes"]);
    assert_ne!(people.left(), before);
}

#[test]
fn what_fails_alike_for_many_agents_is_said_once() {
    let people = People::new();
    let ids: Vec<String> = (0..6).map(|number| format!("agent-{number}")).collect();
    let lost = |id: &String| {
        let target = json!({ "archive": people.server.url(&format!("/lost/{id}.tar.gz")), "cmd": "./a" });
        entry(id, "1.0.0", &json!({ "binary": { host(): target } }))
    };
    people.publish(&ids.iter().map(lost).collect::<Vec<_>>());
    let arguments: Vec<&str> = ["install", "--no-check"].into_iter().chain(ids.iter().map(String::as_str)).collect();
    let run = people.run(&arguments);
    assert_eq!((run.code, run.stderr.matches("error: ").count()), (3, 1), "{}", run.stderr);
    assert!(run.stderr.contains("  and 5 more: agent-1, agent-2, agent-3, agent-4, agent-5\n"), "{}", run.stderr);
    // The JSON document has each failure.
    let (_, document) = people.json(&arguments);
    assert_eq!(document["errors"].as_array().unwrap().len(), 6);
}
