//! Signals that come while a command does not wait for them: they are told like other failures.
#![cfg(unix)]

use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::server::Server;
use crate::support::{Env, Run};

/// Ends a command by SIGTERM once it is ready. Other signals are ignored where the tests run in the background.
fn end(command: &mut Command, is_ready: impl Fn() -> bool) -> Run {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    while !is_ready() && child.try_wait().unwrap().is_none() {
        thread::sleep(Duration::from_millis(1));
    }
    kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), Signal::SIGTERM).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Run { code: output.status.code().unwrap_or(-1), stdout: text(output.stdout), stderr: text(output.stderr) }
}

fn assert_told(run: &Run, command: &str) {
    let document: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {}", run.stdout));
    let error = &document["error"];
    assert_eq!((&document["command"], &error["code"]), (&json!(command), &json!("interrupted")), "{document}");
    assert_eq!((run.code, &error["exit_code"]), (143, &json!(143)));
    assert!(run.stderr.contains("error: interrupted"), "{}", run.stderr);
}

#[test]
fn a_build_that_asks_a_host_says_that_it_was_interrupted() {
    let server = Server::raw(|_, _| {
        thread::sleep(Duration::from_secs(20));
        Ok(())
    });
    let env = Env::with(&["a"]);
    let (previous, host) = (server.url("/"), server.host.clone());
    let arguments = ["build", "--out", "out", "--allow-host", &host, "--previous", &previous];
    let is_asked = || !server.asked().is_empty();
    assert_told(&end(&mut env.command(&[&arguments[..], &["--json"]].concat()), is_asked), "build");
    let before = server.asked().len();
    let run = end(&mut env.command(&arguments), || server.asked().len() > before);
    assert_eq!((run.code, run.stdout.as_str()), (143, ""));
    assert!(run.stderr.contains("error: interrupted"), "{}", run.stderr);
    assert!(!env.path("out").exists());
}

#[test]
fn a_validation_without_requests_says_that_it_was_interrupted_also_in_files() {
    let env = Env::with(&["a"]);
    env.write_program("bin/git", "#!/bin/sh\necho $$ > ready.new && mv ready.new ready\nexec sleep 600\n");
    env.git(&["init", "-q"]);
    let mut command = env.command(&["validate", "--changed-since", "x", "--json", "--output", "json=report.json"]);
    let run = end(command.env("PATH", format!("{}:/usr/bin:/bin", env.path("bin").display())), || {
        // It is started in the registry.
        env.path("ready").exists() || env.path("r/ready").exists()
    });
    assert_told(&run, "validate");
    assert_eq!(env.read("report.json"), run.stdout);
    #[cfg(target_os = "linux")]
    {
        let ready = [env.path("ready"), env.path("r/ready")].into_iter().find(|path| path.exists()).unwrap();
        let stat = format!("/proc/{}/stat", std::fs::read_to_string(ready).unwrap().trim());
        // It ends soon; where it has no parent that waits for it, it stays as a zombie.
        let is_there = || std::fs::read_to_string(&stat).is_ok_and(|text| !text.contains(") Z "));
        let until = std::time::Instant::now() + Duration::from_mins(1);
        while is_there() && std::time::Instant::now() < until {
            thread::sleep(Duration::from_millis(10));
        }
        assert!(!is_there(), "git is still there");
    }
}

#[test]
fn a_signal_that_reaches_git_first_is_told_as_well() {
    let env = Env::with(&["a"]);
    env.write_program("bin/git", "#!/bin/sh\nkill -INT $$\n");
    env.git(&["init", "-q"]);
    let mut command = env.command(&["validate", "--changed-since", "x", "--json"]);
    let run = Run::of(command.env("PATH", format!("{}:/usr/bin:/bin", env.path("bin").display())));
    let document: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((run.code, &document["error"]["code"]), (130, &json!("interrupted")), "{document}");
}
