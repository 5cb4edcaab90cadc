//! Versions of agents side by side: updates, pins and rollbacks.

use serde_json::{Value, json};

use crate::archives::sha256;
use crate::people::{archive, host};

use crate::agents::{people, text};

#[test]
fn versions_live_side_by_side_and_a_rollback_sends_nothing() {
    let people = people();
    assert_eq!(people.run(&["install", "a"]).code, 0);
    people.publish(&[people.agent("a", "1.1.0")]);
    let run = people.run(&["install", "a", "--refresh"]);
    assert!(run.stdout.starts_with("installed a 1.1.0 instead of 1.0.0"), "{}", run.stdout);
    assert_eq!(people.run(&["run", "a"]).stdout, "a-1.1.0 acp\n");
    let before = people.server.asked().len();
    let run = people.run(&["install", "a@1.0.0"]);
    assert!(run.stdout.starts_with("switched to a 1.0.0 instead of 1.1.0"), "{}{}", run.stdout, run.stderr);
    assert_eq!((people.run(&["run", "a"]).stdout.as_str(), people.server.asked().len()), ("a-1.0.0 acp\n", before));
    // The version is pinned, so a plain install keeps it.
    let run = people.run(&["install", "a"]);
    assert!(run.stderr.contains("stays at 1.0.0") && run.stdout == "a 1.0.0 is installed\n", "{}", run.stderr);
    let (_, freed) = people.json(&["gc"]);
    assert_eq!(freed["removed"], json!([{ "id": "a", "version": "1.1.0", "size": freed["removed"][0]["size"] }]));
    assert!(freed["freed_bytes"].as_u64().unwrap() > 50);
    assert_eq!(people.run(&["run", "a"]).stdout, "a-1.0.0 acp\n");
}

#[test]
fn updates_are_shown_taken_held_and_kept_away_by_a_pin() {
    let people = people();
    let modified = |path: &str, date: &str| {
        let bytes = archive("new");
        people.answer(path, (200, vec![("Last-Modified", date.to_owned())], bytes));
    };
    assert_eq!(people.run(&["install", "a", "b@2.0.0"]).code, 0);
    assert_eq!(people.run(&["update", "--dry-run"]).code, 0);
    let mut agents = ["a", "b"].map(|id| people.agent_of(id, "3.0.0", &archive("new"), None));
    agents[0]["description"] = "newer".into();
    people.publish(&agents);
    let (code, report) = people.json(&["update", "--dry-run", "--refresh"]);
    let update = json!({ "id": "a", "from": "1.0.0", "to": "3.0.0", "distribution": "binary", "applied": false, "launch": null });
    assert_eq!((code, &report["updates"]), (1, &json!([update])));
    assert_eq!(report["pinned"], json!([{ "id": "b", "version": "2.0.0", "available": "3.0.0" }]));
    assert_eq!(people.run(&["run", "a"]).stdout, "a-1.0.0 acp\n");

    for (date, reason) in [("", "unknown-age"), (&httpdate::fmt_http_date(std::time::SystemTime::now()), "min-age")] {
        modified("/3.0.0/a.tar.gz", date);
        let (code, report) = people.json(&["update", "--min-age", "3d"]);
        assert_eq!((code, text(&report["held"][0], "reason")), (0, reason), "{report}");
        assert_eq!(report["held"][0]["until"].is_string(), reason == "min-age");
    }
    modified("/3.0.0/a.tar.gz", "Thu, 01 Jan 2015 00:00:00 GMT");
    let (code, report) = people.json(&["update", "--min-age", "3d"]);
    assert_eq!((code, &report["updates"][0]["applied"]), (0, &json!(true)), "{report}");
    assert_eq!(text(&report["updates"][0]["launch"], "version"), "3.0.0");
    assert_eq!(people.run(&["run", "a"]).stdout, "new acp\n");
    assert_eq!(people.run(&["run", "b"]).stdout, "b-2.0.0 acp\n");

    let run = people.run(&["update", "--unpin", "b"]);
    assert_eq!((run.code, run.stdout.as_str()), (0, "updated b 2.0.0 -> 3.0.0\n"), "{}", run.stderr);
    // `update` neither downgrades an agent nor removes one that left the index.
    people.publish(&[people.agent("a", "1.0.0")]);
    let (code, report) = people.json(&["update", "--refresh"]);
    assert_eq!((code, &report["up_to_date"], &report["gone"]), (0, &json!(["a"]), &json!(["b"])));
    assert_eq!(people.run(&["run", "a"]).stdout, "new acp\n");
    assert_eq!(people.run(&["update", "c"]).code, 2);
}

