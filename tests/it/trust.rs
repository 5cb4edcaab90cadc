//! Agents are only started if they are unchanged since the installation, and if no other user could change them.
#![cfg(unix)]

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::archives::{gz, tar};
use crate::damage::installed;
use crate::people::People;
use crate::support::{PROGRAM, Run, skipped};

fn stamp(folder: &Path) -> Value {
    let receipt: Value = serde_json::from_slice(&fs::read(folder.join("receipt.json")).unwrap()).unwrap();
    receipt["program_stamp"].clone()
}

#[test]
fn a_changed_program_of_the_same_size_and_time_is_not_started() {
    let (people, folder) = installed();
    let program = folder.join("files/bin/agent");
    let (good, modified) = (fs::read_to_string(&program).unwrap(), fs::metadata(&program).unwrap().modified().unwrap());
    fs::write(&program, good.replace("a-1.0.0", "evil   ")).unwrap();
    File::options().write(true).open(&program).unwrap().set_modified(modified).unwrap();
    for arguments in [["run", "a"], ["which", "a"], ["login", "a"]] {
        let run = people.run(&arguments);
        assert_eq!((run.code, run.stdout.as_str()), (4, ""), "{arguments:?} {}", run.stderr);
        assert!(run.stderr.contains("has other content than was installed"), "{}", run.stderr);
        assert!(run.stderr.contains("`acp-registry doctor --fix a` repairs it"), "{}", run.stderr);
    }
    assert_eq!(people.run(&["install", "a"]).code, 0);
    assert_eq!(people.run(&["run", "a"]).stdout, "a-1.0.0 acp\n");
}

#[test]
fn a_copy_of_the_same_bytes_is_started_and_read_once() {
    let (people, folder) = installed();
    let (program, copy) = (folder.join("files/bin/agent"), people.env.path("copy"));
    let before = stamp(&folder);
    fs::copy(&program, &copy).unwrap();
    fs::rename(&copy, &program).unwrap();
    assert_eq!(people.run(&["run", "a"]).stdout, "a-1.0.0 acp\n");
    let noted = stamp(&folder);
    assert_ne!(noted, before);
    // Digests are not checked if modification times are recorded.
    fs::write(folder.join("files.json"), "{").unwrap();
    assert_eq!(people.run(&["run", "a"]).stdout, "a-1.0.0 acp\n");
    assert_eq!(stamp(&folder), noted);
}

/// Asserts that commands that start an agent refuse to, as do those that change the store if `changes` is set; with the
/// flag that allows it, they run.
fn assert_refused(people: &People, part: &str, name: &str, changes: bool) {
    let starts = [&["run", "a"][..], &["which", "a"], &["doctor", "a"], &["login", "a"], &["logout", "a"]];
    let removals = [&["uninstall", "a"][..], &["uninstall", "a", "--dry-run"], &["gc"], &["gc", "--dry-run"]];
    let more = [&["install", "a"][..], &["update", "a"], &["update", "--dry-run"]];
    let changes = removals.into_iter().chain(more).filter(|_| changes);
    // `doctor` runs, since it changes nothing, but must report the problem.
    let run = people.run(&["doctor"]);
    assert!(run.code == 1 && run.stdout.contains(part), "{name} {}", run.stdout);
    assert!(run.stdout.replace('\n', " ").contains("--trust-root"), "{name} {}", run.stdout);
    assert_eq!(people.run(&["doctor", "--trust-root"]).code, 0, "{name}");
    for arguments in starts.into_iter().chain(changes) {
        let run = people.run(arguments);
        assert_eq!(run.code, 4, "{name} {arguments:?} {}{}", run.stdout, run.stderr);
        assert!(run.stdout.is_empty() || !starts.contains(&arguments), "{name} {arguments:?} {}", run.stdout);
        assert!(
            run.stderr.contains(part) && run.stderr.contains("--trust-root"),
            "{name} {arguments:?} {}",
            run.stderr
        );
    }
    assert_eq!(people.run(&["run", "--trust-root", "a"]).stdout, "a-1.0.0 acp\n", "{name}");
}

