//! `acp-registry new` from the Python package index, and from GitHub releases.
#![cfg(unix)]

use serde_json::{Value, json};

use crate::agent::fake_agent;
use crate::archives::{gz, sha256, tar};
use crate::new::{Place, body, left};
use crate::server::{Answer, ok, status};

#[test]
fn a_python_package_becomes_an_agent() {
    let files = json!({ "files": [
        { "filename": "kit-1.10-py3-none-any.whl", "hashes": { "sha256": "x" } },
        { "filename": "kit-2.0rc1-py3-none-any.whl", "hashes": { "sha256": "x" } },
        { "filename": "kit-1.11-py3-none-any.whl", "hashes": { "sha256": "x" }, "yanked": "oops" },
    ] });
    let simple =
        (200, vec![("Content-Type", "application/vnd.pypi.simple.v1+json".to_owned())], files.to_string().into_bytes());
    let info = json!({ "info": { "summary": "A kit", "license_expression": "Apache-2.0", "author_email": "K <k@h.example>",
                                 "project_urls": { "Source": "https://github.com/o/kit", "Homepage": "http://kit.example" } } });
    let mute = body(&json!({ "files": [{ "filename": "mute-1.0-py3-none-any.whl", "hashes": { "sha256": "x" } }] }));
    let borrowed =
        body(&json!({ "files": [{ "filename": "borrowed-1.0-py3-none-any.whl", "hashes": { "sha256": "x" } }] }));
    let new = Place::with([
        ("/py/simple/mute/", mute),
        ("/py/simple/borrowed/", borrowed),
        ("/py/simple/kit/", simple),
        ("/py/pypi/kit/1.10/json", body(&info)),
    ]);
    let (code, document) = new.json(&["kit", "--pypi", "Kit"]);
    assert_eq!(code, 0, "{document}");
    let expected = json!({
        "id": "kit", "name": "Kit", "version": "1.10.0", "description": "A kit", "repository": "https://github.com/o/kit",
        "authors": ["K"], "license": "Apache-2.0",
        "distribution": { "uvx": { "package": "Kit==1.10", "args": ["acp"] } },
    });
    // The package name is written as given; its script has the same name.
    assert_eq!(new.manifest("kit"), expected);
    let (code, report) = new.verify.env.json(&["validate"]);
    assert_eq!((code, &report["findings"]), (0, &json!([])));
    // A package without a command is refused as for npm, also if it is not started, and nothing is written.
    for flags in [&[][..], &["--no-check"]] {
        let mute = new.run(&[&["mute", "--pypi", "mute"], flags].concat());
        assert!(mute.code == 2 && mute.stderr.contains("uvx has nothing to start"), "{}", mute.stderr);
        assert!(
            mute.stderr.contains("help: name a command with `--cmd`, or the package that has it"),
            "{}",
            mute.stderr
        );
        assert!(!new.files().iter().any(|file| file.starts_with("mute")));
    }
    // uvx also starts a command of a dependency.
    let (_, borrowed) = new.json(&["borrowed", "--pypi", "borrowed", "--no-check"]);
    assert_eq!(borrowed["manifest"]["distribution"]["uvx"], json!({ "package": "borrowed==1.0" }), "{borrowed}");
    let (code, _) = new.json(&["kit-two", "--pypi", "kit==2.0rc1", "--no-probe"]);
    let latest = new.json(&["kit-three", "--pypi", "kit@latest", "--no-probe", "--dry-run"]);
    assert_eq!((latest.0, &latest.1["version"]), (0, &json!("1.10.0")), "{}", latest.1);
    // A preview was requested by name; it does not belong in the stable channel.
    assert_eq!((code, &new.manifest("kit-two")["version"]), (1, &json!("2.0.0-preview.1")));
    // There is no metadata for that version.
    assert!(new.manifest("kit-two")["description"].as_str().unwrap().starts_with("TODO"));
    let (code, report) = new.verify.env.json(&["validate", "kit-two"]);
    let errors: Vec<_> =
        report["findings"].as_array().unwrap().iter().filter(|found| found["level"] == "error").collect();
    assert_eq!((code, errors.len(), &errors[0]["rule"]), (1, 1, &json!("manifest/prerelease-in-stable")));
}

/// A GitHub release with these files, and digests where given.
fn release(tag: &str, assets: &[(&str, Option<&str>)]) -> Value {
    let asset = |(name, digest): &(&str, Option<&str>)| json!({ "name": name, "state": "uploaded", "digest": digest });
    json!({ "tag_name": tag, "assets": assets.iter().map(asset).collect::<Vec<_>>() })
}