#[test]
fn an_update_of_nothing_needs_no_index() {
    let people = people();
    let run = people.run(&["update", "--index", "https://no-such-host.invalid/r.json"]);
    assert_eq!((run.code, run.stdout.as_str()), (0, "no agents are installed\n"), "{}", run.stderr);
    let (code, document) = people.json(&["update", "--index", "https://no-such-host.invalid/r.json"]);
    assert_eq!((code, &document["index"], &document["up_to_date"]), (0, &Value::Null, &json!([])));
    assert_eq!(people.run(&["update", "a"]).code, 2);
}

#[test]
fn one_bad_update_never_stops_the_others() {
    let people = people();
    assert_eq!(people.run(&["install", "a", "b"]).code, 0);
    let wrong = "0".repeat(64);
    people.publish(&[people.agent_of("a", "1.1.0", &archive("x"), Some(&wrong)), people.agent("b", "2.1.0")]);
    let (code, report) = people.json(&["update", "--refresh"]);
    assert_eq!((code, text(&report["errors"][0], "id"), text(&report["updates"][0], "id")), (4, "a", "b"));
    assert_eq!(people.run(&["run", "a"]).stdout, "a-1.0.0 acp\n");
    // The same version with another digest is refused.
    let other = archive("other");
    people.publish(&[people.agent_of("a", "1.0.0", &other, Some(&sha256(&other)))]);
    let run = people.run(&["update", "a", "--refresh", "--dry-run"]);
    assert!(run.code == 4 && run.stderr.contains("is refused"), "{}", run.stderr);
}

#[test]
fn the_bytes_of_a_version_never_change() {
    let people = people();
    assert_eq!(people.run(&["install", "a"]).code, 0);
    let other = archive("other");
    people.publish(&[people.agent_of("a", "1.0.0", &other, Some(&sha256(&other)))]);
    let run = people.run(&["install", "a", "--refresh"]);
    assert!(run.code == 4 && run.stderr.contains("is refused: its archive had the SHA-256"), "{}", run.stderr);
    assert_eq!(people.run(&["run", "a"]).stdout, "a-1.0.0 acp\n");
}

/// Only build metadata differ: one of them is never taken for the other.
#[test]
fn another_build_of_a_version_is_refused_by_name() {
    let people = people();
    people.publish(&[people.agent("a", "1.0.0+b1")]);
    assert_eq!(people.run(&["install", "a", "--refresh"]).code, 0);
    people.publish(&[people.agent("a", "1.0.0+b2")]);
    for words in [&["update", "--refresh"][..], &["run", "a@1.0.0+b2"], &["install", "a"]] {
        let run = people.run(words);
        let told = "1.0.0+b2 is refused: it is the same version as `1.0.0+b1`, which is installed, and its archive had";
        assert!(run.code == 4 && run.stderr.contains(told), "{words:?}: {}{}", run.stdout, run.stderr);
    }
    for spec in ["a", "a@1.0.0+b1"] {
        assert_eq!(people.run(&["run", spec]).stdout, "a-1.0.0+b1 acp\n");
    }
}

#[test]
fn new_arguments_for_the_same_bytes_send_nothing() {
    let people = people();
    assert_eq!(people.run(&["install", "a"]).code, 0);
    let mut agent = people.agent("a", "1.0.0");
    agent["distribution"]["binary"][host()]["args"] = json!(["--new"]);
    people.publish(&[agent]);
    let archives = || people.server.asked().iter().filter(|path| path.ends_with("a.tar.gz")).count();
    let before = archives();
    assert_eq!(people.run(&["install", "a", "--refresh"]).code, 0);
    assert_eq!((people.run(&["run", "a"]).stdout.as_str(), archives()), ("a-1.0.0 --new\n", before));
}

#[test]
fn an_agent_whose_newer_version_is_held_back_is_repaired() {
    let people = people();
    let (_, installed) = people.json(&["install", "a"]);
    people.publish(&[people.agent_of("a", "3.0.0", &archive("new"), None), people.agent("b", "2.0.0")]);
    let file = std::path::Path::new(text(&installed, "install_dir")).join("files/README");
    std::fs::remove_file(&file).unwrap();
    let (code, report) = people.json(&["update", "--min-age", "3d", "--refresh", "--dry-run"]);
    assert_eq!((code, text(&report["held"][0], "id"), &report["repairs"]), (0, "a", &json!(["a"])), "{report}");
    let (code, report) = people.json(&["update", "--min-age", "3d"]);
    assert_eq!((code, text(&report["held"][0], "id"), &report["repaired"]), (0, "a", &json!(["a"])), "{report}");
    assert!(file.exists());
    let (_, report) = people.json(&["update", "--min-age", "3d"]);
    assert_eq!(report["repaired"], json!([]));
}

