//! Recalled versions: refused where they would be installed or started, also without a network.

use std::fs;

use serde_json::{Value, json};

use crate::agents::text;
use crate::people::People;
use crate::server::status;
use crate::support::{Env, manifest};

fn recall(versions: &Value, level: &str) -> String {
    let item =
        json!({ "id": "a", "versions": versions, "level": level, "reason": "It reads keys", "since": "2026-01-31" });
    json!({ "schema": 1, "revoked": [item] }).to_string()
}

/// A registry with agent `a` 1.0.0 and `b` 2.0.0.
fn people() -> People {
    let people = People::new();
    people.publish(&[people.agent("a", "1.0.0"), people.agent("b", "2.0.0")]);
    people
}

const WHY: &str = "a 1.0.0 is revoked since 2026-01-31: It reads keys";

#[test]
fn a_revoked_version_is_not_installed_and_the_others_are() {
    let people = people();
    people.serve("/revoked.json", recall(&json!("<=1.0.0"), "revoked"));
    for arguments in [&["install", "a"][..], &["install", "a@1.0.0"], &["install", "a", "--dry-run"], &["run", "a"]] {
        let run = people.run(arguments);
        assert!(run.code == 4 && run.stderr.contains(WHY), "{arguments:?}: {}", run.stderr);
        assert!(
            run.stderr.contains("help: if you trust it all the same, add `--allow-revoked a@1.0.0`"),
            "{}",
            run.stderr
        );
    }
    let (code, document) = people.json(&["install", "a", "b"]);
    assert_eq!((code, text(&document["errors"][0], "code"), text(&document["agents"][0], "id")), (4, "revoked", "b"));
    assert!(!people.root().join("agents/a").join("current").exists());
    assert!(!people.server.asked().iter().any(|path| path.ends_with("a.tar.gz")), "nothing of it is fetched");
    // Allowed for this version only, and said each time.
    let run = people.run(&["install", "a", "--allow-revoked", "a@2.0.0"]);
    assert_eq!(run.code, 4, "{}", run.stderr);
    let run = people.run(&["install", "a", "--allow-revoked", "a"]);
    assert!(run.code == 2 && run.stderr.contains("names no version"), "{}", run.stderr);
    for arguments in [&["install", "a", "--allow-revoked", "a@1.0.0"][..], &["run", "a", "--allow-revoked", "a@1.0.0"]]
    {
        let run = people.run(arguments);
        let warning = format!("warning: {WHY} (allowed by --allow-revoked)");
        assert!(run.code == 0 && run.stderr.contains(&warning), "{arguments:?}: {}", run.stderr);
    }
}

#[test]
fn what_is_installed_is_not_started_once_the_recall_is_known() {
    let people = people();
    assert_eq!(people.run(&["install", "a", "b", "--no-check"]).code, 0);
    people.serve("/revoked.json", recall(&json!(["0.9.0", "1.0.0"]), "revoked"));
    // Nothing is asked for at a start, so that it is not known yet.
    let before = people.server.asked().len();
    assert_eq!((people.run(&["run", "a"]).code, people.server.asked().len()), (0, before));
    // There is no good version yet; the other agent is not affected.
    let (code, document) = people.json(&["update", "--refresh"]);
    assert_eq!((code, text(&document["errors"][0], "code")), (4, "revoked"), "{document}");
    assert_eq!(document["up_to_date"], json!(["b"]));
    let before = people.server.asked().len();
    for arguments in [&["run", "a"][..], &["run", "a", "--offline"], &["which", "a"]] {
        let run = people.run(arguments);
        assert!(run.code == 4 && run.stderr.contains(WHY) && run.stdout.is_empty(), "{arguments:?}: {}", run.stderr);
    }
    assert_eq!((people.run(&["run", "b"]).code, people.server.asked().len()), (0, before), "a start sends nothing");
    // Without the cache, it is still known.
    fs::remove_dir_all(people.env.path("cache")).unwrap_or_default();
    assert_eq!(people.run(&["run", "a", "--offline"]).code, 4);
    let list = people.run(&["list", "--installed"]);
    assert!(list.stdout.contains("1.0.0 (revoked)"), "{}", list.stdout);
    let (_, list) = people.json(&["list", "--installed"]);
    let expected = json!({ "level": "revoked", "reason": "It reads keys", "since": "2026-01-31" });
    assert_eq!((&list["agents"][0]["recall"], list["agents"][1].get("recall")), (&expected, None));
    let (code, doctor) = people.json(&["doctor"]);
    assert_eq!((code, text(&doctor["agents"][0], "status")), (1, "error"), "{doctor}");
    assert!(doctor["agents"][0]["checks"].to_string().contains("is revoked since 2026-01-31"), "{doctor}");
    // The registry brings a good version: the message leads to it, and so does an update.
    people.publish(&[people.agent("a", "1.1.0"), people.agent("b", "2.0.0")]);
    assert_eq!(people.run(&["list", "--refresh"]).code, 0);
    let run = people.run(&["run", "a"]);
    assert!(run.stderr.contains("`acp-registry install a@latest`, which installs 1.1.0"), "{}", run.stderr);
    assert_eq!(people.run(&["update", "--refresh"]).code, 0);
    assert_eq!(people.run(&["run", "a"]).stdout, "a-1.1.0 acp\n");
    // The old one stays refused.
    assert_eq!(people.run(&["run", "a@1.0.0"]).code, 4);
}

