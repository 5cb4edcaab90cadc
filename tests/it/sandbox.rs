//! Agents inside a sandbox, and inside that of somebody else.

use std::fs;
use std::process::Command;

use crate::people::People;
use crate::support::{Run, skipped};

/// What a thief looks for in a home.
const CANARIES: [&str; 12] = [
    ".ssh/id_ed25519", ".aws/credentials", ".npmrc", ".netrc", ".git-credentials", ".config/gh/hosts.yml", ".bashrc",
    ".profile", ".claude/settings.json", ".codex/auth.json", ".local/share/keyrings/login.keyring",
    ".gnupg/private.key",
];

/// Reads each canary, writes into it, beside it and to its profile, and says what succeeded.
fn thief(home: &str) -> String {
    let steal = |name: &&str| {
        format!(
            "cat '{home}/{name}' && echo READ {name}\n(echo evil >> '{home}/{name}') && echo WROTE {name}\n\
             (mv '{home}/{name}' '{home}/{name}.bak') && echo MOVED {name}\n(: > '{home}/{name}.new') && echo MADE {name}\n"
        )
    };
    let all: String = CANARIES.iter().map(steal).collect();
    format!(
        "#!/bin/sh\nexec 2>/dev/null\n{all}ls '{home}' && echo LISTED\necho work > result && cat result\n\
         echo own > \"$HOME/notes\" && cat \"$HOME/notes\"\necho t > \"$TMPDIR/t\" && echo temporary\n\
         [ -r \"$0\" ] && echo itself\n(echo x >> \"$0\") && echo CHANGED\necho \"agent ${{SSH_AUTH_SOCK:-no socket}}\"\n\
         [ -c /dev/null ] && echo x > /dev/null && echo device\n"
    )
}

#[test]
fn further_directories_are_opened_by_name() {
    let people = people();
    if !has_landlock(&people, "further_directories_are_opened_by_name") {
        return;
    }
    let script = "#!/bin/sh\nexec 2>/dev/null\ncat \"$HOME_OF_PERSON/tools/tool\"\necho x > \"$HOME_OF_PERSON/other/made\" && echo made\n\
                  echo y > \"$HOME_OF_PERSON/tools/made\" && echo MADE\n";
    people.env.write("home/tools/tool", "a tool\n");
    people.env.write("home/other/file", "");
    assert_eq!(people.run(&["uninstall", "a"]).code, 0);
    people.install_script(script, &[]);
    let home = people.env.path("home");
    let run = |more: &[&str]| {
        let mut command = command(&people, &[&["run", "a", "--sandbox"], more].concat());
        Run::of(command.env("HOME_OF_PERSON", &home))
    };
    assert_eq!(run(&[]).stdout, "");
    let (tools, other) = (home.join("tools"), home.join("other"));
    let run_open = run(&["--readable", tools.to_str().unwrap(), "--writable", other.to_str().unwrap()]);
    assert_eq!(run_open.stdout, "a tool\nmade\n", "{}", run_open.stderr);
    let refused = run(&["--readable", home.to_str().unwrap()]);
    assert!(refused.code == 4 && refused.stderr.contains("has the home directory in it"), "{}", refused.stderr);
}

/// A home with all canaries, and an agent that looks for them.
fn people() -> People {
    let people = People::new();
    let home = people.env.path("home");
    for name in CANARIES {
        people.env.write(&format!("home/{name}"), format!("secret of {name}\n"));
    }
    people.env.write("home/project/file", "");
    people.install_script(&thief(home.to_str().unwrap()), &[]);
    people
}

fn command(people: &People, arguments: &[&str]) -> Command {
    let mut command = people.command(arguments);
    command.env("HOME", people.env.path("home")).env("SSH_AUTH_SOCK", "/run/agent.sock");
    command.current_dir(people.env.path("home/project"));
    command
}

/// Whether this system has what `--sandbox` needs.
fn has_landlock(people: &People, test: &str) -> bool {
    let run = Run::of(&mut command(people, &["run", "a", "--sandbox"]));
    if run.code == 4 && run.stderr.contains("this system cannot confine a program") {
        assert!(run.stdout.is_empty() && run.stderr.contains("--wrap"), "{}", run.stderr);
        skipped(test, "this system has no Landlock");
        return false;
    }
    true
}

