//! Where people find agents: indexes, and copies of them.
#![cfg(unix)]

use std::fs;
use std::io::Write as _;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::agents::{people, text};
use crate::archives::sha256;
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
    // All agents of the test have this licence, and a whole word comes before a part of one.
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

/// Somebody whose host has this index, and says so when it is asked whether it has changed.
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

/// A summary in which somebody has changed something, and put in order what tells so.
fn signed(summary: &str, from: &str, to: &str) -> String {
    let (head, rest) = summary.split_once('\n').unwrap();
    let rest = rest.replace(from, to);
    format!("{} {}\n{rest}", head.split(' ').next().unwrap(), sha256(rest.as_bytes()))
}

#[test]
fn a_damaged_copy_is_fetched_anew() {
    let people = unchanging(large("1.0.0"));
    assert_eq!(people.run(&["list"]).code, 0);
    let names = files(&people.env.path("home"));
    let [summary, copy] = [".entries", ".index"].map(|suffix| {
        let name = names.iter().find(|name| name.ends_with(suffix)).unwrap();
        people.env.path("home").join(name)
    });
    let whole = fs::read_to_string(&copy).unwrap();
    for damaged in [whole.replacen("\"id\":\"a-5\"", "\"id\":\"a-5x", 1), whole.replace("a@1.0.0", "a@6.6.6")] {
        assert_eq!(damaged.len(), whole.len());
        fs::write(&copy, &damaged).unwrap();
        let run = people.run(&["info", "a-5", "--refresh"]);
        assert!(run.code == 0 && run.stdout.contains("a@1.0.0"), "{}", run.stderr);
        assert_eq!(fs::read_to_string(&copy).unwrap(), whole);
    }
    // Without a summary, all of it is read, and what is wrong is seen at once.
    fs::remove_file(summary).unwrap();
    fs::write(&copy, whole.replace("a@1.0.0", "a@6.6.6")).unwrap();
    let run = people.run(&["info", "a-5"]);
    assert!(run.code == 0 && run.stdout.contains("a@1.0.0"), "{}", run.stderr);
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
            // When the host last confirmed its index moves on.
            let lines = run.stdout.lines().filter(|line| !line.contains("\"fetched_at\""));
            (lines.collect::<Vec<_>>().join("\n"), run.stderr)
        })
    };
    for (index, is_copied) in [(url.as_str(), true), ("large.json", false)] {
        let publish = |version: &str| {
            people.serve("/registry.json", large(version));
            people.env.write("large.json", large(version));
        };
        let written = Instant::now();
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
            if written.elapsed() < Duration::from_millis(1900) {
                assert_eq!(summaries(), before);
            }
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
        // It is read, and a place that is not that of the agent gives an error, never another agent.
        fs::write(&path, signed(&text, "About it.", "Told so.")).unwrap();
        assert!(list().contains("  Told so\n"));
        fs::write(&path, signed(&text, "a-400", "a-999")).unwrap();
        let run = people.run(&["info", "a-999", "--index", index]);
        assert!(run.code == 3 && run.stderr.contains("has changed since it was read"), "{}", run.stderr);
        assert!(run.stderr.contains(index) != is_copied && run.stderr.contains("--refresh"), "{}", run.stderr);

        let signed = signed(&text, "\"a-5\"", "\"../a\"");
        for damaged in [&text[..text.len() / 2], &text.replacen("About", "Told ", 1), &signed, ""] {
            fs::write(&path, damaged).unwrap();
            assert!(list().contains("  About it\n"));
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        // Whatever is there makes nobody wait, and is written through by nobody.
        fs::write(people.env.path("victim"), "mine").unwrap();
        let victim = people.env.path("victim");
        for make in [&["mkfifo"][..], &["ln", "-s", victim.to_str().unwrap()]] {
            fs::remove_file(&path).unwrap();
            assert!(Command::new(make[0]).args(&make[1..]).arg(&path).status().unwrap().success());
            assert!(list().contains("  About it\n"));
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        assert_eq!(people.env.read("victim"), "mine");

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
