//! `acp-registry verify` with scripts as package managers, and the fake agent.
#![cfg(unix)]

use std::fs;
use std::process::{Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::agent::{fake_agent, left_with, tag};
use crate::archives::{gz, link, sha256, tar};
use crate::people::{entry, host};
use crate::server::{Server, not_found, ok};
use crate::support::{Env, Run, manifest, wait_until};

/// An `npm` that installs a package or fails, depending on the name of the package.
const NPM: &str = r#"#!/bin/sh
while [ $# -gt 0 ]; do
  case "$1" in --prefix) prefix=$2; shift ;; --) spec=$2 ;; esac
  shift
done
name=${spec%@*}
case $name in counted-*) echo "$name" >> "CALLS" ;; esac
folder=$prefix/node_modules/$name
mkdir -p "$folder"
case $name in
  absent) printf 'npm warn x\nnpm error code ETARGET\nnpm error notarget No matching version \033[31m\n' >&2; exit 1 ;;
  full) echo 'npm warn tar TAR_ENTRY_ERROR ENOSPC: no space left on device, write' >&2 ;;
  down*) echo "$name" >> "CALLS"; echo 'npm error code ECONNREFUSED' >&2
     echo "npm error FetchError: request to http://h.example/$name failed, reason: connect ECONNREFUSED" >&2; exit 1 ;;
  endless) setsid sleep 600 & exec sleep 600 ;;
  two-bins) echo '{"bin":{"a":"a.js","b":"b.js"}}' > "$folder/package.json" ;;
  no-bin) echo '{}' > "$folder/package.json" ;;
  outside) ln -s /bin/sh "$folder/x"; echo '{"bin":"x"}' > "$folder/package.json" ;;
  script) echo '{"bin":"./cli.js"}' > "$folder/package.json"; echo '#!/usr/bin/env node' > "$folder/cli.js" ;;
  unmarked) echo '{"bin":"./cli.js"}' > "$folder/package.json"; echo "console.log(1)" > "$folder/cli.js" ;;
  sticky) echo '{"bin":"run.sh"}' > "$folder/package.json"
     printf '#!/bin/sh\nexec "AGENT" "$@"\n' > "$folder/run.sh"; chmod +x "$folder/run.sh"; chattr +i "$folder/run.sh" ;;
  worse|better)
     echo "$spec" >> "CALLS"
     echo '{"bin":"run.sh"}' > "$folder/package.json"
     # One of the versions follows the protocol, the other violates it as the file says.
     case $spec in worse@1.0.0|better@1.1.0) exchange= ;; *) exchange='$(cat EXCHANGE)' ;; esac
     printf '#!/bin/sh\nexec "AGENT" played "%s"\n' "$exchange" > "$folder/run.sh"; chmod +x "$folder/run.sh" ;;
  registry) echo "npm error $npm_config_userconfig $MY_TOKEN $OTHER_TOKEN $HOME" >&2; exit 1 ;;
  *) echo '{"bin":{"other":"b.sh","'"$name"'":"run.sh"}}' > "$folder/package.json"
     printf '#!/bin/sh\nexec "AGENT" "$@"\n' > "$folder/run.sh"; chmod +x "$folder/run.sh" ;;
esac
"#;

const UV: &str = r#"#!/bin/sh
spec=$(printf '%s' "$*" | sed 's/.*-- //')
name=${spec%%==*}
[ "$name" = absent ] && { echo 'error: no version' >&2; exit 2; }
mkdir -p "$UV_TOOL_BIN_DIR"
printf '#!/bin/sh\nexec "AGENT" "$@"\n' > "$UV_TOOL_BIN_DIR/$name"; chmod +x "$UV_TOOL_BIN_DIR/$name"
"#;

/// A `node` that starts the fake agent if the script exists.
const NODE: &str = "#!/bin/sh\n[ -f \"$1\" ] || exit 9\nshift\nexec \"AGENT\" \"$@\"\n";

/// A registry, package managers, and a temporary directory, which must be empty afterwards.
pub(crate) struct Verify {
    pub(crate) env: Env,
    pub(crate) tag: String,
}

impl Verify {
    pub(crate) fn new() -> Self {
        let env = Env::empty();
        fs::create_dir(env.path("tmp")).unwrap();
        for (name, script) in [("npm", NPM), ("uv", UV), ("node", NODE)] {
            let script = script.replace("AGENT", fake_agent().to_str().unwrap());
            let script = script.replace("EXCHANGE", env.path("exchange").to_str().unwrap());
            let script = script.replace("CALLS", env.path("calls").to_str().unwrap());
            env.write_program(&format!("bin/{name}"), &script);
        }
        Self { env, tag: tag() }
    }