#[test]
fn a_thief_finds_nothing_and_work_goes_on() {
    let people = people();
    if !has_landlock(&people, "a_thief_finds_nothing_and_work_goes_on") {
        return;
    }
    let run = Run::of(&mut command(&people, &["run", "a", "--sandbox"]));
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    assert_eq!(run.stdout, "work\nown\ntemporary\nitself\nagent no socket\ndevice\n");
    for name in CANARIES {
        assert_eq!(people.env.read(&format!("home/{name}")), format!("secret of {name}\n"));
    }
    let own = people.root().join("homes/a");
    assert_eq!(fs::read_to_string(own.join("notes")).unwrap(), "own\n");
    assert_eq!(people.env.read("home/project/result"), "work\n");
    // Without it, the thief would have succeeded: the canaries are real.
    let run = Run::of(&mut command(&people, &["run", "a"]));
    assert_eq!(run.stdout.matches("READ ").count(), CANARIES.len(), "{}", run.stdout);
    assert!(run.stdout.contains("LISTED"), "{}", run.stdout);
}

#[test]
fn a_home_is_not_opened_as_a_working_directory() {
    let people = people();
    if !has_landlock(&people, "a_home_is_not_opened_as_a_working_directory") {
        return;
    }
    for place in ["home", ""] {
        let mut command = command(&people, &["run", "a", "--sandbox"]);
        let run = Run::of(command.current_dir(people.env.path(place)));
        assert!(run.code == 4 && run.stdout.is_empty(), "{place}: {}", run.stdout);
        assert!(run.stderr.contains("has the home directory in it"), "{}", run.stderr);
        assert!(run.stderr.contains("help: start it in the directory of a project"), "{}", run.stderr);
    }
}

#[test]
fn another_sandbox_gets_the_program_and_its_arguments() {
    let people = People::new();
    people.install_script("#!/bin/sh\necho \"agent $* in $WRAPPED\"\n", &["acp"]);
    people.env.write_program("bin/jail", "#!/bin/sh\n[ \"$1\" = --quiet ] && shift\nWRAPPED=jail exec \"$@\"\n");
    let jail = people.env.path("bin/jail");
    let wrap = format!("{} --quiet", jail.display());
    let run = people.run(&["run", "a", "--wrap", &wrap, "--", "more"]);
    assert_eq!((run.stdout.as_str(), run.code), ("agent acp more in jail\n", 0), "{}", run.stderr);
    let run = people.run(&["run", "a", "--wrap", "no-such-program"]);
    assert!(run.code == 2 && run.stderr.contains("no such program"), "{}", run.stderr);
    let run = people.run(&["run", "a", "--wrap", &wrap, "--sandbox"]);
    assert_eq!(run.code, 2);
    // Settings start it in the same way.
    let (_, config) = people.json(&["config", "zed", "a", "--sandbox"]);
    assert!(config["args"].as_array().unwrap().iter().any(|word| word == "--sandbox"), "{config}");
}

#[test]
fn no_name_of_the_home_opens_it() {
    let people = people();
    if !has_landlock(&people, "no_name_of_the_home_opens_it") {
        return;
    }
    let (home, link) = (people.env.path("home"), people.env.path("link"));
    std::os::unix::fs::symlink(&home, &link).unwrap();
    // A runtime in it, named by the link.
    people.env.write_program("home/bin/rg", "#!/bin/sh\n");
    let path = format!("{}:/usr/bin:/bin", link.join("bin").display());
    for named in [&home, &link] {
        let mut command = command(&people, &["run", "a", "--sandbox"]);
        let run = Run::of(command.env("PATH", &path).env("HOME", named));
        assert_eq!(run.stdout, "work\nown\ntemporary\nitself\nagent no socket\ndevice\n", "{}", run.stderr);
    }
    // What the agent leaves in its own home leads nobody elsewhere.
    let own = people.root().join("homes/a");
    fs::remove_dir_all(own.join("tmp")).unwrap();
    std::os::unix::fs::symlink(home.join("made"), own.join("tmp")).unwrap();
    let run = Run::of(&mut command(&people, &["run", "a", "--sandbox"]));
    assert!(run.stdout.contains("temporary") && !home.join("made").exists(), "{}{}", run.stdout, run.stderr);
}
