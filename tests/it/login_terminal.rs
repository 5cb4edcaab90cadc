//! `login` in a terminal: the agent's own program, signals, and leftovers.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::agent::left_with;
use crate::login::{Person, login, offering};
use crate::support::{Run, undo_nohup, wait_until};

#[test]
fn a_terminal_is_handed_to_the_agents_own_program() {
    let method = |how: &str| {
        let env = json!({ "EXAMPLE": "method" });
        json!([{ "id": "setup", "name": "Set up", "type": "terminal", "args": ["--sign-in", how], "env": env }])
    };
    let person = Person::of("ok", &offering(&method("ok")));
    let (code, shown) = person.at_terminal(&["login", "a"], "please\n");
    assert_eq!(code, 0, "{shown}");
    assert!(shown.contains("--sign-in ok EXAMPLE=method\nword? "), "{shown}");
    assert!(
        shown.ends_with("signed in: a 1.0.0: it opens a session\n  method    `setup` (terminal): Set up\n"),
        "{shown}"
    );
    assert!(person.is_signed_in());

    for (how, typed) in [("fail", "please\n"), ("ok", "no\n")] {
        let person = Person::of("ok", &offering(&method(how)));
        let (code, shown) = person.at_terminal(&["login", "a"], typed);
        assert_eq!(code, 1, "{shown}");
        assert!(shown.contains("failed: a 1.0.0: its program ended with exit code 3 in the terminal"), "{shown}");
        assert!(!person.is_signed_in());
    }
    let (code, shown) = Person::of("ok", &offering(&method("interrupt"))).at_terminal(&["login", "a"], "please\n");
    assert_eq!(code, 130, "{shown}");

    // A program that reports success, while the agent is still signed out.
    let person = Person::of("ok", &offering(&method("nothing")));
    let (code, shown) = person.at_terminal(&["login", "a"], "please\n");
    assert_eq!(code, 1, "{shown}");
    assert!(shown.contains("it still wants you to sign in before it opens a session"), "{shown}");

    // stdout has only the result, even if a program uses the terminal.
    let path = person.people.env.path("result.json");
    let result = File::create(&path).unwrap();
    let (code, shown) = person.at_terminal_to(Some(result), &["login", "a", "--json"], "", "please\n");
    assert!(code == 1 && shown.contains("word? "), "{shown}");
    let document: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    assert_eq!(document["reason"], "auth_required");
    let run = person.run(&["login", "a"]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
    assert!(run.stderr.contains("`setup` signs in to `a` in a terminal, and stdin is not one"), "{}", run.stderr);
}

#[test]
fn a_program_that_fails_leaves_the_terminal_as_it_was() {
    let method = json!([{ "id": "setup", "name": "Set up", "type": "terminal", "args": ["--sign-in", "raw"],
                          "env": { "EXAMPLE": "method" } }]);
    let person = Person::of("ok", &offering(&method));
    let pty = nix::pty::openpty(None, None).unwrap();
    let slave = File::from(pty.slave);
    let mode = || {
        let mode = nix::sys::termios::tcgetattr(&slave).unwrap();
        (mode.input_flags, mode.output_flags, mode.local_flags)
    };
    let before = mode();
    let end = || Stdio::from(slave.try_clone().unwrap());
    let mut command = person.people.command(&["login", "a"]);
    let mut child = command.stdin(end()).stdout(end()).stderr(end()).spawn().unwrap();
    drop(command);
    let mut screen = File::from(pty.master);
    read_until(&mut screen, "word? ");
    io::Write::write_all(&mut screen, b"please\n").unwrap();
    let code = child.wait().unwrap().code();
    let after = mode();
    drop(slave);
    let mut shown = Vec::new();
    // Linux reports an error if the other end is closed.
    let _ = screen.read_to_end(&mut shown);
    let shown = String::from_utf8_lossy(&shown);
    assert!(code == Some(1) && shown.contains("its program ended with exit code 3"), "{code:?} {shown}");
    assert_eq!(after, before);
}

#[test]
fn no_agent_chooses_what_is_started() {
    let temporary = tempfile::tempdir().unwrap();
    let touched = temporary.path().join("touched");
    let script = format!("touch '{}'", touched.display());
    for (method, reason, part) in [
        (
            json!({ "_meta": { "terminal-auth": { "command": "/bin/sh", "args": ["-c", script] } } }),
            "other_program",
            "another program than the agent's own to be started: /bin/sh -c touch ",
        ),
        (
            json!({ "type": "terminal", "env": { "LD_PRELOAD": "/x" } }),
            "method_refused",
            "sets the environment variable `LD_PRELOAD`, which belongs to the system",
        ),
        (json!({ "type": "terminal", "args": 7 }), "method_refused", "has `args` that is a number, not an array"),
        (json!({ "type": "\u{1b}quantum" }), "method_refused", "is of the type `\\u{1b}quantum`"),
        (
            json!({ "type": "env_var", "vars": [{ "name": "A=\u{1b}" }] }),
            "method_refused",
            "names the variable `A=\\u{1b}`",
        ),
        (
            json!({ "type": "env_var", "vars": [{ "name": "KEY" }, { "name": "LD_PRELOAD" }] }),
            "method_refused",
            "wants the environment variable `LD_PRELOAD` set, which belongs to the system or to another program",
        ),
    ] {
        let mut all = json!({ "id": "login", "name": "\u{1b}[31m\u{202e}name", "description": "\u{9b}31m" });
        all.as_object_mut().unwrap().extend(method.as_object().unwrap().clone());
        let person = Person::of("ok", &offering(&json!([all])));
        let (code, document) = person.json(&["login", "a"]);
        assert_eq!((code, &document["reason"]), (1, &json!(reason)), "{document}");
        assert!(document["message"].as_str().unwrap().contains(part), "{document}");
        let run = person.run(&["login", "a"]);
        assert_eq!(run.code, 1);
        assert!(run.stdout.contains("\\u{1b}[31m\\u{202e}name: \\u{9b}31m\n"), "{}", run.stdout);
        let (code, shown) = person.at_terminal(&["login", "a"], "");
        assert_eq!((code, shown.contains('\u{1b}')), (1, false), "{shown}");
        assert!(!person.is_signed_in() && !touched.exists());
    }
}

#[test]
fn a_command_line_that_names_the_agent_is_its_own() {
    let hint =
        json!({ "command": "agent", "args": ["account", "", "", "--sign-in", "ok"], "env": { "EXAMPLE": "method" } });
    let methods = json!([{ "id": "login", "name": "Log in", "_meta": { "terminal-auth": hint } }]);
    let person = Person::of("ok", &offering(&methods));
    let (code, shown) = person.at_terminal(&["login", "a"], "please\n");
    assert_eq!(code, 0, "{shown}");
    assert!(person.is_signed_in() && shown.contains("EXAMPLE=method"), "{shown}");
}

#[test]
fn a_signal_ends_the_question_for_a_method_at_once() {
    let methods = json!([{ "id": "login", "name": "Log in" }, { "id": "other", "name": "Other" }]);
    let person = Person::of("ok", &offering(&methods));
    undo_nohup();
    for (signal, code) in [(Signal::SIGINT, 130), (Signal::SIGTERM, 143), (Signal::SIGHUP, 129)] {
        let pty = nix::pty::openpty(None, None).unwrap();
        let end = || Stdio::from(pty.slave.try_clone().unwrap());
        let mut command = person.people.command(&["login", "a"]);
        command.env("NO_COLOR", "1").stdin(end()).stdout(end()).stderr(end());
        let mut child = command.spawn().unwrap();
        let mut screen = File::from(pty.master);
        read_until(&mut screen, "1 to 2, or a name: ");
        kill(Pid::from_raw(child.id().cast_signed()), signal).unwrap();
        // The other end stays open: only the signal ends the program.
        assert_eq!(child.wait().unwrap().code(), Some(code));
        drop((command, pty.slave));
        read_until(&mut screen, "error: interrupted; the agent has been ended, but not what it may have opened");
        person.assert_clean();
        assert!(!person.is_signed_in());
    }
}

/// Reads until a text was read.
pub(crate) fn read_until(source: &mut impl Read, text: &str) -> String {
    let (mut told, mut buffer) = (Vec::new(), [0; 1000]);
    loop {
        let shown = String::from_utf8_lossy(&told).into_owned();
        if shown.contains(text) {
            return shown;
        }
        let length = source.read(&mut buffer).unwrap();
        assert_ne!(length, 0, "{shown}");
        told.extend_from_slice(&buffer[..length]);
    }
}

#[test]
fn ctrl_c_ends_the_agent_while_the_person_is_in_the_browser() {
    let person = Person::of("silent", &offering(&login()));
    let mut command: Command = person.people.command(&["login", "a"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = child.stderr.take().unwrap();
    read_until(&mut stderr, "open https");
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    // The message does not claim that nothing is left, since a browser may be.
    let told = io::read_to_string(stderr).unwrap();
    assert!(told.contains("but not what it may have opened") && !told.contains("everything"), "{told}");
    person.assert_clean();
}

#[test]
fn what_a_killed_login_has_left_goes_with_the_garbage_or_the_next_login() {
    let person = Person::of("silent", &offering(&login()));
    let tmp = person.people.env.path("tmp");
    let old = SystemTime::now() - Duration::from_hours(1);
    let left = || -> Vec<PathBuf> { fs::read_dir(&tmp).unwrap().map(|item| item.unwrap().path()).collect() };
    for next in [&["gc"][..], &["login", "a", "--timeout", "1"]] {
        let mut command = person.people.command(&["login", "a"]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        read_until(child.stderr.as_mut().unwrap(), "open https");
        let [directory] = &left()[..] else { panic!("{:?}", left()) };
        File::open(directory).unwrap().set_modified(old).unwrap();
        assert_eq!(person.people.run(&["gc"]).stderr, "");
        assert!(directory.is_dir());
        child.kill().unwrap();
        child.wait().unwrap();
        wait_until("the agent has ended", || left_with("environ", &person.tag).is_empty());
        assert!(directory.is_dir());
        let run = person.people.run(next);
        assert!(run.stderr.contains("runs that were killed, now removed: 1\n"), "{}", run.stderr);
        assert_eq!(left(), [] as [PathBuf; 0]);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn the_persons_browser_lives_on() {
    let person = Person::of("browser", &offering(&login()));
    let run = Run::of(&mut person.people.command(&["login", "a"]));
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    let left = left_with("environ", &person.tag);
    assert_eq!(left.len(), 1, "{left:?}");
    kill(Pid::from_raw(left[0].cast_signed()), Signal::SIGKILL).unwrap();
    wait_until("the browser has ended", || left_with("environ", &person.tag).is_empty());
    person.assert_clean();
}