    /// Adds an agent with a package of the same name.
    pub(crate) fn npx(&self, id: &str, case: &[&str]) -> &Self {
        self.agent(id, &json!({ "npx": self.package(&format!("{id}@1.0.0"), case) }))
    }

    pub(crate) fn package(&self, package: &str, case: &[&str]) -> Value {
        json!({ "package": package, "args": case, "env": { "FAKE_AGENT_TAG": self.tag } })
    }

    pub(crate) fn agent(&self, id: &str, distribution: &Value) -> &Self {
        let mut agent: Value = serde_json::from_str(&manifest(id)).unwrap();
        agent["distribution"] = distribution.clone();
        self.env.write(&format!("r/{id}/agent.json"), agent.to_string());
        self
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        self.program(&[&["verify"], arguments].concat())
    }

    /// The program, with these package managers.
    pub(crate) fn program(&self, arguments: &[&str]) -> Command {
        let mut command = self.env.command(arguments);
        let path = std::env::var("PATH").unwrap();
        command.env("PATH", format!("{}:{path}", self.env.path("bin").display()));
        command.env("TMPDIR", self.env.path("tmp")).env("HOME", self.env.path("home"));
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Run {
        let run = Run::of(&mut self.command(arguments));
        self.assert_clean();
        run
    }

    pub(crate) fn json(&self, arguments: &[&str]) -> (i32, Value) {
        let run = self.run(&[arguments, &["--json"]].concat());
        assert!(run.stdout.is_ascii());
        let document = serde_json::from_str(&run.stdout);
        (run.code, document.unwrap_or_else(|error| panic!("{error}: {}{}", run.stdout, run.stderr)))
    }

    pub(crate) fn assert_clean(&self) {
        assert_eq!(left_with("environ", &self.tag), [] as [u32; 0]);
        // Processes that package managers started.
        let place = format!("ACP_REGISTRY_SANDBOX={}", self.env.path("tmp").canonicalize().unwrap().display());
        assert_eq!(left_with("environ", &place), [] as [u32; 0]);
        assert_eq!(fs::read_dir(self.env.path("tmp")).unwrap().count(), 0);
    }
}

/// The id, verdict and reason of each row.
pub(crate) fn rows(document: &Value) -> Vec<(&str, &str, &str)> {
    let rows = document["results"].as_array().unwrap().iter();
    rows.map(|row| {
        (row["id"].as_str().unwrap(), row["verdict"].as_str().unwrap(), row["reason"].as_str().unwrap_or_default())
    })
    .collect()
}

pub(crate) fn row<'a>(document: &'a Value, id: &str) -> &'a Value {
    document["results"].as_array().unwrap().iter().find(|row| row["id"] == id).unwrap()
}

