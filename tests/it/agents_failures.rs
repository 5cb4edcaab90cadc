//! Installations that fail: hosts, archives, names, disks and damaged programs.

use std::fs;
use std::io::Write as _;

use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use acp_registry::resolve::{NODE, UV};
use serde_json::{Value, json};

use crate::agents::{people, text};
use crate::archives::{gz, link, sha256, tar};
use crate::people::{AGENT, People, archive, entry, host};
use crate::server::{redirect, status};
use crate::support::Run;

#[cfg(unix)]
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
        ("twice", gz(&tar(&[(AGENT, script), (AGENT, script)])), None, 4, "occurs twice"),
        ("in a folder", gz(&tar(&[("x/bin/agent", script)])), None, 3, "set `cmd` to `./x/bin/agent`"),
        ("foreign", gz(&tar(&[(AGENT, &foreign)])), None, 4, "is a program for windows"),
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
        let (node, uv) = (NODE, UV);
        let lacking = format!("`a` needs npm or uv, which are not in PATH\nhelp: {node}; or {uv}\n");
        assert!(run.stderr.ends_with(&lacking), "{}", run.stderr);
    }
}

#[cfg(unix)]
#[test]
fn a_full_disk_leaves_nothing() {
    let people = People::new();
    let large = gz(&tar(&[(AGENT, b"#!/bin/sh\n"), ("large", &vec![7; 3 << 20])]));
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
    assert_eq!(people.run(&["which", "a"]).code, 3);
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

#[cfg(unix)]
#[test]
fn a_program_that_cannot_be_examined_without_temporary_files_is_not_installed() {
    let people = People::new();
    // Only the headers of larger programs are kept in memory.
    let program = [b"\x7fELF".to_vec(), vec![0; 128 << 10]].concat();
    people.publish(&[people.agent_of("a", "1.0.0", &gz(&tar(&[(AGENT, &program)])), None)]);
    let missing = people.env.path("missing");
    let run = Run::of(people.command(&["install", "a"]).env("TMPDIR", &missing));
    assert_eq!(run.code, 3, "{}", run.stderr);
    let expected = format!("cannot be read without a temporary file: {}: No such file", missing.display());
    assert!(run.stderr.contains(&expected), "{}", run.stderr);
    assert!(
        run.stderr.contains("help: name a directory that can be written with the variable TMPDIR"),
        "{}",
        run.stderr
    );
    assert_eq!(people.left(), [] as [&str; 0]);
}

#[cfg(unix)]
#[test]
fn what_is_installed_and_cannot_be_checked_counts_as_installed() {
    let people = People::new();
    people.publish(&[people.agent("a", "1.0.0")]);
    let missing = people.env.path("missing");
    let run = |command: &str| {
        let run = Run::of(people.command(&[command, "a", "--json", "--refresh"]).env("TMPDIR", &missing));
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert!(run.stderr.contains("a is installed, but was not checked: "), "{}", run.stderr);
        assert!(
            run.stderr.contains("; name a directory that can be written with the variable TMPDIR"),
            "{}",
            run.stderr
        );
        serde_json::from_str::<Value>(&run.stdout).unwrap()
    };
    assert_eq!(run("install")["agents"][0]["version"], "1.0.0");
    people.publish(&[people.agent("a", "1.1.0")]);
    let document = run("update");
    assert_eq!((&document["updates"][0]["applied"], &document["errors"]), (&json!(true), &json!([])), "{document}");
    assert_eq!(people.run(&["run", "a"]).stdout, "a-1.1.0 acp\n");
}

/// JSON has only Unicode: such paths are shown as well as they can be, and nothing fails because of them.
#[cfg(target_os = "linux")]
#[test]
fn documents_show_paths_that_are_not_unicode() {
    use std::os::unix::ffi::OsStrExt as _;

    let people = People::new();
    people.publish(&[people.agent("a", "1.0.0")]);
    let odd = |folder: &str| people.env.path(folder).join(std::ffi::OsStr::from_bytes(b"d\xff"));
    let (root, home) = (odd("data"), odd("home"));
    for folder in [&home, &people.env.path("work")] {
        fs::create_dir_all(folder).unwrap();
    }
    for arguments in [
        "install a --no-check", "which a", "resolve a", "info a", "info a --permissions", "list --installed", "doctor",
        "update", "install a", "uninstall a", "resolve a", "gc",
    ] {
        let words: Vec<&str> = arguments.split(' ').chain(["--json"]).collect();
        let mut command = people.command(&words);
        command.env("ACP_REGISTRY_ROOT", &root).env("HOME", &home).current_dir(people.env.path("work"));
        let run = Run::of(&mut command);
        let document: Value =
            serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{arguments}: {}", run.stderr));
        assert!(document["error"].is_null() || arguments == "install a", "{arguments}: {document}");
        if ["which a", "resolve a"].contains(&arguments) {
            let place = document["install_dir"].as_str().unwrap();
            assert!(place.contains("/data/d\u{fffd}/agents/a/1.0.0-"), "{place}");
        }
    }
}

/// Without the flags that were given, a remedy would act on other agents.
#[cfg(unix)]
#[test]
fn a_command_in_a_remedy_acts_on_the_agents_and_the_index_that_were_named() {
    let people = people();
    let index = people.server.url("/registry.json");
    let place = ["--root", "my 'root'", "--index", &index];
    let ask = |arguments: &[&str]| people.run(&[arguments, &place].concat());
    let flags = format!(r"--root 'my '\''root'\''' --index {index}");
    let command = format!("acp-registry install a {flags}");
    let help = format!("run `{command}`");
    assert_eq!(people.run(&["list"]).code, 0);
    let run = ask(&["which", "a"]);
    assert!(run.code == 2 && run.stderr.ends_with(&format!("help: {help}\n")), "{}", run.stderr);
    let document: Value = serde_json::from_str(&ask(&["which", "a", "--json"]).stdout).unwrap();
    assert_eq!(document["error"]["help"], help);
    let run = ask(&["which", "a", "--progress", "json"]);
    let event: Value = serde_json::from_str(run.stderr.lines().last().unwrap()).unwrap();
    assert_eq!(event["help"], help);
    let words = Command::new("sh").args(["-c", &format!("printf '%s\\n' {command}")]).output().unwrap().stdout;
    let words: Vec<&str> = std::str::from_utf8(&words).unwrap().lines().skip(1).chain(["--no-check"]).collect();
    assert_eq!(people.run(&words).code, 0);
    assert_eq!((ask(&["which", "a"]).code, people.run(&["which", "a"]).code), (0, 2));
    // As do those in notes and warnings.
    let run = ask(&["install", "a@1.0.0", "--no-check"]);
    assert!(run.stderr.contains(&format!("until `acp-registry update --unpin a {flags}`")), "{}", run.stderr);

    fs::create_dir(people.env.path("my 'root'/agents/a/.new-x")).unwrap();
    let gc = format!("`acp-registry gc {flags}` removes them");
    let run = ask(&["doctor"]);
    assert!(run.stdout.contains(&format!("help: {gc}\n")), "{}", run.stdout);
    let document: Value = serde_json::from_str(&ask(&["doctor", "--json"]).stdout).unwrap();
    assert_eq!(document["agents"][0]["checks"][0]["help"], gc);
    // Commands that maintain a registry get its flags.
    people.env.write("c.toml", "");
    people.env.write("r/a/agent.json", "{}");
    let run = people.run(&["--config", "c.toml", "validate", "unknown"]);
    let help = "`acp-registry new --registry-dir r --config c.toml` adds an agent\n";
    assert!(run.code == 2 && run.stderr.ends_with(help), "{}", run.stderr);
}
