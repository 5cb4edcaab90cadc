//! Output on a terminal: lines that fit, and colours.
#![cfg(unix)]

use std::fs::{self, File};
use std::io::Read as _;
use std::process::{Command, Stdio};

use nix::pty::{Winsize, openpty};
use serde_json::json;

use crate::packages::{npm_command, with_npm};
use crate::people::{People, entry};
use crate::support::Env;

/// Runs a program with stdout on a terminal of this width; returns the exit code and the output.
fn shown(mut command: Command, columns: u16) -> (i32, String) {
    let size = Winsize { ws_row: 40, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    let pty = openpty(&size, None).unwrap();
    let mut child = command.stdout(Stdio::from(pty.slave)).stderr(Stdio::null()).spawn().unwrap();
    // The command holds a copy of the other end, which must be closed.
    drop(command);
    let mut shown = Vec::new();
    // Linux reports an error if the other end is closed.
    let _ = File::from(pty.master).read_to_end(&mut shown);
    let code = child.wait().unwrap().code().unwrap_or(-1);
    (code, String::from_utf8(shown).unwrap().replace("\r\n", "\n"))
}

/// The text without colours.
fn plain(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |out, part| out + part.split_once('m').unwrap().1)
}

/// Asserts that every line fits, except for single long words such as URLs.
fn assert_fits(text: &str, columns: u16, what: &str) {
    for line in plain(text).lines() {
        let is_word = line.split_whitespace().count() == 1;
        assert!(line.chars().count() <= usize::from(columns) || is_word, "{what} at {columns}: {line}\n{text}");
    }
}

/// An installed agent, and others with long texts.
fn people() -> People {
    let people = People::new();
    let words = "A coding agent that reads, writes and explains code, and speaks to you about all of it for hours";
    let mut installed = people.agent("first", "1.0.0");
    installed["description"] = words.into();
    installed["authors"] = json!(["A person with a name", "Another person with a longer name", "A company, Inc."]);
    let mut other = entry("some-agent-with-a-long-id", "2026.11.21-nightly", &json!({ "npx": { "package": "p@1" } }));
    other["description"] = words.into();
    people.publish(&[installed, other]);
    assert_eq!(people.run(&["install", "first", "--no-check"]).code, 0);
    people
}

#[test]
fn lines_of_results_fit_the_terminal() {
    let people = people();
    let env = Env::with(&["a", "b"]);
    // On one line, like other tools write it.
    let manifest: serde_json::Value = serde_json::from_str(&env.read("r/a/agent.json")).unwrap();
    env.write("r/a/agent.json", manifest.to_string().replace("\"MIT\"", "\"whatever\""));
    env.write("old.json", json!({ "version": "1.0.0", "agents": [entry("a", "1.0.0", &json!({}))] }).to_string());
    let mut changed = entry("a", "1.0.0", &json!({ "npx": { "package": "p@1" } }));
    for name in ["authors", "website", "repository", "icon", "license"] {
        changed[name] = "changed".into();
    }
    env.write("new.json", json!({ "version": "1.0.0", "agents": [changed] }).to_string());
    let with_people: [&[&str]; 8] = [
        &["list"],
        &["list", "--installed"],
        &["search", "agent"],
        &["info", "first"],
        &["info", "some-agent-with-a-long-id"],
        &["resolve", "first"],
        &["doctor"],
        &["update", "--dry-run"],
    ];
    let with_registry: [&[&str]; 7] = [
        &["-h"],
        &["--help"],
        &["validate"],
        &["rules"],
        &["explain", "icon/size"],
        &["diff", "old.json", "new.json"],
        // No request is sent, since the package is not pinned to a version.
        &["verify", "a", "--dist", "npx"],
    ];
    for columns in [60, 200] {
        for arguments in with_people {
            let (_, text) = shown(people.command(arguments), columns);
            assert!(!text.is_empty(), "{arguments:?}");
            assert_fits(&text, columns, &arguments.join(" "));
        }
        for arguments in with_registry {
            let (_, text) = shown(env.command(arguments), columns);
            // Code is not wrapped, so that it can be copied.
            let is_code = |line: &&str| arguments[0] == "explain" && plain(line).starts_with("    ");
            let text: String = text.lines().filter(|line| !is_code(line)).map(|line| format!("{line}\n")).collect();
            assert_fits(&text, columns, &arguments.join(" "));
        }
    }
    let (code, text) = shown(env.command(&["validate"]), 60);
    assert!(code == 0 && plain(&text).contains("…") && text.contains("\"whatever\""), "{text}");
    // The summary of a rule is complete.
    let (_, rules) = shown(env.command(&["rules"]), 60);
    assert!(rules.contains("    a Linux program needs a C library that many systems do\n    not have\n"), "{rules}");
    let (_, list) = shown(people.command(&["list"]), 60);
    assert!(list.contains("\n2 agents; the index is ") && list.ends_with(" old\n"), "{list}");
    assert!(people.run(&["info", "first"]).stdout.contains("\n  index        "));
    // Nothing is lost if a row continues on further lines, and nothing is cut without a terminal.
    let (_, narrow) = shown(people.command(&["list"]), 60);
    for part in ["some-agent-with-a-long-id", "2026.11.21-nightly", "npx", "A coding agent that reads, writes"] {
        assert!(plain(&narrow).contains(part), "{part} in {narrow}");
    }
    // What is cut ends with a whole word.
    let words = "A coding agent that reads, writes and explains code, and speaks to you about all of it for hours";
    for columns in 30..160 {
        let (_, list) = shown(people.command(&["list"]), columns);
        for line in plain(&list).lines().filter(|line| line.contains('…')) {
            let cut = &line[line.find("A coding").unwrap()..line.find('…').unwrap()];
            assert!(words.strip_prefix(cut).unwrap().starts_with(' '), "{columns}: {line}");
        }
    }
    let piped = people.run(&["list"]).stdout;
    assert!(piped.lines().count() == 3 && !piped.contains("\n    "), "{piped}");
}