#[test]
fn every_reason_has_its_verdict_and_no_agent_stops_the_others() {
    let verify = Verify::new();
    verify.npx("good", &["ok"]).npx("script", &["ok"]).npx("unmarked", &["ok"]);
    verify.agent("python", &json!({ "uvx": verify.package("python==1.0.0", &["ok"]) }));
    verify
        .npx("absent", &[])
        .npx("full", &[])
        .npx("endless", &[])
        .npx("two-bins", &[])
        .npx("no-bin", &[])
        .npx("outside", &[]);
    verify.agent("unpinned", &json!({ "npx": verify.package("unpinned", &[]) }));
    verify.agent("option", &json!({ "npx": verify.package("--x@1.0.0", &[]) }));
    verify.agent("reserved", &json!({ "npx": { "package": "reserved@1.0.0", "env": { "LD_PRELOAD": "x" } } }));
    verify.npx("silent", &["silent"]).npx("exits", &["exit", "3", "why"]).npx("noise", &["reply", "[]\n"]);
    let no_methods = r#"{"protocolVersion":1,"authMethods":[]}"#;
    let variables = r#"{"protocolVersion":1,"authMethods":[{"id":"k","name":"K","type":"env_var"}]}"#;
    verify.npx("no-methods", &["result", no_methods]).npx("variables", &["result", variables]);
    verify.npx("version", &["result", r#"{"protocolVersion":99}"#]);
    verify.npx("error", &["reply", "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":1,\"message\":\"m\"}}\n"]);
    verify.agent("nothing", &json!({}));
    verify.env.write("r/broken/agent.json", "{");
    let (code, document) = verify.json(&["--timeout", "2", "--install-timeout", "2", "--jobs", "4"]);
    assert_eq!(code, 1);
    assert_eq!(
        rows(&document),
        [
            ("absent", "fail", "package_not_found"),
            ("broken", "fail", "manifest"),
            ("endless", "error", "install_failed"),
            ("error", "fail", "agent_error"),
            ("exits", "fail", "exited"),
            ("full", "error", "install_failed"),
            ("good", "pass", ""),
            ("no-bin", "fail", "install_failed"),
            ("no-methods", "fail", "no_auth_methods"),
            ("noise", "fail", "timeout"),
            ("nothing", "fail", "install_failed"),
            ("option", "fail", "install_failed"),
            ("outside", "fail", "install_failed"),
            ("python", "pass", ""),
            ("reserved", "fail", "spawn_failed"),
            ("script", "pass", ""),
            ("silent", "fail", "timeout"),
            ("two-bins", "fail", "install_failed"),
            ("unmarked", "fail", "exited"),
            ("unpinned", "fail", "install_failed"),
            ("variables", "fail", "no_supported_auth_type"),
            ("version", "fail", "protocol_version"),
        ]
    );
    let summary = &document["summary"];
    assert_eq!((&summary["passed"], &summary["failed"], &summary["errors"]), (&3.into(), &17.into(), &2.into()));
    for (id, part) in [
        ("absent", "npm failed (exit code 1): `ETARGET: No matching version`"),
        ("broken", "broken/agent.json:1:1: not valid JSON: "),
        ("full", "npm did not write all files: `ENOSPC: no space left on device, write`; free space on the disk of /"),
        ("endless", "npm did not end within 2 s"),
        ("two-bins", "has 2 commands (`a`, `b`), and npx cannot choose"),
        ("unmarked", "its file does not begin with `#!`, so that npx has a shell read it; the agent ended before it"),
        ("outside", "has the command `outside`, but its file `x` is not there or leads elsewhere"),
        ("unpinned", "not pinned"),
        ("reserved", "`LD_PRELOAD` belongs to the system"),
        ("exits", "(exit code 3): `why`"),
    ] {
        let message = row(&document, id)["message"].as_str().unwrap();
        assert!(message.contains(part), "{message}");
    }
    let runners: Vec<_> =
        document["results"].as_array().unwrap().iter().filter(|row| row["not_startable_by"] == "npx").collect();
    let runners: Vec<_> = runners.into_iter().map(|row| row["id"].as_str().unwrap()).collect();
    assert_eq!(runners, ["no-bin", "outside", "two-bins", "unmarked"]);
    let warning = &row(&document, "unmarked")["handshake"]["warnings"][0];
    assert_eq!(warning, "its file does not begin with `#!`, so that npx has a shell read it");
    // Unescaped text; the JSON form escapes it.
    assert!(row(&document, "absent")["stderr_tail"].as_str().unwrap().contains("\u{1b}[31m"));
    for name in ["install_seconds", "total_seconds", "start_to_response_seconds"] {
        assert!(row(&document, "good")["timing"][name].as_f64().unwrap() > 0.0, "{name}");
    }
}

#[test]
fn archives_are_compared_unpacked_and_started() {
    let Some(host) = acp_registry::manifest::Platform::host() else { return };
    let verify = Verify::new();
    let script = format!("#!/bin/sh\nexec \"{}\" \"$@\"\n", fake_agent().display());
    let good = gz(&tar(&[("dir/agent", script.as_bytes())]));
    let digest = sha256(&good);
    let evil = gz(&link(tar::EntryType::Symlink, "x", "../../etc"));
    let server = Server::answering(move |asked| match asked.path.as_str() {
        "/good.tgz" => ok(good.clone()),
        "/evil.tgz" => ok(evil.clone()),
        _ => not_found(),
    });
    let target = |file: &str, cmd: &str, sha256: Option<&str>| {
        let mut target = verify.package("", &["ok"]);
        target.as_object_mut().unwrap().remove("package");
        target["archive"] = server.url(file).into();
        target["cmd"] = cmd.into();
        if let Some(sha256) = sha256 {
            target["sha256"] = sha256.into();
        }
        json!({ "binary": { host.as_str(): target } })
    };
    verify.agent("good", &target("/good.tgz", "./dir/agent", Some(&digest)));
    verify.agent("undigested", &target("/good.tgz", "dir/agent", None));
    verify.agent("digest", &target("/good.tgz", "./dir/agent", Some(&"0".repeat(64))));
    verify.agent("command", &target("/good.tgz", "./agent", Some(&digest)));
    verify.agent("evil", &target("/evil.tgz", "./x", None));
    verify.agent("gone", &target("/gone.tgz", "./x", None));
    let other = if host.as_str() == "linux-aarch64" { "linux-x86_64" } else { "linux-aarch64" };
    let elsewhere = json!({ "archive": server.url("/good.tgz"), "cmd": "./dir/agent" });
    verify.agent("elsewhere", &json!({ "binary": { other: elsewhere } }));
    let (code, document) = verify.json(&["--allow-host", &server.host]);
    assert_eq!(code, 1);
    assert_eq!(
        rows(&document),
        [
            ("command", "fail", "cmd_not_found"),
            ("digest", "fail", "digest_mismatch"),
            ("elsewhere", "skipped", "unsupported_platform"),
            ("evil", "fail", "unsafe_archive"),
            ("gone", "error", "install_failed"),
            ("good", "pass", ""),
            ("undigested", "pass", ""),
        ]
    );
    assert_eq!(document["summary"]["skipped"], 1);
    // A host that is not allowed gets no request.
    let (_, document) = verify.json(&["good"]);
    assert_eq!(rows(&document), [("good", "error", "install_failed")]);
}

#[test]
fn without_package_managers_the_work_cannot_be_done() {
    let verify = Verify::new();
    verify.npx("one", &["ok"]);
    verify.agent("two", &json!({ "uvx": verify.package("two==1.0.0", &["ok"]) }));
    fs::create_dir(verify.env.path("empty")).unwrap();
    let run = Run::of(verify.command(&["--json"]).env("PATH", verify.env.path("empty")));
    assert_eq!(run.code, 3);
    let document: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((&document["error"]["code"], &document["error"]["exit_code"]), (&json!("missing_runtime"), &json!(3)));
    assert_eq!(rows(&document), [("one", "error", "missing_runtime"), ("two", "error", "missing_runtime")]);
    assert!(row(&document, "one")["message"].as_str().unwrap().contains("install Node.js"));
}

#[test]
fn parts_are_the_whole_and_kinds_are_chosen() {
    let verify = Verify::new();
    for id in ["a", "b", "c"] {
        verify.npx(id, &["ok"]);
    }
    let both = json!({ "npx": verify.package("d@1.0.0", &["ok"]), "uvx": verify.package("d==1.0.0", &["ok"]) });
    verify.agent("d", &both);
    let ids = |arguments: &[&str]| {
        let (code, document) = verify.json(arguments);
        assert_eq!(code, 0);
        let rows = document["results"].as_array().unwrap().clone();
        rows.iter()
            .map(|row| format!("{}/{}", row["id"].as_str().unwrap(), row["distribution"].as_str().unwrap()))
            .collect::<Vec<_>>()
    };
    assert_eq!(ids(&["--jobs", "3", "--no-probe"]), ["a/npx", "b/npx", "c/npx", "d/npx", "d/uvx"]);
    assert_eq!(ids(&["--shard", "1/2"]), ["a/npx", "c/npx", "d/uvx"]);
    assert_eq!(ids(&["--shard", "2/2"]), ["b/npx", "d/npx"]);
    // With durations of an earlier run, one machine takes the slow agent, and the other one all others.
    let measured = |id: &str, kind: &str, seconds: f64| {
        json!({ "id": id, "channel": "stable", "distribution": kind,
                "timing": { "install_seconds": seconds, "total_seconds": 1 } })
    };
    let rows = [measured("b", "npx", 90.0), measured("a", "npx", 9.0), measured("d", "uvx", 9.0)];
    verify.env.write("r/capabilities.json", json!({ "schema": 1, "agents": rows }).to_string());
    assert_eq!(ids(&["--shard", "1/2"]), ["b/npx"]);
    assert_eq!(ids(&["--shard", "2/2"]), ["a/npx", "c/npx", "d/npx", "d/uvx"]);
    // Machines that write that file one after the other count agents, since each changes the durations.
    assert_eq!(ids(&["--shard", "1/2", "--out", "r/capabilities.json"]), ["a/npx", "c/npx", "d/uvx"]);
    verify.env.write("r/capabilities.json", "{");
    assert_eq!(verify.run(&["--shard", "1/2"]).code, 2);
    fs::remove_file(verify.env.path("r/capabilities.json")).unwrap();
    assert_eq!(ids(&["--dist", "uvx"]), ["d/uvx"]);
    assert_eq!(ids(&["d", "b", "--dist", "npx"]), ["b/npx", "d/npx"]);
    for arguments in [&["--shard", "3/2"][..], &["e"], &["--jobs", "0"], &["--timeout", "0"], &["--dist", "npm"]] {
        assert_eq!(verify.run(arguments).code, 2, "{arguments:?}");
    }
}

#[test]
fn npm_gets_what_it_is_configured_with_and_the_agent_nothing_of_it() {
    let verify = Verify::new();
    verify.env.write("home/.npmrc", "//h.example/:_authToken=${MY_TOKEN}\n");
    verify.npx("good", &["environment"]).npx("registry", &[]);
    let mut command = verify.command(&["--json"]);
    command.env("MY_TOKEN", "my-secret").env("OTHER_TOKEN", "other-secret");
    let run = Run::of(&mut command);
    let document: Value = serde_json::from_str(&run.stdout).unwrap();
    let told = row(&document, "registry")["stderr_tail"].as_str().unwrap();
    assert!(told.contains("home/.npmrc my-secret ") && !told.contains("other-secret"), "{told}");
    assert!(!told.trim_end().ends_with(verify.env.path("home").to_str().unwrap()), "{told}");
    let info = &row(&document, "good")["handshake"]["agent_info"];
    assert!(!info.to_string().contains("secret") && !info.to_string().contains("npm_config"), "{info}");
    // The paths of a run are replaced in answers.
    assert!(info["environment"]["HOME"].as_str().unwrap().starts_with("$SANDBOX/"), "{info}");
}

#[test]
fn people_see_a_table_and_what_has_failed_and_nothing_unescaped() {
    let verify = Verify::new();
    verify.npx("good", &["ok"]).npx("absent", &[]).npx("exits", &["exit", "1", "\u{1b}[2J\u{202e}"]);
    for format in ["human", "markdown"] {
        let run = verify.run(&["--format", format, "--color", "never"]);
        assert_eq!(run.code, 1);
        for part in ["1 passed, 2 failed, 0 errors, 0 skipped", "No matching version", "\\u{1b}[2J"] {
            assert!(run.stdout.contains(part), "{part}: {}", run.stdout);
        }
        for text in [&run.stdout, &run.stderr] {
            assert!(!text.contains(|c: char| (c.is_control() && c != '\n') || c == '\u{202e}'), "{text:?}");
        }
    }
    let run = verify.run(&["good"]);
    assert_eq!(run.stderr, "1 of 1: good (npx) pass\n");
    let run = verify.run(&["good", "--quiet"]);
    assert_eq!(run.stderr, "");
    assert!(
        run.stdout
            .starts_with("agent  version  dist  verdict  reason  install s  answer s\ngood   1.0.0    npx   pass ")
    );
}

#[test]
fn a_signal_ends_all_jobs() {
    // If agents run as the caller's user, none is started during an installation.
    for id in ["endless", "stubborn"] {
        let verify = Verify::new();
        verify.npx(id, &["ignores-term"]);
        let mut command = verify.command(&["--json"]);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).stdin(Stdio::null()).spawn().unwrap();
        let place = format!("ACP_REGISTRY_SANDBOX={}", verify.env.path("tmp").canonicalize().unwrap().display());
        let is_started = || match id {
            // The package manager and its child process.
            "endless" => left_with("environ", &place).len() >= 2,
            _ => !left_with("environ", &verify.tag).is_empty(),
        };
        wait_until("the package manager or the agent is started", is_started);
        kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), Signal::SIGINT).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
        verify.assert_clean();
    }
}

