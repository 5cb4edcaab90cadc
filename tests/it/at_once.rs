//! Several processes that change the same agent, and processes that are killed.
#![cfg(unix)]

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::{Mutex, mpsc};
use std::time::{Duration, SystemTime};

use acp_registry::host::lock::{Acquisition, Lock};
use acp_registry::store::{self, Store};
use nix::sys::signal::Signal;

use crate::agents::{people, text};
use crate::archives::{gz, sha256, tar};
use crate::people::{People, archive};
use crate::support::wait_until;

/// The limit after which a test counts as hanging.
pub(crate) const LONG: Duration = Duration::from_mins(2);

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
    assert!(people.is_gone());
}

/// A server that holds back the archive at this path. The receiver reports the request; the sender releases the archive.
pub(crate) fn held(path: &'static str) -> (People, mpsc::Receiver<()>, mpsc::Sender<()>) {
    let ((reached, waiting), (allow, allowed)) = (mpsc::channel(), mpsc::channel());
    let allowed = Mutex::new(allowed);
    let people = People::with_root("data", move |asked, _| {
        if asked.path == path {
            let _ = reached.send(());
            let _ = allowed.lock().unwrap().recv();
        }
        Ok(false)
    });
    (people, waiting, allow)
}

#[test]
fn two_installations_at_once_fetch_once() {
    let bytes = archive("a");
    let (people, waiting, allow) = held("/1.0.0/a.tar.gz");
    people.publish(&[people.agent_of("a", "1.0.0", &bytes, Some(&sha256(&bytes)))]);
    let talk = people.env.path("talk");
    let start = || {
        let file = File::options().create(true).append(true).open(&talk).unwrap();
        people.command(&["install", "a"]).stdout(Stdio::null()).stderr(file).spawn().unwrap()
    };
    let one = start();
    waiting.recv_timeout(LONG).unwrap();
    let two = start();
    let told = || fs::read_to_string(&talk).unwrap();
    wait_until("the second one waits for the first", || told().contains("waiting for process"));
    allow.send(()).unwrap();
    for mut child in [one, two] {
        assert!(child.wait().unwrap().success(), "{}", told());
    }
    assert_eq!(people.server.asked().iter().filter(|path| path.ends_with("a.tar.gz")).count(), 1);
    assert!(told().contains("installing a 1.0.0"), "{}", told());
}

#[test]
fn a_process_that_holds_the_lock_for_ever_is_named() {
    let people = people();
    assert_eq!(people.run(&["install", "a"]).code, 0);
    let path = people.root().join("agents/.a.lock");
    let Acquisition::Mine(lock) = Lock::ask(&path, "asleep").unwrap() else { panic!("it is free") };
    let run = people.run(&["install", "a", "--wait", "0.2"]);
    let expected = format!("`a` is in use by process {}: asleep; it was waited for 0.2 s", std::process::id());
    assert!(run.code == 3 && run.stderr.contains(&expected), "{}", run.stderr);
    // Reading needs no lock.
    assert_eq!(people.run(&["run", "a"]).code, 0);
    drop(lock);
    assert_eq!(people.run(&["install", "a"]).code, 0);
}

/// Lists a directory: each path with its length and modification time. Files that vanish during the listing are left out.
fn listing(directory: &Path) -> Vec<(PathBuf, u64, Option<SystemTime>)> {
    let mut found = Vec::new();
    for path in fs::read_dir(directory).into_iter().flatten().flatten().map(|item| item.path()) {
        let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
        if metadata.is_dir() {
            found.extend(listing(&path));
        }
        found.push((path, metadata.len(), metadata.modified().ok()));
    }
    found.sort();
    found
}

/// Kills a process after this many observed changes of a directory. Returns whether it ended before that.
fn kill_at_change(child: &mut Child, directory: &Path, changes: usize) -> bool {
    let (mut last, mut seen) = (listing(directory), 0);
    while seen < changes {
        if child.try_wait().unwrap().is_some() {
            return true;
        }
        let now = listing(directory);
        seen += usize::from(now != last);
        last = now;
    }
    child.kill().unwrap();
    child.wait().unwrap();
    false
}