/// An archive whose program is an agent if its argument is `acp`.
pub(crate) fn program(name: &str) -> Vec<u8> {
    let script = format!("#!/bin/sh\n[ \"$1\" = acp ] && exec \"{}\" ok\nexit 2\n", fake_agent().display());
    gz(&tar(&[(name, script.as_bytes()), ("pkg/README.md", b"text")]))
}

const ABOUT: &str = r#"{ "description": "Archives", "owner": { "login": "o" }, "license": { "spdx_id": "MIT" },
    "html_url": "https://github.example/o/agent", "homepage": "https://github.example/o/agent" }"#;

const RELEASES: &str = "/api/repos/o/agent/releases?per_page=100&page=1";

#[test]
fn releases_on_github_become_an_agent() {
    let (here, there, exe) = (program("pkg/agent"), program("pkg/other"), program("agent.exe"));
    let digest = format!("sha256:{}", sha256(&here));
    let newest = release(
        "v1.2",
        &[
            ("agent-linux-x64.tar.gz", Some(&digest)),
            ("agent-linux-x64.tar.gz.sha256", None),
            ("agent-linux-arm64.tar.gz", None),
            ("agent-windows-x64.tar.gz", None),
            ("agent-darwin-x64.tar.gz", None),
            ("agent-darwin-x64-debug.zip", None),
            ("agent-macos-arm64.tar.gz", None),
        ],
    );
    let mut young = release("v2.0.0", &[("agent-linux-x64.tar.gz", None)]);
    young["prerelease"] = json!(true);
    let older = release("v1.1.0", &[("agent-linux-x64.tar.gz", None)]);
    let other = release("docs-v9.0.0", &[("book.zip", None)]);
    let new = Place::with([
        ("/api/repos/o/agent", ok(ABOUT)),
        ("/api/repos/o/agent/license", ok(r#"{ "html_url": "https://github.example/o/agent/blob/main/LICENSE" }"#)),
        (RELEASES, body(&json!([young, other, older, newest]))),
        ("/o/agent/releases/download/v1.2/agent-linux-x64.tar.gz", ok(here.clone())),
        ("/o/agent/releases/download/v1.2/agent-linux-arm64.tar.gz", ok(there.clone())),
        (
            "/o/agent/releases/download/v1.2/agent-darwin-x64.tar.gz",
            ok(gz(&tar(&[("a", b"#!/bin/sh\n"), ("b", b"#!/bin/sh\n")]))),
        ),
        ("/o/agent/releases/download/v1.2/agent-macos-arm64.tar.gz", ok(there.clone())),
        ("/o/agent/releases/download/v1.2/agent-windows-x64.tar.gz", ok(exe.clone())),
    ]);
    let host = new.server.host.clone();
    let (code, document) = new.json(&["--allow-host", &host, "some-agent", "--github", "o/agent"]);
    assert_eq!(code, 0, "{document}");
    let target = |name: &str, bytes: &[u8], cmd: &str| {
        json!({ "archive": new.server.url(&format!("/o/agent/releases/download/v1.2/{name}")), "sha256": sha256(bytes),
                "cmd": cmd, "args": ["acp"] })
    };
    let expected = json!({
        "id": "some-agent", "name": "Some Agent", "version": "1.2.0", "description": "Archives",
        "repository": "https://github.example/o/agent", "authors": ["o"], "license": "MIT",
        "license_url": "https://github.example/o/agent/blob/main/LICENSE",
        "distribution": { "binary": {
            "darwin-aarch64": target("agent-macos-arm64.tar.gz", &there, "./pkg/other"),
            "linux-aarch64": target("agent-linux-arm64.tar.gz", &there, "./pkg/other"),
            "linux-x86_64": target("agent-linux-x64.tar.gz", &here, "./pkg/agent"),
            "windows-x86_64": target("agent-windows-x64.tar.gz", &exe, "./agent.exe"),
        } },
    });
    assert_eq!(new.manifest("some-agent"), expected);
    let left = left(&document);
    assert!(
        left.contains(
            "add darwin-x86_64, which was left out: `agent-darwin-x64.tar.gz` has several programs (`a`, `b`)"
        ),
        "{left}"
    );
    assert!(left.contains("there are also `agent-darwin-x64-debug.zip`"), "{left}");
    let (code, report) = new.verify.env.json(&["validate", "--allow-host", &host]);
    assert_eq!((code, &report["summary"]["errors"]), (0, &json!(0)), "{report}");
    // The program of the third platform is given with `--cmd`.
    let run = new.run(&["--allow-host", &host, "with-cmd", "--github", "o/agent", "--cmd", "b", "--no-probe"]);
    assert_eq!(run.code, 1, "there is no build for the other systems: {}", run.stdout);
    let binary = &new.manifest("with-cmd")["distribution"]["binary"];
    assert_eq!(binary["darwin-x86_64"]["cmd"], json!("./b"));
    // The other platforms have no such program, and no other program is used instead.
    assert_eq!(binary.as_object().map(serde_json::Map::len), Some(1), "{binary}");
    assert!(run.stdout.contains("`agent-linux-x64.tar.gz` has no program `b`, only `pkg/agent`"), "{}", run.stdout);
    for name in ["nosuch", "bin/nosuch"] {
        let run =
            new.run(&["--allow-host", &host, "agent-q", "--github", "o/agent@latest", "--cmd", name, "--no-probe"]);
        let message = format!("has no program `{name}`, only `a`, `b`");
        let is_said = run.stderr.contains(&message) && run.stderr.contains("help: correct the name in --cmd");
        assert!(run.code == 2 && is_said, "{name}: {}", run.stderr);
    }
}

/// GitHub's response if the rate limit is exceeded.
fn limited() -> Answer {
    (403, vec![("Retry-After", "1799".to_owned())], b"{}".to_vec())
}

#[test]
fn what_a_repository_does_not_offer_is_said() {
    let bytes = program("pkg/agent");
    let wrong = format!("sha256:{}", "0".repeat(64));
    let new = Place::with([
        ("/api/repos/o/agent", ok(ABOUT)),
        (RELEASES, body(&json!([release("v1.0.0", &[("agent-linux-x64.tar.gz", Some(&wrong))])]))),
        ("/o/agent/releases/download/v1.0.0/agent-linux-x64.tar.gz", ok(bytes)),
        ("/api/repos/o/new", ok(ABOUT)),
        ("/api/repos/o/new/releases?per_page=100&page=1", body(&json!([]))),
        ("/api/repos/o/next", ok(ABOUT)),
        (
            "/api/repos/o/next/releases?per_page=100&page=1",
            body(&json!([release("v2.0.0-rc.1", &[("agent-linux-x64.zip", None)])])),
        ),
        ("/api/repos/o/limited", limited()),
        ("/api/repos/o/refused", status(401)),
        ("/api/repos/o/agent/releases/tags/v3", body(&release("v3", &[("agent.tar.gz", None)]))),
        ("/api/repos/o/agent/releases/tags/nightly", body(&release("nightly", &[("agent-linux-x64.zip", None)]))),
        (
            "/api/repos/o/agent/releases/tags/v4.0",
            body(&release("v4.0", &[("agent-linux-x64.zip", None), ("agent-windows-x64.zip", None)])),
        ),
    ]);
    let host = new.server.host.clone();
    for (spec, code, message) in [
        ("o/absent", 3, "GitHub has no repository `o/absent`"),
        ("o/agent", 4, "where GitHub says 0000"),
        ("o/agent@v2", 2, "there is no release `v2`"),
        ("o/agent@v3", 2, "contains a platform (there are `agent.tar.gz`)"),
        ("o/agent@v4.0", 2, "answers 404 (and 1 more file)\nhelp: publish the files of this release, or name another"),
        ("o/new", 2, "`o/new` has no releases\nhelp: publish a release"),
        ("o/next", 2, "names a version\nhelp: for the newest other release, write `o/next@v2.0.0-rc.1`"),
        ("o/refused", 3, "answers 401\nhelp: GitHub wants a valid token: set GITHUB_TOKEN to one, or unset it"),
        (
            "o/limited",
            3,
            "\nhelp: GitHub's rate limit is used up for another 30 min: wait; it is higher with a token in GITHUB_TOKEN",
        ),
        ("o/agent@nightly", 2, "names no version"),
        ("o", 2, "write a repository as `OWNER/REPO`"),
    ] {
        let run = new.run(&["--allow-host", &host, "agent-x", "--no-probe", "--github", spec]);
        assert!(run.code == code && run.stderr.contains(message), "{spec}: {} {}", run.code, run.stderr);
        // No download is reported before GitHub was asked, and an invalid name causes no request.
        let notes: Vec<&str> = run.stderr.lines().filter(|line| line.contains("archives")).collect();
        let is_asked = code != 2 || spec != "o";
        assert!(
            notes.first().is_none_or(|note| note.starts_with("note: asking GitHub for the release; ")),
            "{notes:?}"
        );
        assert_eq!(!notes.is_empty(), is_asked, "{spec}: {notes:?}");
        new.assert_nothing_written();
    }
}
