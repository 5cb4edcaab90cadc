//! A version with a recorded digest is not replaced, whatever an index says later.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::archives::{gz, sha256, tar};
#[cfg(feature = "world")]
use crate::people::entry;
use crate::people::{AGENT, People, archive, host};
#[cfg(feature = "world")]
use crate::real::is_there;
#[cfg(feature = "world")]
use crate::support::missing;

/// Installs agent `a` 1.0.0 from an index with or without its digest; also returns the directory of the version.
fn installed(has_digest: bool) -> (People, PathBuf) {
    let people = People::new();
    people.publish(&[agent(&people, has_digest)]);
    let (code, document) = people.json(&["install", "a"]);
    assert_eq!((code, &document["verified"]), (0, &json!(if has_digest { "manifest" } else { "none" })));
    (people, document["install_dir"].as_str().unwrap().into())
}

fn agent(people: &People, has_digest: bool) -> Value {
    let bytes = archive("a-1.0.0");
    people.agent_of("a", "1.0.0", &bytes, has_digest.then(|| sha256(&bytes)).as_deref())
}

/// The path of a second program in an archive.
const OTHER: &str = if cfg!(windows) { "bin/other.cmd" } else { "bin/other" };

/// An archive with two programs.
fn two_programs(word: &str) -> Vec<u8> {
    let script = |word: &str| {
        if cfg!(windows) { format!("@echo {word} %*\r\n") } else { format!("#!/bin/sh\necho {word} \"$@\"\n") }
    };
    gz(&tar(&[(AGENT, script(word).as_bytes()), (OTHER, script("other").as_bytes())]))
}

/// Asserts that all commands that read the index refuse, and that the agent starts as before.
fn assert_refused(people: &People, part: &str, name: &str) {
    for command in [&["install", "a"][..], &["resolve", "a"], &["update"], &["install", "a@1.0.0"]] {
        let run = people.run(&[command, &["--refresh"]].concat());
        assert_eq!(run.code, 4, "{name} {command:?}: {}{}", run.stdout, run.stderr);
        assert!(run.stderr.contains(part), "{name} {command:?}: {}", run.stderr);
        assert!(run.stderr.contains("`acp-registry uninstall a`"), "{name} {command:?}: {}", run.stderr);
    }
    assert_eq!(people.run(&["run", "a"]).stdout, "a-1.0.0 acp\n", "{name}");
}

#[test]
fn a_digest_that_vanishes_is_refused() {
    let (people, _) = installed(true);
    people.publish(&[agent(&people, false)]);
    assert_refused(&people, "now has no SHA-256", "the same address");

    let mut moved = agent(&people, false);
    people.serve("/else/a.tar.gz", archive("evil"));
    moved["distribution"]["binary"][host()]["archive"] = people.server.url("/else/a.tar.gz").into();
    people.publish(&[moved]);
    assert_refused(&people, "now has no SHA-256", "another address");

    let mut other = agent(&people, false);
    other["distribution"]["binary"][host()]["cmd"] = "./README".into();
    people.publish(&[other]);
    assert_refused(&people, "now has no SHA-256", "another cmd");

    // The remedy in the message.
    assert_eq!(people.run(&["uninstall", "a"]).code, 0);
    people.publish(&[agent(&people, false)]);
    assert_eq!(people.run(&["install", "a", "--refresh"]).code, 0);
}

#[test]
fn an_archive_without_a_digest_stays_where_it_was() {
    let (people, _) = installed(false);
    let place = |key: &str, value: &str| {
        let mut agent = agent(&people, false);
        agent["distribution"]["binary"][host()][key] = value.into();
        people.publish(&[agent]);
    };
    people.serve("/else/a.tar.gz", archive("evil"));
    place("archive", &people.server.url("/else/a.tar.gz"));
    assert_refused(&people, "/else/a.tar.gz", "another address");
    place("cmd", "./README");
    assert_refused(&people, "./README", "another cmd");
    // If the digest proves the bytes to be equal, the URL may change.
    people.serve("/else/a.tar.gz", archive("a-1.0.0"));
    let mut moved = agent(&people, true);
    moved["distribution"]["binary"][host()]["archive"] = people.server.url("/else/a.tar.gz").into();
    people.publish(&[moved]);
    let (code, document) = people.json(&["install", "a", "--refresh"]);
    assert_eq!((code, &document["verified"]), (0, &json!("manifest")), "{document}");
}