#[test]
fn an_interrupted_installation_leaves_the_old_state_or_the_new_one() {
    let (people, waiting, allow) = held("/1.1.0/a.tar.gz");
    people.publish(&[people.agent("a", "1.0.0")]);
    assert_eq!(people.run(&["install", "a"]).code, 0);
    people.publish(&[people.agent("a", "1.1.0")]);
    assert_eq!(people.run(&["list", "--refresh"]).code, 0);
    // Each point is tried several times, since not every change is observed.
    for _ in 0..3 {
        for changes in 0.. {
            // Returns to the old version, as if the new one had never been installed.
            let run = people.run(&["install", "a@1.0.0"]);
            assert_eq!(run.code, 0, "{changes} changes: {}", run.stderr);
            people.run(&["gc"]);
            let mut command = people.command(&["install", "a@1.1.0"]);
            let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            waiting.recv_timeout(LONG).unwrap();
            let has_ended = if changes == 0 {
                child.kill().unwrap();
                child.wait().unwrap();
                allow.send(()).unwrap();
                false
            } else {
                allow.send(()).unwrap();
                kill_at_change(&mut child, &people.root(), changes)
            };
            let run = people.run(&["run", "a"]);
            let is_new = run.stdout == "a-1.1.0 acp\n";
            assert!(is_new || run.stdout == "a-1.0.0 acp\n", "{changes} changes: {}{}", run.stdout, run.stderr);
            assert!(!is_new || changes > 0, "it has not even got the archive");
            if has_ended {
                assert!(is_new, "{changes} changes: {}", run.stderr);
                break;
            }
        }
    }
    allow.send(()).unwrap();
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
            // Keeps the connection open until the program closes it.
            let _ = stream.read(&mut [0]);
            Ok(true)
        });
        people.publish(&[people.agent("a", "1.0.0")]);
        let mut child = people.command(&["install", "a"]).stderr(Stdio::null()).spawn().unwrap();
        waiting.recv().unwrap();
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(child.id().cast_signed()), signal).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(128 + signal as i32));
        assert!(people.is_gone(), "{:?}", crate::people::files(&people.root()));
    }
}

#[test]
fn an_empty_folder_is_no_agent() {
    let people = people();
    assert_eq!(people.run(&["install", "a"]).code, 0);
    let empty = people.root().join("agents/b");
    fs::create_dir(&empty).unwrap();
    fs::write(people.root().join("agents/.b.lock"), "").unwrap();
    let (_, document) = people.json(&["doctor"]);
    assert_eq!(document["agents"].as_array().unwrap().len(), 1, "{document}");
    assert!(people.run(&["uninstall", "b"]).stderr.contains("`b` is not installed"));
    assert_eq!(people.run(&["gc"]).code, 0);
    assert!(!empty.exists() && !people.root().join("agents/.b.lock").exists());
}

#[test]
fn settings_do_not_name_a_program_that_is_removed_meanwhile() {
    let people = people();
    assert_eq!(people.run(&["install", "a"]).code, 0);
    let (file, talk) = (people.env.path("settings.json"), people.env.path("talk"));
    let config = || people.command(&["config", "zed", "a", "--direct", "--write", "--file", file.to_str().unwrap()]);
    let path = people.root().join("agents/.a.lock");
    let Acquisition::Mine(lock) = Lock::ask(&path, "asleep").unwrap() else { panic!("it is free") };
    let mut child = config().stdout(Stdio::null()).stderr(File::create(&talk).unwrap()).spawn().unwrap();
    let told = || fs::read_to_string(&talk).unwrap();
    wait_until("it waits for the lock", || told().contains("waiting for process"));
    fs::remove_dir_all(people.root().join("agents/a")).unwrap();
    drop(lock);
    assert_eq!(child.wait().unwrap().code(), Some(3), "{}", told());
    let expected = "error: a 1.0.0 was removed meanwhile; nothing was written\nhelp: run the command again\n";
    assert!(told().ends_with(expected), "{}", told());
    assert!(!file.exists() && people.is_gone());

    // Nor if settings had named it before.
    assert_eq!(people.run(&["install", "a"]).code, 0);
    assert!(config().status().unwrap().success());
    let store = Store::at(people.root()).unwrap();
    let version = store.agent("a").unwrap().unwrap().current;
    assert!(version.receipt.named_by.contains(&format!("zed {}", file.display())));
    assert_eq!(people.run(&["uninstall", "a"]).code, 0);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let kept = runtime.block_on(store.keep_for(&version, "zed", &|_| ()));
    assert!(matches!(kept, Err(store::Error::NotInstalled { .. })));
    assert!(people.is_gone());
}
