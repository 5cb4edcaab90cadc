//! The commands that use agents, with an index and archives on loopback.
#![cfg(unix)]

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use acp_registry::install::remedy;
use serde_json::{Value, json};

use crate::archives::{gz, link, sha256, tar};
use crate::people::{People, archive, entry, host};
use crate::server::{redirect, status};
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
    assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), (0, "a-1.0.0 acp one two words\n", ""));
    let (_, list) = people.json(&["list", "--installed"]);
    assert_eq!((text(&list["agents"][0], "id"), &list["agents"][0]["pinned"]), ("a", &json!(false)));

    let (code, removed) = people.json(&["uninstall", "a"]);
    assert_eq!((code, &removed["ids"]), (0, &json!(["a"])));
    assert!(removed["freed_bytes"].as_u64().unwrap() > 50);
    assert!(!people.root().exists(), "{:?}", people.left());
    assert_eq!(people.run(&["which", "a"]).code, 2);
}

#[test]
fn an_agent_gets_stdin_arguments_and_the_persons_own_variables() {
    let people = People::new();
    let script = "#!/bin/sh\ncat\necho \"$EXAMPLE|$OTHER|$MINE|$PATH\"\nexit 7\n";
    let mut agent = people.agent_of("a", "1.0.0", &gz(&tar(&[("bin/agent", script.as_bytes())])), None);
    agent["distribution"]["binary"][host()]["env"]["OTHER"] = "manifest".into();
    people.publish(&[agent]);
    let mut command = people.command(&["run", "a"]);
    command.env("EXAMPLE", "mine").env("MINE", "x").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"{\"id\":1}\n").unwrap();
    let output = child.wait_with_output().unwrap();
    let path = std::env::var("PATH").unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), format!("{{\"id\":1}}\nmine|manifest|x|{path}\n"));
    assert_eq!(output.status.code(), Some(7));
    let talk = String::from_utf8_lossy(&output.stderr);
    assert!(talk.contains("installing a 1.0.0"), "{talk}");
}

