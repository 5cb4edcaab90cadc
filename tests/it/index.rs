//! Indexes and their cached copies.

use std::fs;
use std::io::Write as _;
use std::process::Command;

use serde_json::json;

use crate::agents::{people, text};
use crate::people::{People, files};
use crate::server::{ok, status};

#[test]
fn an_index_is_read_leniently_and_from_anywhere() {
    let people = people();
    let mut hostile = people.agent("good", "1.0.0");
    hostile["name"] = "x\u{1b}[2Jy".into();
    hostile["description"] = "\u{202e}reversed".into();
    hostile["new"] = json!([1]);
    // Other members are read only when they are asked for.
    let half = people.agent("half", "1.0.0").to_string().replacen('{', r#"{"website":"\ud800","#, 1);
    people.env.write("half.json", format!("{{ \"agents\": [{half}] }}"));
    let run = people.run(&["list", "--index", "half.json"]);
    assert!(run.code == 0 && run.stdout.is_empty(), "{}", run.stdout);
    assert!(run.stderr.contains("(`half`) is passed over: it has half of a surrogate pair"), "{}", run.stderr);
    let (code, document) = people.json(&["info", "half", "--index", "half.json"]);
    assert_eq!((code, &document["error"]["code"]), (2, &json!("unknown_agent")), "{document}");
    let index =
        json!({ "agents": [7, { "id": "../x" }, hostile, { "id": "broken", "version": 7 }], "more": 1 }).to_string();
    people.env.write("pub/registry.json", &index);
    people.env.write("plain.json", &index);
    people.env.write("checkout/good/agent.json", people.agent("good", "1.0.0").to_string());
    people.env.write("checkout/bad/agent.json", "{");
    for (place, warnings) in [("pub", 3), ("plain.json", 3), ("checkout", 1)] {
        let run = people.run(&["list", "--index", place]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert!(run.stdout.contains("\ngood ") && !run.stdout.contains('\u{1b}') && !run.stdout.contains('\u{202e}'));
        assert_eq!(run.stderr.matches("warning:").count(), warnings, "{}", run.stderr);
        let info = people.run(&["info", "good", "--index", place]);
        assert!(info.stdout.contains("id           good") && !info.stdout.contains('\u{1b}'), "{}", info.stdout);
    }
    people.env.write("page.json", "<!DOCTYPE html>\n<title>Sign in</title>");
    people.env.write("empty.json", "");
    people.env.write("registry/a/agent.json", "{}");
    people.env.write("fresh/registry.toml", "");
    let (code, document) = people.json(&["list", "--index", "fresh"]);
    assert_eq!((code, &document["agents"]), (0, &json!([])), "{document}");
    for (place, part) in [
        ("nothing.json", "there is no such file"),
        ("r", "holds neither"),
        (".", "help: did you mean `--index ."),
        ("Cargo.toml", "no such"),
        ("page.json", "is not a registry index: it is an HTML page, as servers send in place of an error\nhelp: "),
        ("empty.json", "is not a registry index: it is an empty file\nhelp: "),
    ] {
        let run = people.run(&["list", "--index", place]);
        assert_eq!(run.code, 3, "{place}");
        assert!(run.stderr.contains(part), "{}", run.stderr);
    }
}

#[test]
fn a_search_finds_words_anywhere_and_names_first() {
    let people = People::new();
    let mut other = people.agent("zebra", "1.0.0");
    other["description"] = "Eats APPLES and more".into();
    people.publish(&[other, people.agent("apple", "1.0.0"), people.agent("pear", "1.0.0")]);
    let ids = |words: &[&str]| {
        let (_, found) = people.json(&[&["search"], words].concat());
        found["agents"].as_array().unwrap().iter().map(|agent| text(agent, "id").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(ids(&["apple"]), ["apple", "zebra"]);
    // An agent with only one of the words comes last.
    assert_eq!(ids(&["APPLE", "eats"]), ["zebra", "apple"]);
    assert_eq!(ids(&["nothing"]), [] as [&str; 0]);
    // All agents of the test have this licence. A match of a whole word ranks first.
    assert_eq!(ids(&["mit"]).len(), 3);
    let mut one = people.agent("one", "1.0.0");
    one["authors"] = serde_json::json!(["Émile", 7]);
    let mut two = people.agent("two", "1.0.0");
    two["description"] = "Understands semiles".into();
    people.publish(&[two, one]);
    let (_, found) = people.json(&["search", "emile", "--refresh"]);
    let found: Vec<&str> = found["agents"].as_array().unwrap().iter().map(|agent| text(agent, "id")).collect();
    assert_eq!(found, ["one", "two"]);
}

#[test]
fn a_copy_of_the_index_serves_while_it_is_fresh_and_when_the_host_is_gone() {
    let people = people();
    assert_eq!(people.run(&["list", "--offline"]).code, 3);
    let asked = || people.server.asked().iter().filter(|path| *path == "/registry.json").count();
    assert_eq!(people.run(&["list"]).code, 0);
    assert_eq!(people.run(&["list"]).code, 0);
    assert_eq!(asked(), 1);
    people.publish(&[people.agent("new", "1.0.0")]);
    assert!(people.run(&["list"]).stdout.contains("\nb "));
    assert!(people.run(&["list", "--refresh"]).stdout.contains("\nnew "));
    assert_eq!(asked(), 2);
    for broken in [status(500), status(404), ok("<html>"), ok("{}")] {
        people.answer("/registry.json", broken);
        let run = people.run(&["list", "--refresh"]);
        assert!(run.code == 0 && run.stdout.contains("\nnew "), "{}", run.stderr);
        assert!(run.stderr.contains("warning: the registry index is a copy of "), "{}", run.stderr);
    }
    let before = people.server.asked().len();
    let run = people.run(&["list", "--offline"]);
    assert!(run.code == 0 && run.stdout.contains("\nnew ") && run.stderr.is_empty(), "{}", run.stderr);
    assert_eq!(people.server.asked().len(), before);
}

/// An index whose server answers conditional requests with "not modified".
fn unchanging(body: String) -> People {
    People::with_root("data", move |asked, stream| {
        if asked.path != "/registry.json" {
            return Ok(false);
        }
        if asked.header("if-none-match") == "\"7\"" {
            write!(stream, "HTTP/1.1 304 X\r\nConnection: close\r\n\r\n")?;
        } else {
            write!(stream, "HTTP/1.1 200 X\r\nETag: \"7\"\r\nContent-Length: {}\r\n\r\n{body}", body.len())?;
        }
        Ok(true)
    })
}

#[test]
fn an_unchanged_index_is_not_sent_again() {
    let body = r#"{"agents":[{"id":"a","version":"1.0.0","distribution":{"npx":{}}}]}"#;
    let people = unchanging(body.to_owned());
    for _ in 0..3 {
        assert!(people.run(&["list", "--refresh"]).stdout.contains("\na "));
    }
    let asked: Vec<bool> =
        people.server.requests().iter().map(|asked| asked.headers.contains_key("if-none-match")).collect();
    assert_eq!(asked, [false, true, true]);
}

#[cfg(unix)]
#[test]
fn a_damaged_copy_is_fetched_anew() {
    let agent = r#"{"id":"a","version":"1.0.0","distribution":{"npx":{"package":"a@1.0.0"}}}"#;
    let people = unchanging(format!(r#"{{"agents":[{agent}]}}"#));
    assert_eq!(people.run(&["list"]).code, 0);
    let names = files(&people.env.path("home"));
    let copy = people.env.path("home").join(names.iter().find(|name| name.contains("/indexes/")).unwrap());
    let whole = fs::read_to_string(&copy).unwrap();
    for damaged in [whole.replace("\"id\":\"a\"", "\"id\":\"a"), whole.replace("a@1.0.0", "a@6.6.6")] {
        for refresh in [&["--refresh"][..], &[]] {
            fs::write(&copy, &damaged).unwrap();
            let run = people.run(&["info", "a", "--offline"]);
            assert!(run.code == 3 && run.stderr.contains("there is no copy of "), "{}", run.stderr);
            let run = people.run(&[&["info", "a"], refresh].concat());
            assert!(run.code == 0 && run.stdout.contains("a@1.0.0"), "{}", run.stderr);
            assert_eq!(fs::read_to_string(&copy).unwrap(), whole);
        }
    }
    // A foreign file in place of the copy blocks no command, and is not written through.
    people.env.write("victim", "mine");
    let victim = people.env.path("victim");
    for make in [&["mkfifo"][..], &["ln", "-s", victim.to_str().unwrap()]] {
        fs::remove_file(&copy).unwrap();
        assert!(Command::new(make[0]).args(&make[1..]).arg(&copy).status().unwrap().success());
        assert_eq!(people.run(&["info", "a"]).code, 0);
        assert_eq!(fs::read_to_string(&copy).unwrap(), whole);
    }
    assert_eq!(people.env.read("victim"), "mine");
}

#[test]
fn an_entry_that_cannot_be_represented_is_its_own_affair() {
    let people = people();
    assert_eq!(people.run(&["install", "a", "b"]).code, 0);
    let mut index = json!({ "agents": [people.agent("a", "9.0.0"), people.agent("b", "9.0.0")] }).to_string();
    index = index.replacen("{\"id\":\"a\"", "{\"rating\":1e999,\"id\":\"a\"", 1);
    assert!(index.contains("1e999"), "{index}");
    people.serve("/registry.json", index);
    let (code, report) = people.json(&["update", "--refresh"]);
    assert_eq!(
        (code, &report["updates"][0]["id"], &report["errors"][0]["id"]),
        (3, &json!("b"), &json!("a")),
        "{report}"
    );
    let run = people.run(&["info", "a"]);
    assert!(run.code == 3 && run.stderr.contains("of `a` cannot be read: number out of range"), "{}", run.stderr);
}

#[test]
fn after_one_installation_nothing_is_sent() {
    let people = people();
    assert_eq!(people.run(&["install", "a"]).code, 0);
    let before = people.server.asked().len();
    for arguments in [&["run", "a"][..], &["which", "a"], &["install", "a", "--offline"], &["list", "--installed"]] {
        let run = people.run(arguments);
        assert_eq!(run.code, 0, "{arguments:?} {}", run.stderr);
    }
    assert_eq!(people.server.asked().len(), before);
    for more in [&[][..], &["--dry-run"]] {
        let run = people.run(&[&["install", "b", "--offline"], more].concat());
        assert!(run.code == 3 && run.stderr.contains("--offline"), "{}", run.stderr);
    }
    assert_eq!(people.run(&["install", "a", "--offline", "--dry-run"]).code, 0);
}

#[test]
fn a_copy_that_its_host_forbids_serves_only_without_it() {
    let people = people();
    let index = json!({ "version": "1.0.0", "agents": [people.agent("a", "1.0.0")] }).to_string();
    for control in ["no-store", "no-cache"] {
        let headers = vec![("Cache-Control", control.to_owned())];
        people.answer("/registry.json", (200, headers, index.clone().into_bytes()));
        let count = || people.server.asked().iter().filter(|path| **path == "/registry.json").count();
        let before = count();
        for words in [&["list", "--refresh"][..], &["list"]] {
            assert_eq!(people.run(words).code, 0, "{control} {words:?}");
        }
        assert_eq!(count() - before, 2, "{control}");
        assert_eq!(people.run(&["list", "--offline"]).code, 0);
    }
}
