//! Where people find agents: indexes, and copies of them.
#![cfg(unix)]

use std::fs;
use std::io::Write as _;
use std::thread::sleep;
use std::time::Duration;

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
    for (place, part) in [("nothing.json", "there is no such file"), ("r", "holds neither"), ("Cargo.toml", "no such")]
    {
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
    assert_eq!(ids(&["APPLE", "eats"]), ["zebra"]);
    assert_eq!(ids(&["nothing"]), [] as [&str; 0]);
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

#[test]
fn an_unchanged_index_is_not_sent_again() {
    let people = People::with_root("data", |asked, stream| {
        if asked.path != "/registry.json" {
            return Ok(false);
        }
        if asked.header("if-none-match") == "\"7\"" {
            write!(stream, "HTTP/1.1 304 X\r\nConnection: close\r\n\r\n")?;
        } else {
            let body = r#"{"agents":[{"id":"a","version":"1.0.0","distribution":{"npx":{}}}]}"#;
            write!(stream, "HTTP/1.1 200 X\r\nETag: \"7\"\r\nContent-Length: {}\r\n\r\n{body}", body.len())?;
        }
        Ok(true)
    });
    for _ in 0..3 {
        assert!(people.run(&["list", "--refresh"]).stdout.contains("\na "));
    }
    let asked: Vec<bool> =
        people.server.requests().iter().map(|asked| asked.headers.contains_key("if-none-match")).collect();
    assert_eq!(asked, [false, true, true]);
}

/// An index of more than a mebibyte, whose last agent has this version, with an entry that cannot be used.
fn large(version: &str) -> String {
    let pad = "x".repeat(4000);
    let agent = |number: usize, version: &str| {
        json!({ "id": format!("a-{number}"), "name": "é", "version": version, "description": "About it. More.", "pad": pad,
            "distribution": { "npx": { "package": format!("a@{version}") }, "binary": { "new-os": {} } } })
    };
    let mut agents: Vec<_> = (0..400).map(|number| agent(number, "1.0.0")).collect();
    agents.insert(7, json!({ "id": "../x" }));
    agents.push(agent(400, version));
    json!({ "agents": agents }).to_string()
}

#[test]
fn what_was_found_in_a_large_index_is_found_again_until_it_changes() {
    let people = People::new();
    let url = people.server.url("/registry.json");
    let summaries = || {
        let names = files(&people.env.path("home"));
        names.into_iter().filter(|name| name.ends_with(".entries")).collect::<Vec<_>>()
    };
    let shown = |index: &str| {
        ["list", "info", "resolve"].map(|command| {
            let id = if command == "list" { vec![] } else { vec!["a-400"] };
            let run = people.run(&[&[command, "--json", "--index", index], &id[..]].concat());
            assert!(run.code == 0 || command == "resolve", "{}", run.stderr);
            (run.stdout, run.stderr)
        })
    };
    for (index, is_copied) in [(url.as_str(), true), ("large.json", false)] {
        let publish = |version: &str| {
            people.serve("/registry.json", large(version));
            people.env.write("large.json", large(version));
        };
        publish("1.0.0");
        let before = summaries();
        // Here, the first command reads the index, and the others find its copy.
        let first = shown(index);
        assert!(
            first[0].0.contains("entry 8 (`../x`) is passed over") && first[0].0.contains("\"new-os\""),
            "{}",
            first[0].0
        );
        if !is_copied {
            // Nobody can tell yet whether a file that was just written changes again.
            assert_eq!(summaries(), before);
            sleep(Duration::from_millis(2200));
            assert_eq!(shown(index), first);
        }
        assert_eq!(shown(index), first);
        let mut new = summaries();
        new.retain(|name| !before.contains(name));
        let [summary] = new.as_slice() else { panic!("one summary: {new:?}") };

        let path = people.env.path("home").join(summary);
        let text = fs::read_to_string(&path).unwrap();
        let list = || people.run(&["list", "--index", index]).stdout;
        fs::write(&path, text.replace("About it.", "Told so.")).unwrap();
        assert!(list().contains("  Told so\n"));
        for damaged in [&text[..text.len() / 2], &text.replacen("a-5", "../a", 1), ""] {
            fs::write(&path, damaged).unwrap();
            assert!(list().contains("  About it\n"));
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        // A place that is not that of the agent gives an error, never another agent.
        fs::write(&path, text.replace("a-400", "a-999")).unwrap();
        let run = people.run(&["info", "a-999", "--index", index]);
        assert!(run.code == 3 && run.stderr.contains("has changed since it was read"), "{}", run.stderr);

        publish("1.0.7");
        let refresh: &[&str] = if is_copied { &["--refresh"] } else { &[] };
        let run = people.run(&[&["list", "--index", index], refresh].concat());
        assert!(run.stdout.contains("\na-400  1.0.7 "), "{}", run.stderr);
    }
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
    let run = people.run(&["install", "b", "--offline"]);
    assert!(run.code == 3 && run.stderr.contains("--offline"), "{}", run.stderr);
}
