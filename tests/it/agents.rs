//! The commands that use agents, with an index and archives on loopback.

use std::fs;
use std::io::Write as _;
#[cfg(unix)]
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::archives::{gz, sha256, tar};
use crate::people::{AGENT, CMD, People, archive, entry, host};
use crate::support::Run;

/// A store with agents `a` 1.0.0 and `b` 2.0.0 in the index.
pub(crate) fn people() -> People {
    let people = People::new();
    people.publish(&[people.agent("a", "1.0.0"), people.agent("b", "2.0.0")]);
    people
}

pub(crate) fn text<'a>(document: &'a Value, key: &str) -> &'a str {
    document[key].as_str().unwrap_or_else(|| panic!("{key} in {document}"))
}

#[test]
fn an_agent_is_listed_resolved_installed_run_and_removed() {
    let people = people();
    let (code, list) = people.json(&["list"]);
    assert_eq!((code, text(&list["agents"][1], "id")), (0, "b"));
    assert_eq!(list["agents"][1]["platforms"], json!([host()]));
    let (_, planned) = people.json(&["resolve", "a"]);
    assert_eq!((&planned["installed"], text(&planned, "verified")), (&json!(false), "manifest"));

    let (code, installed) = people.json(&["install", "a"]);
    assert_eq!(code, 0, "{installed}");
    for key in ["id", "version", "distribution", "platform", "args", "env", "install_dir", "archive", "sha256"] {
        assert_eq!(installed[key], planned[key], "{key}");
    }
    // The planned path is the installed one, except for links in it.
    let program = fs::canonicalize(text(&planned, "program")).unwrap();
    assert_eq!(fs::canonicalize(text(&installed, "program")).unwrap(), program);
    assert_eq!(installed["installed"], true);
    let (_, resolved) = people.json(&["resolve", "a"]);
    let (_, which) = people.json(&["which", "a"]);
    for key in ["program", "args", "env", "installed", "install_dir", "archive", "sha256", "verified", "index_sha256"] {
        assert_eq!((&resolved[key], &which[key]), (&installed[key], &installed[key]), "{key}");
    }
    assert_eq!((text(&resolved, "command"), text(&which, "command")), ("resolve", "which"));

    let run = people.run(&["run", "a", "--", "one", "two words"]);
    // Batch files print arguments as they were quoted.
    let words = if cfg!(windows) { "one \"two words\"" } else { "one two words" };
    assert_eq!((run.code, run.stdout, run.stderr.as_str()), (0, format!("a-1.0.0 acp {words}\n"), ""));
    let (_, list) = people.json(&["list", "--installed"]);
    assert_eq!((text(&list["agents"][0], "id"), &list["agents"][0]["pinned"]), ("a", &json!(false)));

    let (code, removed) = people.json(&["uninstall", "a"]);
    assert_eq!((code, &removed["ids"]), (0, &json!(["a"])));
    assert!(removed["freed_bytes"].as_u64().unwrap() > 50);
    assert!(people.is_gone(), "{:?}", people.left());
    assert_eq!(people.run(&["which", "a"]).code, 2);
}

#[cfg(unix)]
#[test]
fn an_agent_gets_stdin_arguments_and_the_persons_own_variables() {
    let people = People::new();
    let script = "#!/bin/sh\ncat\necho \"$EXAMPLE|$OTHER|$MINE|$PATH\"\nexit 7\n";
    let mut agent = people.agent_of("a", "1.0.0", &gz(&tar(&[(AGENT, script.as_bytes())])), None);
    agent["distribution"]["binary"][host()]["env"]["OTHER"] = "manifest".into();
    people.publish(&[agent]);
    let mut command = people.command(&["run", "a"]);
    command.env("EXAMPLE", "mine").env("MINE", "x").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"{\"id\":1}\n").unwrap();
    let output = child.wait_with_output().unwrap();
    let path = std::env::var("PATH").unwrap();
    // The directory of its program follows, for helpers that came with it.
    let own = people.root().join("agents/a");
    let expected = format!("{{\"id\":1}}\nmine|manifest|x|{path}:{}/", own.display());
    assert!(String::from_utf8_lossy(&output.stdout).starts_with(&expected), "{output:?}");
    assert!(output.stdout.ends_with(b"/files/bin\n"), "{output:?}");
    assert_eq!(output.status.code(), Some(7));
    let talk = String::from_utf8_lossy(&output.stderr);
    assert!(talk.contains("installing a 1.0.0"), "{talk}");
}

