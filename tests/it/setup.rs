//! `make setup`: lists what it will install, and asks on a terminal.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::support::{Env, Run};

/// The tools that the script itself uses, from this machine.
const OWN: [&str; 6] = ["dirname", "id", "make", "sh", "tr", "uname"];

/// A machine that has only these programs, and `apt-get` and `curl`, which record their arguments.
fn machine(there: &[&str]) -> Env {
    let env = Env::empty();
    fs::create_dir(env.path("bin")).unwrap();
    for name in OWN {
        let real = find(name).unwrap_or_else(|| panic!("{name} is not installed"));
        symlink(real, env.path("bin").join(name)).unwrap();
    }
    let log = env.path("log").display().to_string();
    let program = |name: &str, script: &str| {
        env.write_program(&format!("bin/{name}"), &format!("#!/bin/sh\n{script}\n"));
    };
    program("apt-get", &format!("echo \"apt-get $*\" >> '{log}'"));
    program("sudo", "exec \"$@\"");
    // A shell runs its output.
    program("curl", &format!("echo \"echo rustup >> '{log}'\""));
    for name in there {
        program(name, "exit 0");
    }
    env
}

fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|path| path.is_file())
}

fn setup(env: &Env, arguments: &[&str]) -> Command {
    let mut command = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join(".ci/setup"));
    command.args(arguments).env_clear().env("PATH", env.path("bin")).stdin(Stdio::null());
    command
}

fn installed(env: &Env) -> Vec<String> {
    let log = fs::read_to_string(env.path("log")).unwrap_or_default();
    log.lines().filter(|line| *line != "apt-get update").map(ToOwned::to_owned).collect()
}

const BOTH: &str =
    "this will be installed:\n  build-essential curl git (apt-get)\n  Rust (rustup, into ~/.cargo and ~/.rustup)\n";

#[test]
fn what_is_missing_is_named_before_it_is_installed() {
    let env = machine(&[]);
    let run = Run::of(&mut setup(&env, &[]));
    assert_eq!((run.code, run.stderr.as_str()), (0, BOTH), "{}", run.stdout);
    assert_eq!(installed(&env), ["apt-get install -y build-essential curl git", "rustup"]);

    let env = machine(&["cc", "git", "cargo", "npm", "bwrap", "uv", "jq", "nvim", "emacs"]);
    let run = Run::of(&mut setup(&env, &["tools"]));
    assert_eq!((run.code, run.stderr.as_str()), (0, "this will be installed:\n  chromium (apt-get)\n"));
    assert_eq!(installed(&env), ["apt-get install -y chromium"]);

    let env = machine(&["cc", "git", "cargo", "npm", "bwrap", "chromium", "uv", "jq", "nvim", "emacs"]);
    for arguments in [&[][..], &["tools"]] {
        let run = Run::of(&mut setup(&env, arguments));
        assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), (0, "", ""));
    }
    assert!(installed(&env).is_empty());
}

/// Tests are skipped if an optional tool is missing; the tools of the program itself are required.
#[test]
fn without_a_package_manager_it_is_said_what_is_missing() {
    let env = machine(&["cargo"]);
    fs::remove_file(env.path("bin/apt-get")).unwrap();
    let run = Run::of(&mut setup(&env, &[]));
    assert_eq!((run.code, run.stderr.as_str()), (1, "install a C compiler, curl and git first\n"));
    let env = machine(&["cc", "git", "cargo", "uv", "bwrap", "nvim", "emacs"]);
    fs::remove_file(env.path("bin/apt-get")).unwrap();
    let run = Run::of(&mut setup(&env, &["tools"]));
    assert!(run.code == 0 && run.stderr.contains("some tests are skipped: nodejs+npm chromium"), "{}", run.stderr);
}

#[test]
fn on_a_terminal_it_is_asked_for() {
    for (typed, variable, is_asked, is_done) in [
        ("n\n", None, true, false),
        ("\n", None, true, false),
        ("y\n", None, true, true),
        ("n\n", Some("YES"), false, true),
        ("n\n", Some("CI"), false, true),
    ] {
        let env = machine(&["cc", "git"]);
        let pty = nix::pty::openpty(None, None).unwrap();
        let mut command = setup(&env, &[]);
        command.envs(variable.map(|name| (name, "1"))).stdin(Stdio::from(pty.slave));
        // The terminal holds the input until it is read.
        let mut keyboard = File::from(pty.master);
        keyboard.write_all(typed.as_bytes()).unwrap();
        let run = Run::of(&mut command);
        assert_eq!(run.code == 0, is_done, "{typed:?}: {}", run.stderr);
        assert_eq!(run.stderr.contains("Install it? [y/N]"), is_asked, "{}", run.stderr);
        assert_eq!(run.stderr.contains("nothing was installed"), !is_done, "{}", run.stderr);
        assert_eq!(installed(&env), if is_done { vec!["rustup"] } else { Vec::new() });
    }
}

#[test]
fn recipes_set_up_in_one_command() {
    let env = machine(&["cc", "git"]);
    let mut command = Command::new("make");
    command.args(["--no-print-directory", "setup"]).current_dir(env!("CARGO_MANIFEST_DIR")).env_clear();
    command.env("PATH", env.path("bin")).env("HOME", env.path("home")).stdin(Stdio::null());
    let run = Run::of(&mut command);
    assert!(run.code == 0 && run.stderr.starts_with("this will be installed:\n  Rust"), "{}{}", run.stdout, run.stderr);
    assert_eq!(installed(&env), ["rustup"]);
    // With `YES=1`, no question is asked.
    let pty = nix::pty::openpty(None, None).unwrap();
    let run = Run::of(command.arg("YES=1").stdin(Stdio::from(pty.slave)));
    assert_eq!((run.code, installed(&env).len()), (0, 2), "{}", run.stderr);
    let makefile = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("Makefile")).unwrap();
    for recipe in ["test: tools", "demo: setup", "serve: setup"] {
        assert!(makefile.lines().any(|line| line.starts_with(recipe)), "{recipe}");
    }
}
