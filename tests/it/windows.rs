//! What only Windows has: names without case, drives, batch files, and processes without signals.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::archives::{gz, tar};
use crate::people::{AGENT, People, packed};
use crate::support::{Env, Run, manifest};

#[test]
fn names_that_differ_only_in_case_are_one_file() {
    let people = People::new();
    let bytes = gz(&tar(&[(AGENT, b"@echo one"), ("BIN/Agent.CMD", b"@echo two")]));
    people.publish(&[people.agent_of("a", "1.0.0", &bytes, None)]);
    let run = people.run(&["install", "a", "--no-check"]);
    assert!(run.code == 4 && run.stderr.contains("upper and lower case are one"), "{}", run.stderr);
    assert_eq!(people.left(), [] as [&str; 0]);
}

#[test]
fn names_that_windows_reserves_are_refused() {
    for name in ["bin/con.txt", "nul", "bin/agent.cmd:stream", "bin/x. ", "c:/x", "bin\\..\\..\\x"] {
        let people = People::new();
        let bytes = gz(&tar(&[(AGENT, b"@echo one"), (name, b"x")]));
        people.publish(&[people.agent_of("a", "1.0.0", &bytes, None)]);
        let run = people.run(&["install", "a", "--no-check"]);
        assert_eq!(run.code, 4, "{name}: {}", run.stderr);
        assert_eq!(people.left(), [] as [&str; 0], "{name}");
    }
}

#[test]
fn a_store_may_have_spaces_and_other_letters_in_its_path() {
    let people = People::with_root("wörk & ö/100% (x)", |_, _| Ok(false));
    people.publish(&[people.agent("a", "1.0.0")]);
    let run = people.run(&["install", "a", "--no-check"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let run = people.run(&["run", "a", "--", "x"]);
    assert_eq!((run.code, run.stdout.as_str()), (0, "a-1.0.0 acp x\n"), "{}", run.stderr);
    assert_eq!(people.run(&["uninstall", "a"]).code, 0);
    assert!(people.is_gone(), "{:?}", people.left());
}

/// A batch file would start another program for `a&b`, if its arguments were not quoted.
#[test]
fn arguments_of_batch_files_start_nothing() {
    let people = People::new();
    let mut agent = people.agent_of("a", "1.0.0", &packed("@echo [%~1]\r\n"), None);
    agent["distribution"]["binary"][crate::people::host()]["args"] = json!([]);
    people.publish(&[agent]);
    assert_eq!(people.run(&["install", "a", "--no-check"]).code, 0);
    for argument in ["x&echo gone", "x\"&echo gone", "x|echo gone", "^&echo gone"] {
        let run = people.run(&["run", "a", "--", argument]);
        assert!(!run.stdout.lines().any(|line| line.trim() == "gone"), "{argument}: {}", run.stdout);
    }
}

#[test]
fn line_ends_of_windows_change_no_verdict() {
    let crlf = |text: &str| text.replace('\n', "\r\n");
    let env =
        Env::with(&["a"]).file("r/b/agent.json", crlf(&manifest("b"))).file("r/b/icon.svg", crlf(crate::support::ICON));
    let (code, findings) = env.findings();
    assert_eq!((code, findings), (0, Vec::new()));
}

#[test]
fn a_registry_may_be_named_with_its_drive() {
    let env = Env::with(&["a"]);
    let folder = env.path("r");
    let (plain, forward) = (folder.to_str().unwrap().to_owned(), folder.to_str().unwrap().replace('\\', "/"));
    for name in [plain.clone(), forward, format!("\\\\?\\{plain}"), plain.to_lowercase()] {
        let run = Run::of(&mut env.command(&["--registry-dir", &name, "validate"]));
        assert_eq!(run.code, 0, "{name}: {}{}", run.stdout, run.stderr);
    }
    // The system would send the person's credentials to the host.
    for name in ["file://host.example/r/registry.json", "\\\\host.example\\r\\registry.json"] {
        let run = env.run(&["list", "--index", name]);
        assert_ne!(run.code, 0, "{name}: {}", run.stdout);
        assert!(run.stderr.contains("host.example"), "{name}: {}", run.stderr);
    }
}

/// Windows has no signals and no process groups: what an agent has started ends with the job that it belongs to.
#[test]
fn an_agent_that_does_not_answer_ends_with_all_that_it_has_started() {
    let env = Env::empty();
    let beat = env.path("beat.txt");
    let script = format!(
        "@echo off\r\n:again\r\necho x >> \"{}\"\r\nping -n 2 127.0.0.1 > nul\r\ngoto again\r\n",
        beat.display()
    );
    env.write("child.cmd", script);
    // The agent has a directory of its own.
    env.write("agent.cmd", format!("@call \"{}\"\r\n", env.path("child.cmd").display()));
    let run = env.run(&["probe", "--timeout", "30", "--json", "--", env.path("agent.cmd").to_str().unwrap()]);
    assert!(run.code == 1 && run.stdout.contains("\"timeout\""), "{}{}", run.stdout, run.stderr);
    let length = || std::fs::metadata(&beat).map_or(0, |metadata| metadata.len());
    let before = length();
    assert!(before > 0, "the child has not run");
    let until = Instant::now() + Duration::from_secs(4);
    while Instant::now() < until {
        assert_eq!(length(), before, "the child goes on");
        sleep(Duration::from_millis(100));
    }
}

/// The agent's own process is the one that the client waits for, and its output comes as it is written.
#[test]
fn a_client_talks_to_an_agent_through_run() {
    let people = People::new();
    people.install_fake(&["ok"]);
    let mut command = people.command(&["run", "a"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let initialize = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": { "protocolVersion": 1 } });
    std::io::Write::write_all(&mut stdin, format!("{initialize}\n").as_bytes()).unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let answer: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!(answer["result"]["protocolVersion"], 1, "{line}");
    drop(stdin);
    assert!(child.wait().unwrap().success());
}