#[cfg(unix)]
#[test]
fn nothing_remains_between_the_caller_and_the_agent() {
    let people = People::new();
    let script = "#!/bin/sh\necho $$\nexec sleep 60\n";
    people.publish(&[people.agent_of("a", "1.0.0", &gz(&tar(&[(AGENT, script.as_bytes())])), None)]);
    assert_eq!(people.run(&["install", "a", "--no-check"]).code, 0);
    let mut child = people.command(&["run", "a"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(child.stdout.take().unwrap()), &mut line).unwrap();
    assert_eq!(line.trim(), child.id().to_string());
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(child.id().cast_signed()), nix::sys::signal::Signal::SIGTERM)
        .unwrap();
    let status = child.wait().unwrap();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(15));
}

/// The descriptors below 10 that the program that started the tests has left open, a line for each.
#[cfg(target_os = "linux")]
fn inherited() -> String {
    let is_inherited = |number: &u32| {
        let info = fs::read_to_string(format!("/proc/self/fdinfo/{number}")).unwrap_or_default();
        let flags = info.lines().find_map(|line| i32::from_str_radix(line.strip_prefix("flags:")?.trim(), 8).ok());
        flags.is_some_and(|flags| flags & nix::fcntl::OFlag::O_CLOEXEC.bits() == 0)
    };
    (3..10).filter(is_inherited).map(|number| format!("{number}\n")).collect()
}

