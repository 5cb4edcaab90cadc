//! The library as other programs use it: runs the example.

use std::process::Command;

use crate::agent::{example, fake_agent};
use crate::archives::sha256;
use crate::people::{CMD, People, entry, host, packed};
use crate::support::{Run, scrub};

use serde_json::json;

/// Runs the example with an index that has the fake agent with this digest, and with these allowed hosts.
fn use_agents(people: &People, digest: Option<&str>, id: &str, hosts: &[&str]) -> Run {
    // The program needs the argument and the variable from the manifest.
    let program = fake_agent();
    let bytes = packed(&if cfg!(windows) {
        format!("@if \"%EXAMPLE%\"==\"manifest\" \"{}\" %*\r\n", program.display())
    } else {
        format!("#!/bin/sh\n[ \"$EXAMPLE\" = manifest ] && exec '{}' \"$@\"\n", program.display())
    });
    people.serve("/fake.tar.gz", bytes.clone());
    let digest = digest.map_or_else(|| sha256(&bytes), ToOwned::to_owned);
    let target = json!({
        "archive": people.server.url("/fake.tar.gz"), "sha256": digest, "cmd": CMD, "args": ["ok"],
        "env": { "EXAMPLE": "manifest" },
    });
    people.publish(&[
        entry("fake", "1.0.0", &json!({ "binary": { host(): target } })),
        entry("other", "2.0.0", &json!({ "npx": { "package": "other@2.0.0" } })),
    ]);
    let mut command = Command::new(example("use_agents"));
    scrub(&mut command);
    command.args([&people.server.url("/registry.json"), id]).args(hosts).current_dir(people.env.path(""));
    command.env("TMPDIR", people.env.path("tmp")).env("TEMP", people.env.path("tmp"));
    Run::of(&mut command)
}

#[test]
fn the_example_installs_starts_and_asks() {
    let people = People::new();
    for _ in 0..2 {
        let run = use_agents(&people, None, "fake", &[&people.server.host]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        let (head, answer) = run.stdout.lines().find_map(|line| line.split_once(" answers ")).expect(&run.stdout);
        let answer: serde_json::Value = serde_json::from_str(answer).unwrap();
        assert_eq!((head, &answer["id"], &answer["result"]["protocolVersion"]), ("1.0.0", &json!(0), &json!(1)));
    }
    let fetched = people.server.asked().iter().filter(|path| path.contains("fake.tar.gz")).count();
    assert_eq!(fetched, 1, "the second run starts what is installed");
    assert!(people.env.path("agents-of-the-example/agents/fake/current").is_file());
}

#[test]
fn the_example_hears_of_progress() {
    let people = People::new();
    let run = use_agents(&people, None, "fake", &[&people.server.host]);
    for step in ["Downloading(Some(", "Received(", "Unpacking"] {
        assert!(run.stdout.contains(step), "{step}: {}", run.stdout);
    }
}

#[test]
fn the_example_fails_with_the_errors_of_the_library() {
    let people = People::new();
    let allowed = people.server.host.clone();
    for (digest, id, hosts, problem) in [
        (None, "fake", &[][..], "Fetch("),
        (None, "fak", &[allowed.as_str()], "UnknownAgent"),
        (Some(&*"0".repeat(64)), "fake", &[&allowed], "Digest"),
        (None, "fake", &["not a host"], "HostError"),
    ] {
        let run = use_agents(&people, digest, id, hosts);
        assert_eq!(run.code, 1, "{}", run.stdout);
        assert!(run.stderr.contains(problem), "{problem}: {}", run.stderr);
        assert!(!people.env.path("agents-of-the-example/agents/fake").exists());
    }
}
