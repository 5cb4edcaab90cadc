//! The places that `acp-registry verify` uses: the sandbox, the cache of archives, and files that cannot be removed.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use acp_registry::manifest::Platform;
use serde_json::{Value, json};

use crate::agent::{bwrap_works, fake_agent};
use crate::archives::{gz, sha256, tar};
use crate::server::{Server, not_found, ok};
use crate::support::{Run, skipped};
use crate::verify::{Verify, row, rows};

/// A `bwrap` that records its arguments and runs the command after `--`. It replaces the launcher's fourth argument, the
/// user of the agent, since that user could not reach the files without a real sandbox.
const BWRAP: &str = r#"#!/bin/sh
printf '%s\n' "$@" '' >> LOG
while [ "$1" != -- ]; do shift; done
shift
[ "$2" = __launch ] || exec "$@"
launcher=$1 report=$3
shift 4
exec "$launcher" __launch "$report" - "$@"
"#;

/// A distribution for this platform, with a case of the fake agent as arguments.
fn binary(verify: &Verify, archive: &str, digest: &str, case: &[&str]) -> Value {
    let host = Platform::host().unwrap();
    let target = json!({
        "archive": archive, "sha256": digest, "cmd": "./agent", "args": case, "env": { "FAKE_AGENT_TAG": verify.tag },
    });
    json!({ "binary": { host.as_str(): target } })
}

#[test]
fn without_bubblewrap_nothing_is_started() {
    let verify = Verify::new();
    verify.npx("good", &["ok"]);
    let run = Run::of(verify.command(&["--sandbox", "bwrap"]).env("PATH", verify.env.path("bin")));
    assert_eq!((run.code, run.stdout.as_str()), (3, ""));
    assert!(run.stderr.contains("install bubblewrap, or do without --sandbox"), "{}", run.stderr);
    assert_eq!(verify.run(&["--sandbox", "docker"]).code, 2);
    // A sandbox that the system forbids is not a failure of agents.
    verify.env.write_program("bin/bwrap", "#!/bin/sh\necho 'bwrap: no \u{1b}permission' >&2\nexit 1\n");
    let run = verify.run(&["--sandbox", "bwrap"]);
    assert_eq!((run.code, run.stdout.as_str()), (3, ""));
    assert!(run.stderr.contains("does not work on this system: bwrap: no \\u{1b}permission"), "{}", run.stderr);
}

#[test]
fn in_a_sandbox_an_agent_gets_what_was_installed_and_the_reports_say_so() {
    let verify = Verify::new();
    verify.npx("good", &["ok"]);
    let log = verify.env.path("log");
    verify.env.write_program("bin/bwrap", &BWRAP.replace("LOG", log.to_str().unwrap()));
    let (code, document) = verify.json(&["--sandbox", "bwrap", "--out", "c.json"]);
    assert_eq!((code, &row(&document, "good")["isolation"]), (0, &"bwrap".into()), "{document}");
    let snapshot: Value = serde_json::from_str(&verify.env.read("c.json")).unwrap();
    assert_eq!(snapshot["agents"][0]["isolation"], "bwrap");

    let arguments = verify.env.read("log");
    // The first call tests the sandbox; package managers do not run in it.
    let calls: Vec<&str> = arguments.split("\n\n").filter(|call| !call.trim().is_empty()).collect();
    assert_eq!(calls.len(), 2, "{arguments}");
    let words: Vec<&str> = calls[1].lines().collect();
    let after = |option: &str| {
        words.windows(2).filter(|pair| pair[0] == option).map(|pair| Path::new(pair[1])).collect::<Vec<_>>()
    };
    let readable = after("--ro-bind-try");
    let temporary = verify.env.path("tmp").canonicalize().unwrap();
    let installed = readable.iter().filter(|path| path.starts_with(&temporary)).collect::<Vec<_>>();
    assert!(matches!(installed[..], [path] if path.ends_with("install")), "{readable:?}");
    // The directory of the interpreter, for the script's first line.
    assert!(readable.contains(&verify.env.path("bin").as_path()), "{readable:?}");
    assert!(!readable.contains(&verify.env.path("").canonicalize().unwrap().as_path()), "{readable:?}");
    assert!(matches!(after("--bind")[..], [path] if path.starts_with(&temporary)), "{words:?}");

    let run = verify.run(&["--sandbox", "bwrap"]);
    assert!(run.stdout.contains("isolation: bwrap: the host's files and processes were hidden"), "{}", run.stdout);
    let run = verify.run(&["--format", "markdown"]);
    // As root, agents get another user.
    let own = ["isolation: own environment, home and session", "isolation: own user, environment, home and session"];
    assert!(own.iter().any(|own| run.stdout.contains(own)), "{}", run.stdout);
}