/// An agent of another registry with the same id does not replace an installed one.
#[test]
fn an_agent_is_updated_from_the_registry_that_it_is_from() {
    let people = people();
    assert_eq!(people.run(&["install", "a", "b"]).code, 0);
    let host = &people.server.host;
    let own = people.server.url("/");
    // With a password, which is written nowhere.
    let index = format!("http://me:hunter2@{host}/other/registry.json");
    let here = people.server.url("/other/");
    let publish = |agents: &[Value]| {
        people.serve("/other/registry.json", json!({ "version": "1.0.0", "agents": agents }).to_string());
    };
    publish(&[people.agent_of("a", "3.0.0", &archive("other"), None)]);
    let update = |more: &[&str]| people.json(&[&["update", "--index", &index, "--refresh"], more].concat());

    for more in [&[][..], &["--dry-run"]] {
        let (code, report) = update(more);
        let held = |id: &str, (from, to): (&str, &str), rest: String| {
            json!({ "id": id, "from": from, "to": to, "reason": "other-registry", "until": null,
                    "message": format!("it is from {own}{rest}") })
        };
        let all = [
            held("a", ("1.0.0", "3.0.0"), format!("; name it to take it from {here}")),
            held("b", ("2.0.0", "2.0.0"), format!(", and {here} does not have it")),
        ];
        assert_eq!((code, &report["held"], &report["gone"]), (0, &json!(all), &json!([])), "{report}");
        assert_eq!(report["updates"], json!([]));
    }
    let run = people.run(&["update", "--index", &index]);
    assert!(run.stdout.contains(&format!("held b 2.0.0: it is from {own}, and ")), "{}", run.stdout);
    assert!(run.stdout.contains(&format!("held a 1.0.0 -> 3.0.0: it is from {own};")), "{}", run.stdout);
    assert_eq!(people.run(&["run", "a", "--index", &index]).stdout, "a-1.0.0 acp\n");
    // Another index of the same registry is beside it.
    people.serve("/preview.json", json!({ "version": "1.0.0", "agents": [people.agent("a", "1.1.0")] }).to_string());
    let (_, report) = people.json(&["update", "a", "--index", &people.server.url("/preview.json")]);
    assert_eq!((text(&report["updates"][0], "to"), &report["held"]), ("1.1.0", &json!([])), "{report}");

    // A registry may have moved.
    let (code, report) = update(&["b"]);
    assert_eq!((code, text(&report["held"][0], "reason"), &report["gone"]), (0, "other-registry", &json!([])));
    let run = people.run(&["update", "a", "--index", &index]);
    let note = format!("note: a is from {own}, and is asked for in {here} now");
    assert!(run.code == 0 && run.stderr.contains(&note), "{}", run.stderr);
    assert_eq!(
        (run.stdout.as_str(), people.run(&["run", "a"]).stdout.as_str()),
        ("updated a 1.1.0 -> 3.0.0\n", "other acp\n")
    );
    let (_, report) = people.json(&["update"]);
    let held: Vec<&str> = report["held"].as_array().unwrap().iter().map(|held| text(held, "id")).collect();
    assert_eq!((held, &report["up_to_date"]), (vec!["a"], &json!(["b"])), "{report}");
    // So may one with the same version.
    publish(&[people.agent("b", "2.0.0")]);
    let run = people.run(&["update", "b", "--index", &index, "--refresh"]);
    assert_eq!((run.code, run.stdout.as_str()), (0, "everything is up to date\n"), "{}", run.stderr);
    assert_eq!(update(&[]).1["up_to_date"], json!(["b"]));
    // A repair changes no registry, and an installation says so.
    std::fs::remove_file(people.root().join("agents/b").join(folder(&people, "b")).join("files/README")).unwrap();
    assert_eq!(people.json(&["doctor", "--fix"]).0, 0);
    assert_eq!(update(&[]).1["up_to_date"], json!(["b"]));
    let run = people.run(&["install", "b"]);
    assert!(
        run.code == 0 && run.stderr.contains(&format!("b is from {here}, and is asked for in {own} now")),
        "{}",
        run.stderr
    );
    assert_eq!(text(&update(&[]).1["held"][0], "id"), "b");
    for name in crate::people::files(&people.root()).iter().filter(|name| name.ends_with("json")) {
        assert!(!people.env.read(&format!("data/{name}")).contains("hunter2"), "{name}");
    }
}

/// The directory of the only version of an agent.
fn folder(people: &crate::people::People, id: &str) -> String {
    let mut found = std::fs::read_dir(people.root().join("agents").join(id)).unwrap().flatten();
    found.find_map(|item| item.path().is_dir().then(|| item.file_name().into_string().unwrap())).unwrap()
}