#[test]
fn a_kind_that_is_not_there_is_no_success() {
    let verify = Verify::new();
    verify.npx("good", &["ok"]).npx("other", &["ok"]);
    for (arguments, message) in [
        (&["good", "--dist", "uvx"][..], "`good` has no distribution uvx; it has npx"),
        (&["good", "--dist", "uvx", "--dist", "binary"], "`good` has no distribution uvx or binary; it has npx"),
        (&["--dist", "uvx"], "no agent of the registry has a distribution uvx"),
    ] {
        let run = verify.run(arguments);
        assert!(run.code == 2 && run.stdout.is_empty() && run.stderr.contains(message), "{arguments:?} {}", run.stderr);
    }
    let (code, document) = verify.json(&["good", "--dist", "uvx"]);
    assert_eq!((code, &document["error"]["code"]), (2, &json!("unsupported_distribution")));
    assert_eq!(verify.run(&["good", "--dist", "npx", "--dist", "uvx"]).code, 0);
}

#[test]
fn a_manifest_without_an_address_fails_on_every_machine() {
    let verify = Verify::new();
    let target = json!({ host(): { "cmd": "./a" } });
    verify.env.write("r/a/agent.json", entry("a", "1.0.0", &json!({ "binary": target })).to_string());
    let (code, document) = verify.json(&["a"]);
    let row = &document["results"][0];
    assert_eq!((code, &row["verdict"], &row["reason"]), (1, &json!("fail"), &json!("install_failed")), "{document}");
}
