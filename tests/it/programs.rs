//! What programs read: error codes, the origin of an index, the form of lists, and events.

use serde_json::{Value, json};

use crate::agents::people;
use crate::archives::sha256;
use crate::people::{AGENT, People, host};
use crate::server::status;
use crate::support::Env;

#[test]
fn a_failure_has_a_stable_code_and_suggestions() {
    let people = people();
    let offline = people.env.path("empty").display().to_string();
    for (arguments, exit, code, suggestions) in [
        (&["install", "aa"][..], 2, "unknown_agent", &["a"][..]),
        (&["info", "zzz"], 2, "unknown_agent", &[]),
        (&["resolve", "a@9.9.9"], 2, "unknown_version", &["1.0.0"]),
        (&["resolve", "a", "--platform", "windows-aarch64"], 2, "unsupported_platform", &[]),
        (&["resolve", "a", "--dist", "npx"], 2, "unsupported_distribution", &[]),
        (&["which", "a"], 2, "not_installed", &[]),
        (&["list", "--index", "nothing.json"], 3, "index_unavailable", &[]),
        (&["list", "--index", "http://127.0.0.1:9/r.json", "--offline"], 3, "offline", &[]),
        (&["install", "--locked", "--lock", "lock.json", "b"], 4, "lock_mismatch", &[]),
        (&["validate", "--registry-dir", &offline], 3, "invalid_registry", &[]),
        (&["explain", "icon/sizes"], 2, "unknown_rule", &["icon/size"]),
        (&["list", "--instaled"], 2, "usage", &["--installed"]),
    ] {
        people.env.write("lock.json", "schema = 1\n");
        let (got, document) = people.json(arguments);
        assert_eq!((got, &document["error"]["code"]), (exit, &json!(code)), "{arguments:?}: {document}");
        assert_eq!(document["error"]["suggestions"], json!(suggestions), "{arguments:?}");
        assert_eq!(document["error"]["exit_code"], exit);
    }
}

#[test]
fn a_mistake_in_the_arguments_is_told_in_full() {
    let env = Env::empty();
    for (arguments, message, help) in [
        (
            &["info", "--json"][..],
            "the following required arguments were not provided: <ID[@VERSION]>",
            "run `acp-registry info --help`",
        ),
        (
            &["list", "--json", "--color", "pink"],
            "invalid value 'pink' for '--color <WHEN>' [possible values: auto, always, never]",
            "run `acp-registry list --help`",
        ),
        (
            &["--format", "json", "ls", "--instaled"],
            "unexpected argument '--instaled' found",
            "did you mean `--installed`?",
        ),
    ] {
        let run = env.run(arguments);
        let document: Value = serde_json::from_str(&run.stdout).unwrap();
        let error = &document["error"];
        assert_eq!((run.code, &error["message"], &error["help"]), (2, &json!(message), &json!(help)));
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words(&run.stderr).starts_with(&format!("error: {message}")), "{}", run.stderr);
    }
    let run = env.run(&["list", "--progress", "json", "--instaled"]);
    let [event] = &events(&run.stderr)[..] else { panic!("{}", run.stderr) };
    assert_eq!((run.code, run.stdout.as_str(), &event["event"]), (2, "", &json!("error")));
    assert_eq!(event["suggestions"], json!(["--installed"]));
}

#[test]
fn what_an_installation_refuses_is_told_apart() {
    let people = People::new();
    let wrong = "0".repeat(64);
    let mut digest = people.agent("digest", "1.0.0");
    digest["distribution"]["binary"][host()]["sha256"] = wrong.into();
    let mut cmd = people.agent("cmd", "1.0.0");
    cmd["distribution"]["binary"][host()]["cmd"] = "./nothing".into();
    let mut gone = people.agent("gone", "1.0.0");
    gone["distribution"]["binary"][host()]["archive"] = people.server.url("/gone.tar.gz").into();
    people.publish(&[digest, cmd, gone]);
    for (id, exit, code) in
        [("digest", 4, "digest_mismatch"), ("cmd", 3, "cmd_not_found"), ("gone", 3, "install_failed")]
    {
        let (got, document) = people.json(&["install", id]);
        assert_eq!((got, &document["error"]["code"]), (exit, &json!(code)), "{document}");
        assert_eq!((&document["errors"][0]["id"], &document["errors"][0]["code"]), (&json!(id), &json!(code)));
    }
}

/// Refused like in `distribution/archive-format`, whatever the URL serves.
#[test]
fn an_archive_with_the_ending_of_an_installer_is_refused() {
    let people = People::new();
    let mut image = people.agent("image", "1.0.0");
    let archive = image["distribution"]["binary"][host()]["archive"].as_str().unwrap().to_owned();
    image["distribution"]["binary"][host()]["archive"] = format!("{archive}.dmg?x=.zip").into();
    people.publish(&[image]);
    let (exit, document) = people.json(&["install", "image"]);
    assert_eq!((exit, &document["error"]["code"]), (3, &json!("install_failed")), "{document}");
    assert!(document["error"]["message"].as_str().unwrap().contains("do not unpack (`.dmg`)"), "{document}");
}

