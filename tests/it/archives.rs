//! `validate --archives` with generated archives, served on loopback.

use std::fs;
use std::io::{Cursor, Write as _};
use std::process::Command;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::server::{Asked, Server, ok, status};
use crate::support::{Env, ICON, Run, wait_until};

const SCRIPT: &[u8] = b"#!/bin/sh\nexit 0\n";

/// A tar archive with these files, all executable.
pub(crate) fn tar(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, content) in files {
        let mut header = tar::Header::new_ustar();
        // Written by hand, since the library refuses names that lead out of the archive.
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_size(content.len() as u64);
        header.set_mode(0o755);
        header.set_cksum();
        builder.append(&header, *content).unwrap();
    }
    builder.into_inner().unwrap()
}

/// A tar archive with one link.
pub(crate) fn link(kind: tar::EntryType, name: &str, target: &str) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_ustar();
    header.set_entry_type(kind);
    header.as_old_mut().linkname[..target.len()].copy_from_slice(target.as_bytes());
    header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
    header.set_size(0);
    header.set_cksum();
    builder.append(&header, &[][..]).unwrap();
    builder.into_inner().unwrap()
}

pub(crate) fn gz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn bz2(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn zip(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in files {
        writer.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
        writer.write_all(content).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

pub(crate) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A registry with one agent, whose Linux target has this archive name, program and optional digest. A server has that
/// archive below `/1.0.0/`, and a valid archive for the other systems.
struct Case {
    env: Env,
    server: Server,
}

impl Case {
    fn new(name: &str, cmd: &str, digest: Option<&str>, bytes: Vec<u8>) -> Self {
        let path = format!("/1.0.0/{name}");
        Self::answering(
            name,
            cmd,
            digest,
            move |asked| if asked.path == path { ok(bytes.clone()) } else { status(404) },
        )
    }

    fn answering(
        name: &str,
        cmd: &str,
        digest: Option<&str>,
        answer: impl Fn(&Asked) -> crate::server::Answer + Send + Sync + 'static,
    ) -> Self {
        let fine = zip(&[("a", SCRIPT), ("a.exe", SCRIPT)]);
        let fine_digest = sha256(&fine);
        let server = Server::answering(
            move |asked| if asked.path == "/1.0.0/fine.zip" { ok(fine.clone()) } else { answer(asked) },
        );
        let target = |name: &str, cmd: &str, digest: Option<&str>| {
            let mut target = json!({ "archive": server.url(&format!("/1.0.0/{name}")), "cmd": cmd });
            if let Some(digest) = digest {
                target["sha256"] = json!(digest);
            }
            target
        };
        let manifest = json!({
            "id": "a", "name": "An agent", "version": "1.0.0", "description": "Made for a test", "license": "MIT", "authors": ["A"],
            "distribution": { "binary": {
                "darwin-aarch64": target("fine.zip", "./a", Some(&fine_digest)),
                "linux-x86_64": target(name, cmd, digest),
                "windows-x86_64": target("fine.zip", "./a.exe", Some(&fine_digest)),
            } },
        });
        let env = Env::empty().file("r/a/icon.svg", ICON);
        env.write("r/a/agent.json", serde_json::to_string_pretty(&manifest).unwrap());
        fs::create_dir(env.path("tmp")).unwrap();
        Self { env, server }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let all = [&["--allow-host", &self.server.host, "validate", "--archives", "--json"], arguments].concat();
        let mut command = self.env.command(&all);
        command.env("GITHUB_API_URL", self.server.url("/api/v3")).env("TMPDIR", self.env.path("tmp"));
        command.env("HOME", self.env.path("home"));
        command
    }

    /// Returns the exit code, and the rule and message of each finding.
    fn validate(&self, arguments: &[&str]) -> (i32, Vec<(String, String)>) {
        let run = Run::of(&mut self.command(arguments));
        assert_eq!(fs::read_dir(self.env.path("tmp")).unwrap().count(), 0, "temporary files are left");
        let report: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error} {}", run.stderr));
        let text = |finding: &Value, key: &str| finding[key].as_str().unwrap_or_default().to_owned();
        let findings = report["findings"].as_array().unwrap().iter();
        (
            run.code,
            findings
                .map(|one| (text(one, "rule"), format!("{} {}", text(one, "message"), text(one, "help"))))
                .collect(),
        )
    }

    fn downloads(&self, name: &str) -> usize {
        self.server.asked().iter().filter(|asked| asked.ends_with(name)).count()
    }
}

#[test]
fn archives_of_every_format_are_in_order() {
    let files: &[(&str, &[u8])] = &[("bin/agent", SCRIPT), ("README", b"text")];
    for (name, bytes) in [
        ("a.zip", zip(files)),
        ("a.tar.gz", gz(&tar(files))),
        ("a.tgz", gz(&tar(files))),
        ("a.tar.bz2", bz2(&tar(files))),
        ("a.tbz2", bz2(&tar(files))),
        ("agent", SCRIPT.to_vec()),
    ] {
        let digest = sha256(&bytes).to_ascii_uppercase();
        // A file that is not an archive is installed under the name in the manifest.
        let cmds = if name == "agent" {
            ["./agent", "agent", ".\\other"]
        } else {
            ["./bin/agent", "bin/agent", ".\\bin\\agent"]
        };
        for cmd in cmds {
            let findings = Case::new(name, cmd, Some(&digest), bytes.clone()).validate(&["--allow", "distribution/*"]);
            assert_eq!(findings, (0, vec![]), "{name} {cmd}");
        }
    }
}

#[cfg(unix)]
#[test]
fn each_fault_has_its_finding() {
    let agent: &[(&str, &[u8])] = &[("pkg-1.2/bin/agent", SCRIPT)];
    let executable = fs::read(std::env::current_exe().unwrap()).unwrap();
    let wrong = "windows-x86_64";
    assert!(!wrong.contains(std::env::consts::OS));
    let cut = gz(&tar(&[("agent", &vec![7; 100_000])]));
    for (name, cmd, bytes, rule, part) in [
        ("a.tar.gz", "./bin/agent", gz(&tar(agent)), "archive/cmd-not-found", "found `pkg-1.2/bin/agent`"),
        ("a.zip", "./agent", zip(agent), "archive/cmd-not-found", "found `pkg-1.2/bin/agent`"),
        ("a.tar.gz", "./agent", gz(&tar(&[("../agent", SCRIPT)])), "archive/unsafe-entry", "`../agent` leads out"),
        ("a.tar.gz", "./agent", gz(&tar(&[("/etc/agent", SCRIPT)])), "archive/unsafe-entry", "absolute"),
        ("a.tar.gz", "./agent", gz(&tar(&[("C:\\agent", SCRIPT)])), "archive/unsafe-entry", "drive"),
        ("a.tar.gz", "./agent", gz(&tar(&[("..\\agent", SCRIPT)])), "archive/unsafe-entry", "leads out"),
        ("a.tar.gz", "./agent", gz(&tar(&[("a", SCRIPT), ("A", SCRIPT)])), "archive/unsafe-entry", "same name"),
        ("a.tar.gz", "./agent", gz(&tar(&[("a", SCRIPT), ("a", SCRIPT)])), "archive/unsafe-entry", "twice"),
        ("a.tar.gz", "./agent", gz(&tar(&[("aux.txt", SCRIPT)])), "archive/unsafe-entry", "device on Windows"),
        ("a.tar.gz", "./agent", gz(&tar(&[("a\u{1b}[2J", SCRIPT)])), "archive/unsafe-entry", "\\u{1b}[2J"),
        ("a.tar.gz", "./agent", gz(&link(tar::EntryType::Symlink, "a", "../../x")), "archive/unsafe-entry", "outside"),
        ("a.tar.gz", "./agent", gz(&link(tar::EntryType::Link, "a", "/etc/passwd")), "archive/unsafe-entry", "`a`"),
        ("a.tar.gz", "./agent", gz(&link(tar::EntryType::Fifo, "a", "")), "archive/unsafe-entry", "FIFO"),
        ("a.tar.gz", "./agent", gz(&link(tar::EntryType::Block, "a", "")), "archive/unsafe-entry", "device"),
        ("a.zip", "./agent", zip(&[("../agent", SCRIPT)]), "archive/unsafe-entry", "leads out"),
        ("a.tar.gz", "./agent", b"<!DOCTYPE html><h1>Sorry".to_vec(), "archive/unreadable", "HTML page"),
        ("a.tar.gz", "./agent", cut[..cut.len() / 2].to_vec(), "archive/unreadable", "cut off"),
        ("a.zip", "./agent", zip(agent)[..60].to_vec(), "archive/unreadable", "the archive "),
        ("a.tar.gz", "./agent", Vec::new(), "archive/unreadable", "empty"),
        ("a.tar.gz", "./agent", zip(&[("agent", SCRIPT)]), "archive/misleading-suffix", "by its content a .zip"),
        ("a.zip", "./agent", gz(&tar(&[("agent", SCRIPT)])), "archive/misleading-suffix", "by its content a .tar.gz"),
        ("agent", "./agent", gz(&tar(&[("agent", SCRIPT)])), "archive/misleading-suffix", "a bare executable"),
    ] {
        let digest = sha256(&bytes);
        let (code, findings) = Case::new(name, cmd, Some(&digest), bytes).validate(&[]);
        assert_eq!(code, 1, "{rule} {part}: {findings:?}");
        assert!(findings.len() == 1 && findings[0].0 == rule && findings[0].1.contains(part), "{part}: {findings:?}");
    }

    // This very test is a program for another system than Windows.
    let bytes = zip(&[("agent", &executable[..100_000])]);
    let case = Case::new("a.zip", "./agent", Some(&sha256(&bytes)), bytes);
    let text = case.env.read("r/a/agent.json");
    let swapped = text.replace("fine.zip", "swap").replace("a.zip", "fine.zip").replace("swap", "a.zip");
    case.env.write("r/a/agent.json", swapped.replace("./a.exe", "./agent").replace("\"./a\"", "\"./agent\""));
    let (_, findings) = case.validate(&["--allow", "archive/digest-mismatch", "--allow", "archive/cmd-not-found"]);
    assert!(
        findings.iter().any(|(rule, message)| rule == "archive/wrong-platform" && message.contains("windows")),
        "{findings:?}"
    );
}

#[test]
fn limits_are_kept_and_can_be_set() {
    let bytes = gz(&tar(&[("agent", SCRIPT), ("more", &vec![0; 1 << 20])]));
    let digest = sha256(&bytes);
    for (limits, part) in [
        ("compressed = 100", "larger than 100 bytes"),
        ("unpacked = 500000", "unpacks to more than 500000 bytes"),
        ("entries = 1", "more than 1 entries"),
    ] {
        let case = Case::new("a.tar.gz", "./agent", Some(&digest), bytes.clone());
        case.env.write("r/registry.toml", format!("[archive-limits]\n{limits}\n"));
        let (code, findings) = case.validate(&[]);
        let found = findings.iter().find(|(rule, message)| rule == "archive/too-large" && message.contains(part));
        assert!(code == 1 && found.is_some(), "{part}: {findings:?}");
    }
    let bomb = gz(&tar(&[("agent", &vec![0; 300 << 20])]));
    let (_, findings) = Case::new("a.tar.gz", "./agent", Some(&sha256(&bomb)), bomb).validate(&[]);
    assert!(
        findings.iter().any(|(rule, message)| rule == "archive/too-large" && message.contains("100 times")),
        "{findings:?}"
    );
}

#[test]
fn digests_are_compared_and_missing_ones_written() {
    let bytes = gz(&tar(&[("agent", SCRIPT)]));
    let digest = sha256(&bytes);
    let case = Case::new("a.tar.gz", "./agent", Some(&"0".repeat(64)), bytes.clone());
    let (code, findings) = case.validate(&["--fix"]);
    assert_eq!((code, findings.len(), findings[0].0.as_str()), (1, 1, "archive/digest-mismatch"));
    assert!(findings[0].1.contains(&digest), "{findings:?}");

    let case = Case::new("a.tar.gz", "./agent", None, bytes);
    let (code, findings) = case.validate(&[]);
    assert_eq!((code, findings.len(), findings[0].0.as_str()), (0, 1, "archive/missing-digest"));
    let before = case.env.read("r/a/agent.json");
    assert_eq!(case.validate(&["--fix"]), (0, vec![]));
    let after = case.env.read("r/a/agent.json");
    let cmd = "\"cmd\": \"./agent\"";
    assert_eq!(after, before.replace(cmd, &format!("{cmd},\n        \"sha256\": \"{digest}\"")));
    assert_eq!(case.validate(&[]), (0, vec![]));
}

#[test]
fn a_file_that_nobody_should_vouch_for_gets_no_digest() {
    let case = Case::new("a.tar.gz", "./agent", None, b"<html>".to_vec());
    let before = case.env.read("r/a/agent.json");
    let (_, findings) = case.validate(&["--fix"]);
    assert!(findings.iter().all(|(rule, _)| rule == "archive/unreadable"), "{findings:?}");
    assert_eq!(case.env.read("r/a/agent.json"), before);
}

/// A GitHub release with one file, and the digest that GitHub reports for it.
fn release(bytes: Vec<u8>, digest: &str) -> impl Fn(&Asked) -> crate::server::Answer + Send + Sync + 'static {
    let release =
        json!({ "assets": [{ "name": "a.tar.gz", "digest": format!("sha256:{digest}"), "state": "uploaded" }] });
    move |asked| match asked.path.as_str() {
        "/api/v3/repos/o/r/releases/tags/1.0.0" => ok(release.to_string()),
        "/o/r/releases/download/1.0.0/a.tar.gz" => ok(bytes.clone()),
        _ => status(404),
    }
}

fn on_github(case: &Case) {
    let text = case.env.read("r/a/agent.json");
    case.env.write("r/a/agent.json", text.replace("/1.0.0/a.tar.gz", "/o/r/releases/download/1.0.0/a.tar.gz"));
}

#[test]
fn github_vouches_for_its_files() {
    let bytes = gz(&tar(&[("agent", SCRIPT)]));
    let digest = sha256(&bytes);
    let case = Case::answering("a.tar.gz", "./agent", Some(&digest), release(bytes.clone(), &digest));
    on_github(&case);
    // A file whose digest GitHub reports is downloaded once, then read from the cache.
    for downloads in [1, 1] {
        assert_eq!(case.validate(&[]), (0, vec![]));
        assert_eq!(case.downloads("/download/1.0.0/a.tar.gz"), downloads);
    }
    assert_eq!(case.validate(&["--no-cache"]), (0, vec![]));
    assert_eq!(case.downloads("/download/1.0.0/a.tar.gz"), 2);

    let case = Case::answering("a.tar.gz", "./agent", Some(&digest), release(bytes, &"1".repeat(64)));
    on_github(&case);
    let (code, findings) = case.validate(&[]);
    assert_eq!((code, findings.len(), findings[0].0.as_str()), (1, 1, "archive/digest-mismatch"), "{findings:?}");
    assert!(findings[0].1.contains("but GitHub says"), "{findings:?}");
}

#[cfg(unix)]
#[test]
fn a_cached_file_that_was_tampered_with_is_fetched_anew() {
    let bytes = gz(&tar(&[("agent", SCRIPT)]));
    let digest = sha256(&bytes);
    let case = Case::answering("a.tar.gz", "./agent", Some(&digest), release(bytes, &digest));
    on_github(&case);
    case.validate(&[]);
    let files = case.env.path("home/.cache/acp-registry/files");
    for file in fs::read_dir(&files).unwrap() {
        fs::write(file.unwrap().path(), b"evil").unwrap();
    }
    assert_eq!(case.validate(&[]), (0, vec![]));
    assert_eq!(case.downloads("/download/1.0.0/a.tar.gz"), 2);
}

#[test]
fn an_archive_is_fetched_once_for_all_that_name_it() {
    let case = Case::new("unused.zip", "./a", None, zip(&[("a", SCRIPT)]));
    case.validate(&["--urls"]);
    assert_eq!(case.downloads("/fine.zip"), 1);
    assert!(case.server.requests().iter().all(|asked| asked.method == "GET"));
}

#[cfg(unix)]
#[test]
fn a_machine_that_cannot_store_archives_does_not_pass_them() {
    let case = Case::new("a.zip", "./a", None, zip(&[("a", SCRIPT)]));
    let missing = case.env.path("missing");
    for flags in [&["--urls"][..], &[]] {
        let run = Run::of(case.command(flags).env("TMPDIR", &missing));
        assert_eq!(run.code, 3, "{}", run.stderr);
        assert!(
            run.stderr.contains("cannot be stored") && run.stderr.contains(missing.to_str().unwrap()),
            "{}",
            run.stderr
        );
        assert!(!run.stderr.contains("no host could be reached"), "{}", run.stderr);
        serde_json::from_str::<Value>(&run.stdout).unwrap();
    }
}

#[cfg(unix)]
#[test]
fn a_file_that_cannot_be_changed_keeps_its_finding_and_stops_no_other() {
    use std::os::unix::fs::symlink;

    let case = Case::new("a.zip", "./a", None, zip(&[("a", SCRIPT)]));
    let manifest = case.env.read("r/a/agent.json");
    // `b` and `c` link to one manifest; `d` has a file of its own.
    for id in ["b", "c"] {
        case.env.write(&format!("r/{id}/icon.svg"), ICON);
        symlink("../shared.json", case.env.path(&format!("r/{id}/agent.json"))).unwrap();
    }
    case.env.write("r/shared.json", manifest.replace("\"id\": \"a\"", "\"id\": \"b\""));
    case.env.write("r/d/icon.svg", ICON);
    case.env.write("r/d/agent.json", manifest.replace("\"id\": \"a\"", "\"id\": \"d\""));
    let (_, findings) = case.validate(&["--fix", "--allow", "manifest/*", "--allow", "registry/*"]);
    assert_eq!(findings, []);
    for file in ["r/a/agent.json", "r/shared.json", "r/d/agent.json"] {
        assert_eq!(case.env.read(file).matches("sha256").count(), 3, "{file}");
    }
}

/// The requests are over, and nothing waits for signals but the thread that listens to them.
#[cfg(unix)]
#[test]
fn a_signal_ends_a_program_whose_result_nobody_takes() {
    use nix::sys::signal::{Signal, kill};

    let bytes = gz(&tar(&[("agent", b"#!/bin/sh\n")]));
    let case = Case::new("a.tar.gz", "./agent", Some(&sha256(&bytes)), bytes);
    assert!(Command::new("mkfifo").arg(case.env.path("fifo")).status().unwrap().success());
    let mut command = case.command(&["--output", "sarif=before", "--output", "json=fifo"]);
    let mut child = command.stdout(std::process::Stdio::null()).spawn().unwrap();
    wait_until("the first file is written", || case.env.path("before").exists());
    kill(nix::unistd::Pid::from_raw(child.id().try_into().unwrap()), Signal::SIGTERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(143));
}

#[cfg(unix)]
#[test]
fn an_interrupted_download_leaves_nothing() {
    use nix::sys::signal::{Signal, kill};
    use nix::unistd::Pid;

    for (signal, code) in [(Signal::SIGINT, 130), (Signal::SIGTERM, 143)] {
        // One of its own, which no request of another process reaches late.
        let server = Server::raw(|_, stream| {
            stream.write_all(b"HTTP/1.1 200 X\r\nContent-Length: 100000000\r\n\r\n\x1f\x8b\x08")?;
            // Keeps the connection open until the program closes it.
            std::io::copy(stream, &mut std::io::sink()).map(drop)
        });
        let case = Case::new("a.tar.gz", "./agent", None, Vec::new());
        let text = case.env.read("r/a/agent.json");
        case.env.write("r/a/agent.json", text.replace(&case.server.host, &server.host));
        let mut command = case.command(&["--allow-host", &server.host]);
        let child = command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
        wait_until("the archive is asked for", || !server.asked().is_empty());
        kill(Pid::from_raw(child.id().try_into().unwrap()), signal).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(code));
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(document["error"]["exit_code"], code);
        assert_eq!(fs::read_dir(case.env.path("tmp")).unwrap().count(), 0);
    }
}

#[test]
fn an_archive_that_cannot_be_fetched_is_a_finding_of_its_own() {
    let case = Case::answering("a.tar.gz", "./agent", None, |_| status(404));
    let (code, findings) = case.validate(&[]);
    assert_eq!((code, findings.len(), findings[0].0.as_str()), (1, 1, "url/unreachable"), "{findings:?}");
}
