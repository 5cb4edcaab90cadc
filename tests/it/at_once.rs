//! Several processes at work on the same agent, and those that are killed.
#![cfg(unix)]

use std::io::{Read as _, Write as _};
use std::process::Stdio;
use std::sync::mpsc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use crate::agents::{people, text};
use crate::archives::{gz, sha256, tar};
use crate::people::{People, archive};

#[test]
fn a_running_agent_is_left_alone() {
    let people = People::new();
    let sleeper = gz(&tar(&[("bin/agent", b"#!/bin/sh\necho ready\nread line\necho \"$line\"\n")]));
    people.publish(&[people.agent_of("a", "1.0.0", &sleeper, None)]);
    assert_eq!(people.run(&["install", "a"]).code, 0);
    let mut command = people.command(&["run", "a"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut output = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    std::io::BufRead::read_line(&mut output, &mut line).unwrap();
    people.publish(&[people.agent("a", "1.1.0")]);
    assert_eq!(people.run(&["install", "a", "--refresh"]).code, 0);
    let (_, freed) = people.json(&["gc"]);
    assert_eq!((freed["removed"].as_array().unwrap().len(), text(&freed["running"][0], "version")), (0, "1.0.0"));
    let run = people.run(&["uninstall", "a"]);
    assert!(run.code == 3 && run.stderr.contains("is running"), "{}", run.stderr);
    writeln!(child.stdin.take().unwrap(), "still here").unwrap();
    line.clear();
    std::io::BufRead::read_line(&mut output, &mut line).unwrap();
    assert_eq!((line.as_str(), child.wait().unwrap().code()), ("still here\n", Some(0)));
    assert_eq!(people.json(&["gc"]).1["removed"][0]["version"], "1.0.0");
    assert_eq!(people.run(&["uninstall", "a"]).code, 0);
    assert!(!people.root().exists());
}

#[test]
fn two_installations_at_once_fetch_once() {
    let bytes = archive("a");
    let people = People::with_root("data", move |asked, _| {
        if asked.path.ends_with("a.tar.gz") {
            sleep(Duration::from_millis(800));
        }
        Ok(false)
    });
    people.publish(&[people.agent_of("a", "1.0.0", &bytes, Some(&sha256(&bytes)))]);
    let start = || people.command(&["install", "a"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (one, two) = (start(), start());
    let ends = [one, two].map(|child| child.wait_with_output().unwrap());
    for end in &ends {
        assert!(end.status.success(), "{}", String::from_utf8_lossy(&end.stderr));
    }
    assert_eq!(people.server.asked().iter().filter(|path| path.ends_with("a.tar.gz")).count(), 1);
    let talk = ends.map(|end| String::from_utf8(end.stderr).unwrap()).concat();
    assert!(talk.contains("waiting for process") && talk.contains("installing a 1.0.0"), "{talk}");
}

#[test]
fn a_process_that_holds_the_lock_for_ever_is_named() {
    let people = people();
    assert_eq!(people.run(&["install", "a"]).code, 0);
    let path = people.root().join("agents/.a.lock");
    let acp_registry::sys::lock::Answer::Mine(lock) = acp_registry::sys::lock::Lock::ask(&path, "asleep").unwrap()
    else {
        panic!("it is free")
    };
    let run = people.run(&["install", "a", "--wait", "0.2"]);
    let expected = format!("`a` is being changed by process {}: asleep; it was waited for 0.2 s", std::process::id());
    assert!(run.code == 3 && run.stderr.contains(&expected), "{}", run.stderr);
    // Reading needs no lock.
    assert_eq!(people.run(&["run", "a"]).code, 0);
    drop(lock);
    assert_eq!(people.run(&["install", "a"]).code, 0);
}

#[test]
fn an_interrupted_installation_leaves_the_old_state_or_the_new_one() {
    let people = people();
    assert_eq!(people.run(&["install", "a"]).code, 0);
    people.publish(&[people.agent("a", "1.1.0")]);
    assert_eq!(people.run(&["list", "--refresh"]).code, 0);
    let time = |arguments: &[&str]| {
        let started = Instant::now();
        assert_eq!(people.run(arguments).code, 0);
        started.elapsed()
    };
    let mut usual = time(&["install", "a"]);
    let mut seen = [0, 0];
    for round in 0..100_u32 {
        // Back to the old version, as if the new one had never been there.
        let run = people.run(&["install", "a@1.0.0"]);
        assert_eq!(run.code, 0, "round {round}: {}", run.stderr);
        people.run(&["gc"]);
        let mut child =
            people.command(&["install", "a@1.1.0"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        sleep(usual * (round % 10) / 8);
        child.kill().unwrap();
        child.wait().unwrap();
        let run = people.run(&["run", "a"]);
        let at = ["a-1.0.0 acp\n", "a-1.1.0 acp\n"].iter().position(|words| *words == run.stdout);
        let at = at.unwrap_or_else(|| panic!("round {round}: {}{}", run.stdout, run.stderr));
        seen[at] += 1;
        if round % 10 == 9 && at == 0 {
            // The machine has more to do than when it was timed.
            usual = usual * 3 / 2;
        }
    }
    assert!(seen[0] > 0 && seen[1] > 0, "{seen:?}: the kills were all too early or too late");
    let run = people.run(&["install", "a@1.1.0"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    people.run(&["gc"]);
    let left = people.left();
    assert!(left.iter().all(|name| !name.contains("/.")), "{left:?}");
    assert_eq!(left.iter().filter(|name| name.ends_with("receipt.json")).count(), 1, "{left:?}");
}

#[test]
fn a_first_installation_that_is_interrupted_leaves_nothing() {
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        let (reached, waiting) = mpsc::channel();
        let people = People::with_root("data", move |asked, stream| {
            if !asked.path.ends_with("a.tar.gz") {
                return Ok(false);
            }
            write!(stream, "HTTP/1.1 200 X\r\nContent-Length: 1000000\r\n\r\n")?;
            stream.write_all(&[0; 1000])?;
            let _ = reached.send(());
            // Until the program has gone away.
            let _ = stream.read(&mut [0]);
            Ok(true)
        });
        people.publish(&[people.agent("a", "1.0.0")]);
        let mut child = people.command(&["install", "a"]).stderr(Stdio::null()).spawn().unwrap();
        waiting.recv().unwrap();
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(child.id().cast_signed()), signal).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(128 + signal as i32));
        assert!(!people.root().exists(), "{:?}", crate::people::files(&people.root()));
    }
}

#[test]
fn an_empty_folder_is_no_agent() {
    let people = people();
    assert_eq!(people.run(&["install", "a"]).code, 0);
    let empty = people.root().join("agents/b");
    std::fs::create_dir(&empty).unwrap();
    std::fs::write(people.root().join("agents/.b.lock"), "").unwrap();
    let (_, document) = people.json(&["doctor"]);
    assert_eq!(document["agents"].as_array().unwrap().len(), 1, "{document}");
    assert!(people.run(&["uninstall", "b"]).stderr.contains("`b` is not installed"));
    assert_eq!(people.run(&["gc"]).code, 0);
    assert!(!empty.exists() && !people.root().join("agents/.b.lock").exists());
}