#[test]
fn bubblewrap_hides_the_files_of_the_host_from_agents_that_were_installed() {
    const TEST: &str = "bubblewrap_hides_the_files_of_the_host_from_agents_that_were_installed";
    if !bwrap_works() || Platform::host().is_none() {
        return skipped(TEST, "bwrap is not installed, or does not work here");
    }
    let verify = Verify::new();
    let archive = gz(&tar(&[("agent", &fs::read(fake_agent()).unwrap())]));
    let digest = sha256(&archive);
    let server = Server::answering(move |_| ok(archive.clone()));
    let secret = verify.env.path("r/secret");
    fs::write(&secret, "x").unwrap();
    let url = server.url("/agent.tgz");
    verify.agent("good", &binary(&verify, &url, &digest, &["ok"]));
    verify.agent("spy", &binary(&verify, &url, &digest, &["exit-if-there", secret.to_str().unwrap()]));
    let arguments = ["--sandbox", "bwrap", "--allow-host", &server.host, "--timeout", "30"];
    let (_, document) = verify.json(&arguments);
    assert_eq!(rows(&document), [("good", "pass", ""), ("spy", "fail", "exited")], "{document}");
    assert_eq!(row(&document, "spy")["exit"]["code"], 6, "{document}");
}

#[test]
fn an_archive_is_fetched_once_if_its_digest_is_known() {
    if Platform::host().is_none() {
        return;
    }
    let verify = Verify::new();
    let script = format!("#!/bin/sh\nexec \"{}\" \"$@\"\n", fake_agent().display());
    let archive = gz(&tar(&[("agent", script.as_bytes())]));
    let digest = sha256(&archive);
    let server =
        Server::answering(move |asked| if asked.path == "/agent.tgz" { ok(archive.clone()) } else { not_found() });
    // Digests are compared regardless of case.
    verify.agent("good", &binary(&verify, &server.url("/agent.tgz"), &digest.to_uppercase(), &["ok"]));
    let arguments = ["--allow-host", server.host.as_str()];
    let check = |arguments: &[&str], requests: usize| {
        let (code, document) = verify.json(arguments);
        assert_eq!((code, rows(&document)), (0, vec![("good", "pass", "")]), "{document}");
        assert_eq!(server.asked().len(), requests, "{arguments:?}");
    };
    check(&[&arguments[..], &["--no-cache"]].concat(), 1);
    check(&arguments, 2);
    check(&arguments, 2);
    check(&[&arguments[..], &["--no-cache"]].concat(), 3);

    // A damaged file is downloaded again.
    let files = verify.env.path("home/.cache/acp-registry/files");
    let kept: Vec<_> = fs::read_dir(&files).unwrap().map(|item| item.unwrap().path()).collect();
    assert_eq!(kept.len(), 1);
    fs::write(&kept[0], "x").unwrap();
    check(&arguments, 4);
    // The cache does not bypass the allowed hosts.
    assert_eq!(rows(&verify.json(&[]).1), [("good", "error", "install_failed")]);
    // The cache has no file with another digest.
    verify.agent("good", &binary(&verify, &server.url("/agent.tgz"), &"0".repeat(64), &["ok"]));
    assert_eq!(rows(&verify.json(&arguments).1), [("good", "fail", "digest_mismatch")]);
}

#[test]
fn a_place_that_cannot_be_removed_is_named() {
    const TEST: &str = "a_place_that_cannot_be_removed_is_named";
    let verify = Verify::new();
    let file = verify.env.path("file");
    fs::write(&file, "").unwrap();
    let change = |flags: &[&str], path: &Path| {
        Command::new("chattr").args(flags).arg(path).output().is_ok_and(|output| output.status.success())
    };
    let works = change(&["+i"], &file);
    if !change(&["-i"], &file) || !works {
        return skipped(TEST, "files cannot be made immutable here");
    }
    verify.npx("good", &["ok"]).npx("sticky", &["ok"]);
    let run = Run::of(&mut verify.command(&["--json", "--out", "c.json"]));
    change(&["-R", "-i"], &verify.env.path("tmp"));
    assert_eq!(run.code, 0, "{}", run.stderr);
    let left: Vec<_> = fs::read_dir(verify.env.path("tmp")).unwrap().map(|item| item.unwrap().path()).collect();
    let [left] = &left[..] else { panic!("{left:?}") };
    let left = left.canonicalize().unwrap();
    let expected = format!("remove it by hand: {}: ", left.display());
    assert!(run.stderr.contains("could not be removed") && run.stderr.contains(&expected), "{}", run.stderr);
    // The snapshot has no paths of this machine.
    let snapshot = verify.env.read("c.json");
    assert!(!snapshot.contains(verify.env.path("").to_str().unwrap()), "{snapshot}");
    let document: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(rows(&document), [("good", "pass", ""), ("sticky", "pass", "")]);
}

#[test]
fn what_was_installed_can_be_kept() {
    let verify = Verify::new();
    verify.npx("good", &["litter"]);
    assert_eq!(verify.json(&["--keep-sandboxes", "kept"]).0, 0);
    let place = verify.env.path("kept/001-npx");
    assert!(place.join("install/node_modules/good/package.json").is_file());
    let home = fs::read_dir(&place).unwrap().map(|item| item.unwrap().path().join("home/a")).find(|home| home.is_dir());
    let home = home.unwrap();
    // Existing files are not overwritten.
    assert_eq!(verify.json(&["--keep-sandboxes", "kept"]).0, 0);
    assert!(verify.env.path("kept/001-npx-2/install/node_modules/good/package.json").is_file());
    fs::set_permissions(home.join("b"), fs::Permissions::from_mode(0o755)).unwrap();
}