#[test]
fn a_pinned_version_that_is_revoked_is_named_by_update() {
    let people = people();
    assert_eq!(people.run(&["install", "a@1.0.0", "--no-check"]).code, 0);
    people.publish(&[people.agent("a", "1.1.0")]);
    people.serve("/revoked.json", recall(&json!("1.0.0"), "revoked"));
    let run = people.run(&["update", "--refresh"]);
    assert!(run.code == 4 && run.stderr.contains(WHY) && run.stderr.contains("install a@latest"), "{}", run.stderr);
    assert_eq!(people.run(&["install", "a@latest"]).code, 0);
    assert_eq!(people.run(&["run", "a"]).stdout, "a-1.1.0 acp\n");
}

#[test]
fn a_deprecated_version_works_and_is_said() {
    let people = people();
    people.serve("/revoked.json", recall(&json!("*"), "deprecated"));
    for arguments in [&["install", "a", "--no-check"][..], &["run", "a"]] {
        let run = people.run(arguments);
        let warning = "warning: a 1.0.0 is deprecated since 2026-01-31: It reads keys";
        assert!(run.code == 0 && run.stderr.contains(warning), "{arguments:?}: {}", run.stderr);
    }
}

#[test]
fn a_list_that_is_gone_or_broken_or_out_of_reach() {
    let people = people();
    people.serve("/revoked.json", recall(&json!("1.0.0"), "revoked"));
    assert_eq!(people.run(&["install", "a"]).code, 4);
    // What was learnt counts until the host says something else that can be read.
    for (answer, what) in [(status(500), "500"), (crate::server::ok("<html>"), "is not JSON")] {
        people.answer("/revoked.json", answer);
        let run = people.run(&["install", "a", "--refresh"]);
        assert!(run.code == 4 && run.stderr.contains(WHY) && run.stderr.contains(what), "{}", run.stderr);
    }
    people.answer("/revoked.json", status(404));
    let run = people.run(&["install", "a", "--refresh", "--no-check"]);
    assert_eq!((run.code, people.run(&["run", "a"]).code), (0, 0), "{}", run.stderr);
}

#[test]
fn a_lock_file_is_no_way_around_a_recall() {
    let people = people();
    assert_eq!(people.run(&["install", "a", "--no-check", "--lock", "lock.json"]).code, 0);
    assert_eq!(people.run(&["uninstall", "a"]).code, 0);
    people.serve("/revoked.json", recall(&json!("1.0.0"), "revoked"));
    let run = people.run(&["install", "--locked", "--lock", "lock.json", "--refresh"]);
    assert!(run.code == 4 && run.stderr.contains(WHY), "{}", run.stderr);
}

#[test]
fn a_registry_publishes_its_recalls_and_refuses_to_publish_what_it_recalls() {
    let env = Env::with(&["a", "b"]);
    env.write("r/revoked.json", recall(&json!("<1.0.0"), "revoked"));
    let run = env.run(&["build", "--out", "out"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let published: Value = serde_json::from_str(&env.read("out/revoked.json")).unwrap();
    assert_eq!(published["revoked"][0]["versions"], "<1.0.0");
    env.write("r/revoked.json", recall(&json!("1.0.0"), "revoked"));
    let run = env.run(&["validate"]);
    assert!(run.code == 1 && run.stdout.contains("registry/revoked-version"), "{}{}", run.stdout, run.stderr);
    assert_eq!(env.run(&["build", "--out", "again"]).code, 1);
    env.write("r/a/agent.json", manifest("a").replace("1.0.0", "1.1.0"));
    assert_eq!(env.run(&["build", "--out", "again"]).code, 0);
    // A list that cannot be read would bring recalled versions back.
    env.write("r/revoked.json", "{");
    let run = env.run(&["build", "--out", "again", "--previous", "out"]);
    assert!(run.code == 1 && run.stderr.contains("registry/revoked"), "{}", run.stderr);
}

/// A pull request that recalls the published version is stopped, although it changes no agent.
#[test]
fn a_change_of_the_list_is_judged_with_the_agents_that_it_breaks() {
    let env = Env::with(&["a", "b"]);
    env.git(&["init", "-q"]);
    env.git(&["add", "-A"]);
    env.git(&["-c", "user.name=Test", "-c", "user.email=test@example.com", "commit", "-q", "-m", "x"]);
    env.write("r/revoked.json", recall(&json!("1.0.0"), "revoked"));
    env.git(&["add", "-A"]);
    let (code, document) = env.json(&["validate", "--changed-since", "HEAD"]);
    let rules: Vec<&str> = document["findings"].as_array().unwrap().iter().map(|one| text(one, "rule")).collect();
    assert_eq!((code, rules), (1, vec!["registry/revoked-version"]), "{document}");
}