#[test]
fn what_others_can_write_is_not_started() {
    let (people, folder) = installed();
    let (root, program) = (people.root(), folder.join("files/bin/agent"));
    for path in
        [&root, &root.join("agents"), &folder, &folder.join("files/bin"), &folder.join("receipt.json"), &program]
    {
        let mode = fs::metadata(path).unwrap().mode() & 0o7777;
        fs::set_permissions(path, Permissions::from_mode(mode | 0o002)).unwrap();
        let shown = path.display().to_string();
        let is_directory_of_agents = !path.starts_with(folder.join("files")) && path.is_dir();
        assert_refused(&people, "can be written by everyone", &shown, is_directory_of_agents);
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        assert_eq!(people.run(&["run", "a"]).code, 0, "{shown}");
    }
    fs::set_permissions(&root, Permissions::from_mode(0o777)).unwrap();
    for command in ["install", "update"] {
        people.publish(&[people.agent("a", "1.1.0")]);
        let run = people.run(&[command, "a", "--refresh"]);
        assert!(run.code == 4 && run.stderr.contains("can be written by everyone"), "{command} {}", run.stderr);
    }
    // Listing changes nothing, and is allowed.
    assert_eq!(people.run(&["list", "--installed"]).code, 0);
}

#[test]
fn what_belongs_to_another_user_is_not_started() {
    if !rustix::process::geteuid().is_root() {
        return skipped("what_belongs_to_another_user_is_not_started", "only the superuser can give files away");
    }
    let (people, folder) = installed();
    let give = |path: &Path, user: u32| std::os::unix::fs::chown(path, Some(user), None).unwrap();
    let agent = folder.parent().unwrap().to_owned();
    for (path, changes) in
        [(people.root(), true), (agent, true), (folder.clone(), true), (folder.join("files/bin/agent"), false)]
    {
        give(&path, 12345);
        let shown = path.display().to_string();
        assert_refused(&people, "belongs to the user 12345, and this program runs as the user 0", &shown, changes);
        give(&path, 0);
    }
}

/// A user who can write to the cache decides what is installed.
#[test]
fn a_cache_that_others_can_write_is_not_used() {
    let (people, _) = installed();
    let cache = people.env.path("home/.cache/acp-registry");
    assert_eq!(people.run(&["list", "--offline"]).code, 0);
    fs::set_permissions(&cache, Permissions::from_mode(0o777)).unwrap();
    for (arguments, code) in [(&["list", "--offline"][..], 3), (&["list"], 0)] {
        let run = people.run(arguments);
        let warning = "warning: the cache is not used: ";
        assert!(run.stderr.contains(warning) && run.stderr.contains("by everyone"), "{arguments:?} {}", run.stderr);
        assert_eq!(run.code, code, "{arguments:?} {}", run.stderr);
    }
}

#[test]
fn nothing_is_made_for_everyone_to_write_and_the_agent_gets_the_callers_umask() {
    let script = "#!/bin/sh\numask\n";
    for (umask, handed_on) in [("0", "0000\n"), ("027", "0027\n")] {
        let people = People::new();
        people.publish(&[people.agent_of("a", "1.0.0", &gz(&tar(&[("bin/agent", script.as_bytes())])), None)]);
        let inner = people.command(&["run", "a"]);
        let mut command = Command::new("sh");
        command.args(["-c", &format!("umask {umask}; exec \"$0\" \"$@\""), PROGRAM]).args(inner.get_args());
        command.env_clear().current_dir(inner.get_current_dir().unwrap());
        command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let run = Run::of(&mut command);
        assert_eq!((run.code, run.stdout.as_str()), (0, handed_on), "{}", run.stderr);
        let mut waiting = vec![people.root(), people.env.path("home")];
        let mut seen = 0;
        while let Some(path) = waiting.pop() {
            let metadata = fs::symlink_metadata(&path).unwrap();
            assert!(metadata.is_symlink() || metadata.mode() & 0o022 == 0, "{} {:o}", path.display(), metadata.mode());
            seen += 1;
            if metadata.is_dir() {
                waiting.extend(fs::read_dir(&path).unwrap().map(|item| item.unwrap().path()));
            }
        }
        assert!(seen > 10, "{seen}");
    }
}