#[test]
fn the_index_says_where_it_came_from_and_whether_it_may_be_old() {
    let people = people();
    let (_, list) = people.json(&["list"]);
    let index = &list["index"];
    assert_eq!(index["source"], people.server.url("/registry.json"));
    assert_eq!((&index["stale"], &index["sha256"]), (&json!(false), &list["index_sha256"]));
    let fetched = index["fetched_at"].as_str().unwrap().to_owned();
    assert!(fetched.len() == 20 && fetched.ends_with('Z'), "{fetched}");
    for command in [
        &["search", "a"][..],
        &["info", "a"],
        &["resolve", "a"],
        &["install", "a"],
        &["update"],
        &["config", "zed", "a"],
    ] {
        let (code, document) = people.json(command);
        assert_eq!((code, &document["index"]["sha256"]), (0, &index["sha256"]), "{document}");
    }
    // If the server fails, the copy is used, and the document says so.
    people.answer("/registry.json", status(500));
    let (code, old) = people.json(&["list", "--refresh"]);
    assert_eq!((code, &old["index"]["stale"]), (0, &json!(true)), "{old}");
    let (_, file) = people.json(&["list", "--index", "r.json"]);
    assert_eq!(file["error"]["code"], "index_unavailable");
    people.env.write("r.json", json!({ "agents": [people.agent("c", "1.0.0")] }).to_string());
    let (_, file) = people.json(&["list", "--index", "r.json"]);
    assert_eq!((&file["index"]["source"], &file["index"]["stale"]), (&json!("r.json"), &json!(false)));
}

#[test]
fn lists_have_one_shape() {
    let people = People::new();
    let mut agent = people.agent("a", "1.0.0");
    agent["license"] = "MIT".into();
    agent["icon"] = "https://h.example/a.svg".into();
    people.publish(&[agent, people.agent("b", "2.0.0")]);
    people.json(&["install", "a"]);
    let (_, list) = people.json(&["list"]);
    let (_, search) = people.json(&["search", "a"]);
    let (_, installed) = people.json(&["list", "--installed"]);
    let [a, b] = [&list["agents"][0], &list["agents"][1]];
    assert_eq!(
        (&a["icon"], &a["license"], &a["installed"]),
        (&json!("https://h.example/a.svg"), &json!("MIT"), &json!(true))
    );
    assert_eq!((&b["icon"], &b["installed_version"], &b["installed"]), (&Value::Null, &Value::Null, &json!(false)));
    assert_eq!(search["agents"][0], *a);
    for (name, value) in a.as_object().unwrap() {
        assert_eq!(installed["agents"][0][name], *value, "{name}");
    }
    // Without an index, its members are null.
    let (code, alone) = people.json(&["list", "--installed", "--index", "nothing.json"]);
    assert_eq!((code, &alone["agents"][0]["license"], &alone["index"]), (0, &Value::Null, &Value::Null));
    assert_eq!(alone["agents"][0]["installed_version"], "1.0.0");
}

/// The events that a run wrote to stderr, which must contain nothing else.
fn events(text: &str) -> Vec<Value> {
    assert!(text.is_ascii());
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}

#[test]
fn progress_is_one_object_a_line() {
    let people = People::new();
    let bytes = crate::archives::gz(&crate::archives::tar(&[(AGENT, b"#!/bin/sh\n"), ("data", &vec![7; 3 << 20])]));
    people.publish(&[people.agent_of("a", "1.0.0", &bytes, Some(&sha256(&bytes)))]);
    let run = people.run(&["--progress", "json", "install", "a"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let events = events(&run.stderr);
    let phases = |kind: &str| -> Vec<&str> {
        let events = events.iter().filter(|event| event["event"] == kind);
        events.filter_map(|event| event["phase"].as_str()).collect()
    };
    let installing = phases("installing");
    assert_eq!((installing.first(), installing.last()), (Some(&"started"), Some(&"ended")), "{}", run.stderr);
    assert_eq!(phases("checking"), ["starting", "done"], "{}", run.stderr);
    let last = events.iter().rfind(|event| event["phase"] == "downloading").unwrap();
    assert_eq!(
        (&last["received"], &last["total"], &last["id"]),
        (&json!(bytes.len()), &json!(bytes.len()), &json!("a"))
    );
}

#[test]
fn notes_and_errors_are_events_too_and_hide_nothing_from_a_terminal() {
    let people = people();
    let run = people.run(&["install", "a\u{1b}[31m\u{202e}", "--progress=json"]);
    let event = events(&run.stderr).pop().unwrap();
    assert_eq!((run.code, &event["event"], &event["code"]), (2, &json!("error"), &json!("unknown_agent")));
    let env = Env::with(&["a"]);
    let checks = env.run(&["validate", "--progress", "json", "nobody"]);
    assert_eq!((checks.code, events(&checks.stderr).len()), (2, 1), "{}", checks.stderr);
}