#[cfg(target_os = "linux")]
#[test]
fn an_agent_finds_the_descriptors_free_that_programs_use_and_keeps_its_mark() {
    let people = People::new();
    // A shell also opens its script, with a descriptor above 9.
    let script =
        "#!/bin/sh\nfor n in 3 4 5 6 7 8 9; do [ -e /proc/$$/fd/$n ] && echo $n; done\necho ready\nread line\n";
    people.publish(&[people.agent_of("a", "1.0.0", &gz(&tar(&[(AGENT, script.as_bytes())])), None)]);
    assert_eq!(people.run(&["install", "a", "--no-check"]).code, 0);
    let mut child = people.command(&["run", "a"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut said = std::io::BufReader::new(child.stdout.as_mut().unwrap());
    let mut lines = String::new();
    while !lines.ends_with("ready\n") {
        assert!(std::io::BufRead::read_line(&mut said, &mut lines).unwrap() > 0, "{lines}");
    }
    assert_eq!(lines, inherited() + "ready\n");
    let in_use = || {
        let agents = people.root().join("agents/a");
        let versions = fs::read_dir(agents).unwrap().map(|item| item.unwrap().path());
        let versions: Vec<bool> = versions
            .filter(|path| path.is_dir())
            .map(|path| acp_registry::host::lock::is_used(&path.join("in-use")))
            .collect();
        assert_eq!(versions.len(), 1);
        versions[0]
    };
    assert!(in_use());
    drop(child.stdin.take());
    child.wait().unwrap();
    assert!(!in_use());
}

#[test]
fn github_says_what_an_archive_must_be_where_the_manifest_does_not() {
    for (digest, code) in [(None, 0), (Some("0".repeat(64)), 4)] {
        let people = People::new();
        let bytes = archive("a");
        let path = "/o/r/releases/download/v1.0.0/a.tar.gz";
        people.serve(path, bytes.clone());
        let digest = digest.unwrap_or_else(|| sha256(&bytes));
        let release =
            json!({ "assets": [{ "name": "a.tar.gz", "digest": format!("sha256:{digest}"), "state": "uploaded" }] });
        people.serve("/api/v3/repos/o/r/releases/tags/v1.0.0", release.to_string());
        let target = json!({ "archive": people.server.url(path), "cmd": CMD });
        people.publish(&[entry("a", "1.0.0", &json!({ "binary": { host(): target } }))]);
        // The server counts as GitHub only while its host and port are configured.
        let mut command = people.command(&["install", "a", "--json"]);
        let run = Run::of(&mut command);
        assert_eq!(run.code, code, "{}", run.stderr);
        let document: Value = serde_json::from_str(&run.stdout).unwrap();
        if code == 0 {
            assert_eq!((text(&document, "verified"), text(&document, "sha256")), ("github", digest.as_str()));
        } else {
            assert!(run.stderr.contains("but GitHub says"), "{}", run.stderr);
        }
    }
}

#[test]
fn a_github_that_is_none_is_refused_where_it_is_asked() {
    let people = People::new();
    let without = people.agent_of("without", "1.0.0", &archive("without"), None);
    people.publish(&[people.agent("with", "1.0.0"), without]);
    let run = |arguments: &[&str]| Run::of(people.command(arguments).env("GITHUB_API_URL", "garbage"));
    assert_eq!(run(&["list", "--refresh"]).code, 0);
    assert_eq!(run(&["install", "with"]).code, 0);
    for arguments in [&["install", "without", "--json"][..], &["install", "with", "--lock", "x.lock", "--json"]] {
        let run = run(arguments);
        let document: Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!((run.code, text(&document["error"], "code")), (2, "usage"), "{arguments:?} {document}");
        assert!(run.stderr.contains("GITHUB_API_URL is not the address of a GitHub"), "{}", run.stderr);
    }
}

#[cfg(unix)]
#[test]
fn roots_with_spaces_links_and_other_letters() {
    let people = People::with_root("dä ta/\u{65e5}\u{672c} x", |_, _| Ok(false));
    people.publish(&[people.agent("a", "1.0.0")]);
    assert_eq!(people.run(&["run", "a", "--", "x"]).stdout, "a-1.0.0 acp x\n");
    let line = people.run(&["which", "a"]).stdout;
    let output = Command::new("sh").args(["-c", &line]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "a-1.0.0 acp\n");
    let alias = people.env.path("link");
    std::os::unix::fs::symlink(people.root(), &alias).unwrap();
    let run = people.run(&["run", "a", "--root", alias.to_str().unwrap()]);
    assert_eq!(run.stdout, "a-1.0.0 acp\n", "{}", run.stderr);
    let run = people.run(&["run", "a", "--root", "link"]);
    assert_eq!(run.stdout, "a-1.0.0 acp\n", "{}", run.stderr);
}

#[test]
fn without_a_home_a_root_is_enough() {
    let people = people();
    let run = Run::of(people.command(&["run", "a"]).env_remove("HOME").env_remove("TMPDIR"));
    assert_eq!(run.stdout, "a-1.0.0 acp\n", "{}", run.stderr);
}

#[cfg(unix)]
#[test]
fn a_store_that_cannot_be_written_still_runs_agents() {
    let people = people();
    assert_eq!(people.run(&["install", "a"]).code, 0);
    people.env.write("file", "");
    let run = people.run(&["install", "a", "--root", "file"]);
    assert!(run.code == 3 && run.stderr.contains("the store of installed agents: "), "{}", run.stderr);
    let set = |mode| {
        for folder in ["", "agents", "agents/a"] {
            fs::set_permissions(people.root().join(folder), fs::Permissions::from_mode(mode)).unwrap();
        }
    };
    set(0o555);
    let refused = people.run(&["install", "b"]);
    let ran = people.run(&["run", "a"]);
    set(0o755);
    assert_eq!(ran.stdout, "a-1.0.0 acp\n", "{}", ran.stderr);
    // Root may write anywhere.
    if !rustix::process::geteuid().is_root() {
        assert!(refused.code == 3 && refused.stderr.contains("--root"), "{}", refused.stderr);
    }
}