#[test]
fn another_program_of_the_same_archive_is_the_same_bytes() {
    let people = People::new();
    let bytes = two_programs("a-1.0.0");
    let mut agent = people.agent_of("a", "1.0.0", &bytes, Some(&sha256(&bytes)));
    people.publish(&[agent.clone()]);
    assert_eq!(people.run(&["install", "a"]).code, 0);
    agent["distribution"]["binary"][host()]["cmd"] = format!("./{OTHER}").into();
    people.publish(&[agent]);
    assert_eq!(people.run(&["install", "a", "--refresh"]).code, 0);
    assert_eq!(people.run(&["run", "a"]).stdout, "other acp\n");
}

#[test]
fn receipts_that_are_not_current_count_too() {
    let (people, _) = installed(true);
    people.publish(&[people.agent("a", "1.1.0")]);
    assert_eq!(people.run(&["update", "--refresh"]).code, 0);
    let mut back = agent(&people, false);
    people.serve("/else/a.tar.gz", archive("evil"));
    back["distribution"]["binary"][host()]["archive"] = people.server.url("/else/a.tar.gz").into();
    people.publish(&[back]);
    let run = people.run(&["install", "a", "--refresh"]);
    assert!(run.code == 4 && run.stderr.contains("now has no SHA-256"), "{}", run.stderr);
    assert_eq!(people.run(&["run", "a"]).stdout, "a-1.1.0 acp\n");
}

#[test]
fn a_repair_brings_the_same_bytes_or_nothing() {
    for has_digest in [true, false] {
        let (people, folder) = installed(has_digest);
        let verified = if has_digest { "manifest" } else { "none" };
        fs::write(folder.join("files").join(AGENT), "broken").unwrap();
        people.serve("/1.0.0/a.tar.gz", archive("evil"));
        // Twice: after a failed repair, the digest is still known.
        for _ in 0..2 {
            for command in [&["install", "a"][..], &["run", "a"]] {
                let run = people.run(command);
                assert_eq!((run.code, run.stdout.as_str()), (4, ""), "{has_digest} {command:?}: {}", run.stderr);
            }
            assert_eq!(fs::read_to_string(folder.join("files").join(AGENT)).unwrap(), "broken");
        }
        people.serve("/1.0.0/a.tar.gz", archive("a-1.0.0"));
        assert_eq!(people.run(&["run", "a"]).stdout, "a-1.0.0 acp\n");
        // A repair does not strengthen the verification.
        assert_eq!(people.json(&["which", "a"]).1["verified"], verified);
    }
}

#[test]
fn a_lock_file_with_another_digest_is_refused() {
    let (people, _) = installed(false);
    let lock = people.env.path("some.lock");
    assert_eq!(people.run(&["install", "a", "--lock", lock.to_str().unwrap()]).code, 0);
    let text = fs::read_to_string(&lock).unwrap();
    let evil = archive("evil");
    people.serve("/else/a.tar.gz", evil.clone());
    let text = text.replace(&sha256(&archive("a-1.0.0")), &sha256(&evil)).replace("/1.0.0/", "/else/");
    fs::write(&lock, text).unwrap();
    let run = people.run(&["install", "--locked", "--lock", lock.to_str().unwrap()]);
    assert!(run.code == 4 && run.stderr.contains("`acp-registry uninstall a`"), "{}", run.stderr);
    assert_eq!(people.run(&["run", "a"]).stdout, "a-1.0.0 acp\n");
}

#[cfg(feature = "world")]
#[test]
fn another_kind_of_distribution_is_other_bytes() {
    const TEST: &str = "another_kind_of_distribution_is_other_bytes";
    if !is_there("npm") {
        return missing(TEST, "npm is not installed");
    }
    let (people, _) = installed(true);
    let only = |distribution: &Value| people.publish(&[entry("a", "1.0.0", distribution)]);
    let package = json!({ "package": "evil@1.0.0" });
    only(&json!({ "npx": package }));
    for command in [&["install", "a"][..], &["resolve", "a"], &["update"]] {
        let run = people.run(&[command, &["--refresh"]].concat());
        assert_eq!(run.code, 4, "{command:?}: {}{}", run.stdout, run.stderr);
        assert!(run.stderr.contains("is installed as binary"), "{command:?}: {}", run.stderr);
        assert!(run.stderr.contains("--dist npx"), "{command:?}: {}", run.stderr);
    }
    // The user may request it explicitly.
    let (code, document) = people.json(&["resolve", "a", "--dist", "npx"]);
    assert_eq!((code, &document["package"]), (0, &json!("evil@1.0.0")));
    assert_eq!(people.run(&["run", "a"]).stdout, "a-1.0.0 acp\n");
}