#[test]
fn nothing_remains_between_the_caller_and_the_agent() {
    let people = People::new();
    let script = "#!/bin/sh\necho $$\nexec sleep 60\n";
    people.publish(&[people.agent_of("a", "1.0.0", &gz(&tar(&[("bin/agent", script.as_bytes())])), None)]);
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

#[cfg(target_os = "linux")]
#[test]
fn an_agent_finds_the_descriptors_free_that_programs_use_and_keeps_its_mark() {
    let people = People::new();
    // A shell also opens its script, with a descriptor above 9.
    let script =
        "#!/bin/sh\nfor n in 3 4 5 6 7 8 9; do [ -e /proc/$$/fd/$n ] && echo $n; done\necho ready\nread line\n";
    people.publish(&[people.agent_of("a", "1.0.0", &gz(&tar(&[("bin/agent", script.as_bytes())])), None)]);
    assert_eq!(people.run(&["install", "a", "--no-check"]).code, 0);
    let mut child = people.command(&["run", "a"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(child.stdout.as_mut().unwrap()), &mut line).unwrap();
    assert_eq!(line, "ready\n");
    let in_use = || {
        let agents = people.root().join("agents/a");
        let versions = fs::read_dir(agents).unwrap().map(|item| item.unwrap().path());
        let versions: Vec<bool> = versions
            .filter(|path| path.is_dir())
            .map(|path| acp_registry::sys::lock::is_used(&path.join("in-use")))
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
fn what_is_wrong_has_its_exit_code_and_leaves_nothing() {
    let good = archive("a");
    let html = b"<!DOCTYPE html><h1>Not found".to_vec();
    let script: &[u8] = b"#!/bin/sh\n";
    let foreign = {
        // A program for Windows.
        let mut bytes = vec![0; 512];
        bytes[..2].copy_from_slice(b"MZ");
        bytes[0x3c] = 0x80;
        bytes[0x80..0x84].copy_from_slice(b"PE\0\0");
        bytes[0x84..0x86].copy_from_slice(&[0x64, 0x86]);
        bytes[0x94] = 0xf0;
        bytes[0x96] = 0x22;
        bytes[0x98..0x9a].copy_from_slice(&[0x0b, 0x02]);
        bytes
    };
    let wrong = "0".repeat(64);
    for (name, bytes, digest, code, part) in [
        ("wrong digest", good.clone(), Some(wrong.as_str()), 4, "but the manifest says"),
        ("truncated", good[..good.len() / 2].to_vec(), None, 3, "cut off"),
        ("a page", html, None, 3, "HTML page"),
        ("empty", Vec::new(), None, 3, "neither a .zip"),
        ("leads out", gz(&tar(&[("../agent", script)])), None, 4, "leads out of the archive"),
        ("absolute", gz(&tar(&[("/tmp/agent", script)])), None, 4, "absolute path"),
        ("link out", gz(&link(tar::EntryType::Symlink, "bin", "../../..")), None, 4, "outside the archive"),
        ("a device", gz(&link(tar::EntryType::Char, "bin", "")), None, 4, "device"),
        ("twice", gz(&tar(&[("bin/agent", script), ("bin/agent", script)])), None, 4, "occurs twice"),
        ("in a folder", gz(&tar(&[("x/bin/agent", script)])), None, 3, "set `cmd` to `./x/bin/agent`"),
        ("foreign", gz(&tar(&[("bin/agent", &foreign)])), None, 4, "is a program for windows"),
        ("bomb", gz(&vec![0; 300 << 20]), None, 4, "times its size"),
    ] {
        let people = People::new();
        // The digest is right, but the archive is hostile: a digest must not make it trusted.
        let right = sha256(&bytes);
        let digest = digest.unwrap_or(&right);
        people.publish(&[people.agent_of("a", "1.0.0", &bytes, Some(digest))]);
        let run = people.run(&["install", "a"]);
        assert_eq!(run.code, code, "{name}: {}", run.stderr);
        assert!(run.stderr.contains(part), "{name}: {}", run.stderr);
        assert_eq!(people.left(), [] as [&str; 0], "{name}");
        assert_eq!((run.stdout.as_str(), people.run(&["run", "a"]).code), ("", code), "{name}");
    }
}

/// Archives that are errors in `validate --archives` are not installed.
#[test]
fn an_archive_in_another_format_than_its_name_says_is_refused() {
    for (name, found) in
        [("a.zip", "by its name the archive is a .zip, by its content a .tar.gz"), ("a", "a bare executable")]
    {
        let people = people();
        let mut agent = people.agent("a", "1.0.0");
        let path = format!("/1.0.0/{name}");
        people.serve(&path, archive("a-1.0.0"));
        agent["distribution"]["binary"][host()]["archive"] = people.server.url(&path).into();
        people.publish(&[agent]);
        let run = people.run(&["install", "a"]);
        assert!(run.code == 3 && run.stderr.contains(found), "{name}: {} {}", run.code, run.stderr);
        assert_eq!(people.left(), [] as [String; 0], "{name}");
    }
}

#[test]
fn hosts_that_fail_are_told_apart() {
    for (answer, part) in [
        (status(404), "answers 404"),
        (status(500), "answers 500"),
        (redirect("http://127.0.0.1:1/x"), "is refused"),
        (redirect("ftp://h.example/x"), "is refused"),
    ] {
        let people = people();
        people.answer("/1.0.0/a.tar.gz", answer);
        let (code, document) = people.json(&["install", "a", "b"]);
        assert_eq!((code, document["errors"].as_array().unwrap().len()), (3, 1), "{document}");
        assert!(text(&document["error"], "message").contains(part), "{document}");
        // The other agent was installed.
        assert_eq!(text(&document["agents"][0], "id"), "b");
        assert_eq!(people.run(&["run", "b"]).stdout, "b-2.0.0 acp\n");
    }
}

#[test]
fn a_download_that_breaks_off_goes_on() {
    let bytes = archive("a");
    let whole = bytes.clone();
    let people = People::with_root("data", move |asked, stream| {
        if !asked.path.ends_with("a.tar.gz") {
            return Ok(false);
        }
        let cut = whole.len() * 9 / 10;
        let etag = "ETag: \"1\"\r\n";
        if let Some(range) = asked.headers.get("range") {
            assert_eq!((range.as_str(), asked.header("if-range")), (format!("bytes={cut}-").as_str(), "\"1\""));
            let (rest, all) = (&whole[cut..], whole.len());
            write!(
                stream,
                "HTTP/1.1 206 X\r\n{etag}Content-Range: bytes {cut}-{}/{all}\r\nContent-Length: {}\r\n\r\n",
                all - 1,
                rest.len()
            )?;
            stream.write_all(rest)?;
        } else {
            write!(stream, "HTTP/1.1 200 X\r\n{etag}Content-Length: {}\r\n\r\n", whole.len())?;
            stream.write_all(&whole[..cut])?;
        }
        Ok(true)
    });
    people.publish(&[people.agent_of("a", "1.0.0", &bytes, Some(&sha256(&bytes)))]);
    let run = people.run(&["install", "a"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(people.server.asked().iter().filter(|path| path.ends_with("a.tar.gz")).count(), 2);
}

#[test]
fn names_that_are_wrong_are_told_before_anything_is_done() {
    let people = people();
    for (arguments, part) in [
        (&["install", "a", "bb"][..], "did you mean `b`?"),
        (&["install", "a", "a"], "is named twice"),
        (&["install", "a@"], "ID@VERSION"),
        (&["install", "a@9.9.9"], "version `9.9.9` of `a` is not known; known here: `1.0.0`"),
        (&["install", "a", "--dist", "npx"], "has no distribution npx"),
        (&["resolve", "a", "--platform", "windows-aarch64"], "is not made for windows-aarch64; its archives are for"),
        (&["resolve", "a", "--platform", "amiga"], "not a platform"),
        (&["info", "../a"], "there is no agent"),
        (&["run", "../a"], "there is no agent"),
        (&["which", "a"], "help: run `acp-registry install a`"),
        (&["update", "a"], "help: run `acp-registry install a`"),
        (&["doctor", "a"], "help: run `acp-registry install a`"),
        (&["update", "nosuch"], "help: `acp-registry list --installed` shows what is installed"),
        (&["uninstall", "a"], "help: `acp-registry list --installed` shows what is installed"),
        (&["uninstall"], "required"),
        (&["uninstall", "a", "--all"], "cannot be used with"),
        (&["list", "--index", "ftp://h.example/x"], "neither the address of an index nor a path"),
    ] {
        let run = people.run(arguments);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{arguments:?} {}", run.stderr);
        assert!(run.stderr.contains(part), "{arguments:?} {}", run.stderr);
        assert_eq!(people.left(), [] as [&str; 0]);
    }
}

#[test]
fn missing_runtimes_are_named_with_the_way_to_get_them() {
    let people = People::new();
    let package = json!({ "npx": { "package": "p@1.0.0" }, "uvx": { "package": "p==1.0.0" } });
    people.publish(&[entry("a", "1.0.0", &package)]);
    for command in ["install", "resolve", "run"] {
        let run = Run::of(people.command(&[command, "a"]).env("PATH", people.env.path("empty")));
        assert_eq!(run.code, 3, "{}", run.stderr);
        let (node, uv) = (remedy::NODE, remedy::UV);
        let lacking = format!("`a` needs npm or uv, which are not in PATH\nhelp: {node}; or {uv}\n");
        assert!(run.stderr.ends_with(&lacking), "{}", run.stderr);
    }
}

#[test]
fn versions_live_side_by_side_and_a_rollback_sends_nothing() {
    let people = people();
    assert_eq!(people.run(&["install", "a"]).code, 0);
    people.publish(&[people.agent("a", "1.1.0")]);
    let run = people.run(&["install", "a", "--refresh"]);
    assert!(run.stdout.starts_with("installed a 1.1.0 instead of 1.0.0"), "{}", run.stdout);
    assert_eq!(people.run(&["run", "a"]).stdout, "a-1.1.0 acp\n");
    let before = people.server.asked().len();
    let run = people.run(&["install", "a@1.0.0"]);
    assert!(run.stdout.starts_with("switched to a 1.0.0 instead of 1.1.0"), "{}{}", run.stdout, run.stderr);
    assert_eq!((people.run(&["run", "a"]).stdout.as_str(), people.server.asked().len()), ("a-1.0.0 acp\n", before));
    // The version is pinned, so a plain install keeps it.
    let run = people.run(&["install", "a"]);
    assert!(run.stderr.contains("stays at 1.0.0") && run.stdout == "a 1.0.0 is installed\n", "{}", run.stderr);
    let (_, freed) = people.json(&["gc"]);
    assert_eq!(freed["removed"], json!([{ "id": "a", "version": "1.1.0", "size": freed["removed"][0]["size"] }]));
    assert!(freed["freed_bytes"].as_u64().unwrap() > 50);
    assert_eq!(people.run(&["run", "a"]).stdout, "a-1.0.0 acp\n");
}

#[test]
fn updates_are_shown_taken_held_and_kept_away_by_a_pin() {
    let people = people();
    let modified = |path: &str, date: &str| {
        let bytes = archive("new");
        people.answer(path, (200, vec![("Last-Modified", date.to_owned())], bytes));
    };
    assert_eq!(people.run(&["install", "a", "b@2.0.0"]).code, 0);
    assert_eq!(people.run(&["update", "--dry-run"]).code, 0);
    let mut agents = ["a", "b"].map(|id| people.agent_of(id, "3.0.0", &archive("new"), None));
    agents[0]["description"] = "newer".into();
    people.publish(&agents);
    let (code, report) = people.json(&["update", "--dry-run", "--refresh"]);
    let update = json!({ "id": "a", "from": "1.0.0", "to": "3.0.0", "distribution": "binary", "applied": false, "installed": null });
    assert_eq!((code, &report["updates"]), (1, &json!([update])));
    assert_eq!(report["pinned"], json!([{ "id": "b", "version": "2.0.0", "available": "3.0.0" }]));
    assert_eq!(people.run(&["run", "a"]).stdout, "a-1.0.0 acp\n");

    for (date, reason) in [("", "unknown-age"), (&httpdate::fmt_http_date(std::time::SystemTime::now()), "min-age")] {
        modified("/3.0.0/a.tar.gz", date);
        let (code, report) = people.json(&["update", "--min-age", "3d"]);
        assert_eq!((code, text(&report["held"][0], "reason")), (0, reason), "{report}");
        assert_eq!(report["held"][0]["until"].is_string(), reason == "min-age");
    }
    modified("/3.0.0/a.tar.gz", "Thu, 01 Jan 2015 00:00:00 GMT");
    let (code, report) = people.json(&["update", "--min-age", "3d"]);
    assert_eq!((code, &report["updates"][0]["applied"]), (0, &json!(true)), "{report}");
    assert_eq!(text(&report["updates"][0]["installed"], "version"), "3.0.0");
    assert_eq!(people.run(&["run", "a"]).stdout, "new acp\n");
    assert_eq!(people.run(&["run", "b"]).stdout, "b-2.0.0 acp\n");

    let run = people.run(&["update", "--unpin", "b"]);
    assert_eq!((run.code, run.stdout.as_str()), (0, "updated b 2.0.0 -> 3.0.0\n"), "{}", run.stderr);
    // `update` neither downgrades an agent nor removes one that left the index.
    people.publish(&[people.agent("a", "1.0.0")]);
    let (code, report) = people.json(&["update", "--refresh"]);
    assert_eq!((code, &report["up_to_date"], &report["gone"]), (0, &json!(["a"]), &json!(["b"])));
    assert_eq!(people.run(&["run", "a"]).stdout, "new acp\n");
    assert_eq!(people.run(&["update", "c"]).code, 2);
}

#[test]
fn an_update_of_nothing_needs_no_index() {
    let people = people();
    let run = people.run(&["update", "--index", "https://no-such-host.invalid/r.json"]);
    assert_eq!((run.code, run.stdout.as_str()), (0, "no agents are installed\n"), "{}", run.stderr);
    let (code, document) = people.json(&["update", "--index", "https://no-such-host.invalid/r.json"]);
    assert_eq!((code, &document["index"], &document["up_to_date"]), (0, &Value::Null, &json!([])));
    assert_eq!(people.run(&["update", "a"]).code, 2);
}

#[test]
fn one_bad_update_never_stops_the_others() {
    let people = people();
    assert_eq!(people.run(&["install", "a", "b"]).code, 0);
    let wrong = "0".repeat(64);
    people.publish(&[people.agent_of("a", "1.1.0", &archive("x"), Some(&wrong)), people.agent("b", "2.1.0")]);
    let (code, report) = people.json(&["update", "--refresh"]);
    assert_eq!((code, text(&report["errors"][0], "id"), text(&report["updates"][0], "id")), (4, "a", "b"));
    assert_eq!(people.run(&["run", "a"]).stdout, "a-1.0.0 acp\n");
    // The same version with another digest is refused.
    let other = archive("other");
    people.publish(&[people.agent_of("a", "1.0.0", &other, Some(&sha256(&other)))]);
    let run = people.run(&["update", "a", "--refresh", "--dry-run"]);
    assert!(run.code == 4 && run.stderr.contains("is refused"), "{}", run.stderr);
}

#[test]
fn the_bytes_of_a_version_never_change() {
    let people = people();
    assert_eq!(people.run(&["install", "a"]).code, 0);
    let other = archive("other");
    people.publish(&[people.agent_of("a", "1.0.0", &other, Some(&sha256(&other)))]);
    let run = people.run(&["install", "a", "--refresh"]);
    assert!(run.code == 4 && run.stderr.contains("is refused: its archive had the SHA-256"), "{}", run.stderr);
    assert_eq!(people.run(&["run", "a"]).stdout, "a-1.0.0 acp\n");
}

#[test]
fn new_arguments_for_the_same_bytes_send_nothing() {
    let people = people();
    assert_eq!(people.run(&["install", "a"]).code, 0);
    let mut agent = people.agent("a", "1.0.0");
    agent["distribution"]["binary"][host()]["args"] = json!(["--new"]);
    people.publish(&[agent]);
    let archives = || people.server.asked().iter().filter(|path| path.ends_with("a.tar.gz")).count();
    let before = archives();
    assert_eq!(people.run(&["install", "a", "--refresh"]).code, 0);
    assert_eq!((people.run(&["run", "a"]).stdout.as_str(), archives()), ("a-1.0.0 --new\n", before));
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
        let target = json!({ "archive": people.server.url(path), "cmd": "./bin/agent" });
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

#[test]
fn a_full_disk_leaves_nothing() {
    let people = People::new();
    let large = gz(&tar(&[("bin/agent", b"#!/bin/sh\n"), ("large", &vec![7; 3 << 20])]));
    people.publish(&[people.agent_of("a", "1.0.0", &large, None)]);
    // The shell limits files to 1 MiB.
    let program = people.command(&["install", "a"]);
    let mut limited = Command::new("sh");
    limited.args(["-c", "trap '' XFSZ; ulimit -f 1024; exec \"$@\"", "sh"]).arg(program.get_program());
    limited.args(program.get_args()).current_dir(program.get_current_dir().unwrap()).env_clear();
    limited.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let run = Run::of(&mut limited);
    assert!(run.code == 3 && run.stderr.contains("cannot be unpacked"), "{} {}", run.code, run.stderr);
    assert_eq!(people.left(), [] as [&str; 0]);
    assert_eq!(people.run(&["install", "a"]).code, 0);
}

#[test]
fn a_program_that_did_not_survive_is_installed_again() {
    let people = people();
    let (_, installed) = people.json(&["install", "a"]);
    fs::write(text(&installed, "program"), "").unwrap();
    let run = people.run(&["run", "a"]);
    assert!(run.stdout == "a-1.0.0 acp\n" && run.stderr.contains("is damaged"), "{}{}", run.stdout, run.stderr);
    // Without a receipt, the version is unknown.
    fs::remove_file(format!("{}/receipt.json", text(&installed, "install_dir"))).unwrap();
    assert_eq!(people.run(&["which", "a"]).code, 2);
    assert_eq!(people.run(&["run", "a"]).stdout, "a-1.0.0 acp\n");
}

#[test]
fn a_slow_host_is_waited_for() {
    let bytes = archive("a");
    let whole = bytes.clone();
    let people = People::with_root("data", move |asked, stream| {
        if !asked.path.ends_with("a.tar.gz") {
            return Ok(false);
        }
        write!(stream, "HTTP/1.1 200 X\r\nContent-Length: {}\r\n\r\n", whole.len())?;
        for piece in whole.chunks(whole.len() / 10) {
            stream.write_all(piece)?;
            sleep(Duration::from_millis(30));
        }
        Ok(true)
    });
    people.publish(&[people.agent_of("a", "1.0.0", &bytes, Some(&sha256(&bytes)))]);
    assert_eq!(people.run(&["run", "a"]).stdout, "a acp\n");
}