/// Rows of a pipe have the same columns whatever is installed.
#[test]
fn a_list_has_no_column_in_which_nothing_is() {
    let people = People::new();
    people.publish(&[people.agent("first", "1.0.0"), people.agent("second", "1.0.0")]);
    let head = |text: &str| text.lines().next().unwrap_or_default().split_whitespace().map(str::to_owned).collect();
    let on_terminal = || -> Vec<String> {
        let (code, text) = shown(people.command(&["list"]), 80);
        assert_eq!(code, 0, "{text}");
        head(&plain(&text))
    };
    let whole = ["id", "version", "installed", "by", "description"];
    assert_eq!(on_terminal(), ["id", "version", "by", "description"]);
    let in_pipe: Vec<String> = head(&people.run(&["list"]).stdout);
    assert_eq!(in_pipe, whole);
    assert_eq!(people.run(&["install", "first", "--no-check"]).code, 0);
    assert_eq!(on_terminal(), whole);
}

#[test]
fn a_terminal_has_colours_unless_they_are_unwanted() {
    let people = people();
    for (arguments, colored) in [
        (["list"].as_slice(), "\u{1b}[36mfirst\u{1b}[0m"),
        (&["info", "first"], "\u{1b}[1mThe first\u{1b}[0m"),
        (&["explain", "icon/size"], "\u{1b}[36mwidth=\"16\" height=\"16\"\u{1b}[0m"),
    ] {
        let (code, text) = shown(people.command(arguments), 200);
        assert_eq!(code, 0);
        assert!(text.contains(colored), "{arguments:?}: {text:?}");
        let mut command = people.command(arguments);
        command.env("NO_COLOR", "1");
        assert!(!shown(command, 200).1.contains('\u{1b}'), "{arguments:?}");
        assert!(!shown(people.command(&[arguments, &["--color", "never"]].concat()), 200).1.contains('\u{1b}'));
        assert!(!people.run(arguments).stdout.contains('\u{1b}'));
        assert!(people.run(&[arguments, &["--color", "always"]].concat()).stdout.contains(colored));
    }
}

#[test]
fn a_rule_is_explained_without_markup() {
    let env = Env::empty();
    for text in [shown(env.command(&["explain", "icon/size"]), 80).1, env.run(&["explain", "icon/size"]).stdout] {
        let text = plain(&text);
        assert!(text.contains("\nWhy\n\n") && text.contains("    <svg xmlns="), "{text}");
        assert!(!text.contains("```") && !text.contains("# "), "{text}");
    }
}

#[test]
fn progress_fits_the_terminal_and_says_how_far_npm_is() {
    for columns in [60, 200] {
        let people = with_npm();
        people.env.write("bin/fetching", "");
        let size = Winsize { ws_row: 40, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        let pty = openpty(&size, None).unwrap();
        let mut command = npm_command(&people, &["install", "p", "--no-check"]);
        command.env("TERM", "xterm").stdout(Stdio::null()).stderr(Stdio::from(pty.slave));
        let mut child = command.spawn().unwrap();
        drop(command);
        let (mut screen, mut shown, mut buffer) = (File::from(pty.master), Vec::new(), [0; 1000]);
        while !String::from_utf8_lossy(&shown).contains("npm: fetching packages: 1") {
            let length = screen.read(&mut buffer).unwrap();
            shown.extend_from_slice(&buffer[..length]);
        }
        fs::remove_file(people.env.path("bin/fetching")).unwrap();
        let _ = screen.read_to_end(&mut shown);
        let shown = String::from_utf8(shown).unwrap();
        assert!(child.wait().unwrap().success(), "{shown}");
        // Sentences are wrapped by the terminal, so that they can be copied.
        for line in shown.split(['\r', '\n']).filter(|line| !line.contains("note: ")) {
            // Cursor movements have no width.
            let mut parts = line.split("\u{1b}[");
            let first = parts.next().unwrap_or_default().to_owned();
            let line = parts.fold(first, |line, part| {
                line + part.trim_start_matches(|c: char| !c.is_alphabetic()).get(1..).unwrap_or_default()
            });
            assert!(line.chars().count() <= usize::from(columns), "{columns}: {line:?}");
        }
    }
}
