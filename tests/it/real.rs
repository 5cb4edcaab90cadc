//! Real packages, with the package managers of this machine. Skipped with a message if these are missing or cannot
//! download.

use std::fs;
use std::io::Write as _;

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::server::{Server, ok, status};
use crate::support::{Env, ICON, Run, missing, skipped};

/// Whether a program is installed, tested with `--version`.
pub(crate) fn is_there(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}

pub(crate) fn agent(env: &Env, id: &str, version: &str, distribution: &Value) {
    let manifest = json!({
        "id": id, "name": id, "version": version, "description": "Made for a test", "license": "MIT", "authors": ["A"],
        "distribution": distribution,
    });
    env.write(&format!("r/{id}/agent.json"), serde_json::to_string_pretty(&manifest).unwrap());
    env.write(&format!("r/{id}/icon.svg"), ICON);
}

/// The rule and agent of each finding of `validate`; `None` if no host could be reached.
fn validate(env: &Env, arguments: &[&str]) -> Option<Vec<(String, String)>> {
    let mut command = env.command(&[&["validate", "--json", "--no-cache"], arguments].concat());
    // The package managers need their own configuration.
    for (name, value) in std::env::vars().filter(|(name, _)| name != "GITHUB_TOKEN") {
        command.env(name, value);
    }
    let run = Run::of(&mut command);
    let report: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error} {}", run.stderr));
    let text = |finding: &Value, key: &str| finding[key].as_str().unwrap_or_default().to_owned();
    let findings: Vec<_> =
        report["findings"].as_array().unwrap().iter().map(|one| (text(one, "rule"), text(one, "agent"))).collect();
    let is_cut_off = run.code == 3 || findings.iter().any(|(rule, _)| rule == "url/server-error");
    (!is_cut_off).then_some(findings)
}

#[test]
fn real_npm_packages_have_the_versions_they_have() {
    const TEST: &str = "real_npm_packages_have_the_versions_they_have";
    if !is_there("npm") {
        return missing(TEST, "npm is not installed");
    }
    let env = Env::empty();
    for (id, package) in [
        ("a", "@agentclientprotocol/codex-acp@2.6.0"),
        ("b", "@google/gemini-cli@0.61.0"),
        ("c", "pi-acp@0.0.34"),
        ("d", "@zed-industries/codex-acp@0.9.2"),
        ("missing-version", "pi-acp@0.0.33999"),
        ("no-command", "@types/node@22.0.0"),
    ] {
        let version = package.rsplit('@').next().unwrap();
        agent(&env, id, version, &json!({ "npx": { "package": package } }));
    }
    let Some(findings) = validate(&env, &["--urls"]) else {
        return missing(TEST, "the npm registry cannot be reached");
    };
    let expected = [("npm/version-not-found", "missing-version"), ("npm/ambiguous-bin", "no-command")];
    assert_eq!(findings, expected.map(|(rule, agent)| (rule.to_owned(), agent.to_owned())));
}

#[test]
fn real_python_packages_have_the_versions_they_have() {
    const TEST: &str = "real_python_packages_have_the_versions_they_have";
    if !is_there("uv") {
        return missing(TEST, "uv is not installed");
    }
    let env = Env::empty();
    for (id, package) in
        [("a", "fast-agent-mcp==0.10.48"), ("b", "minion-code==0.1.45"), ("missing-version", "kimi-cli==0.0.1")]
    {
        let version = package.rsplit('=').next().unwrap();
        agent(&env, id, version, &json!({ "uvx": { "package": package } }));
    }
    let Some(findings) = validate(&env, &["--urls"]) else {
        return missing(TEST, "the Python index cannot be reached");
    };
    assert_eq!(findings, [("pypi/version-not-found".to_owned(), "missing-version".to_owned())]);
}

#[test]
fn a_real_program_from_npm_is_found_in_its_archive() {
    const TEST: &str = "a_real_program_from_npm_is_found_in_its_archive";
    if !is_there("npm") {
        return missing(TEST, "npm is not installed");
    }
    let env = Env::empty();
    let Some(archive) = pack("@zed-industries/codex-acp-linux-x64@0.9.2", &env.path("")) else {
        return missing(TEST, "the npm registry cannot be reached");
    };
    // A Linux program for x86-64, of 24 MB, whose archive does not mark it as executable.
    let server = Server::answering(
        move |asked| if asked.path.starts_with("/0.9.2/") { ok(archive.clone()) } else { status(404) },
    );
    let target = |cmd: &str| json!({ "archive": server.url("/0.9.2/linux.tgz"), "cmd": cmd });
    let binary = json!({ "binary": { "linux-x86_64": target("./package/bin/codex-acp") } });
    agent(&env, "right", "0.9.2", &binary);
    let binary = json!({ "binary": { "linux-x86_64": target("./bin/codex-acp"), "linux-aarch64": target("./package/bin/codex-acp") } });
    agent(&env, "wrong", "0.9.2", &binary);
    let arguments =
        ["--allow-host", &server.host, "--archives", "--allow", "distribution/*", "--allow", "archive/missing-digest"];
    let findings = validate(&env, &arguments).unwrap();
    let expected = [("archive/wrong-platform", "wrong"), ("archive/cmd-not-found", "wrong")];
    let mut found: Vec<(&str, &str)> = findings.iter().map(|(rule, agent)| (rule.as_str(), agent.as_str())).collect();
    // Whether its C library is common is not tested here.
    found.retain(|(rule, _)| *rule != "archive/needs-libc");
    found.sort_by_key(|(rule, _)| std::cmp::Reverse(*rule));
    assert_eq!(found, expected);
}

/// The archive of an npm package, fetched by npm itself.
fn pack(package: &str, folder: &Path) -> Option<Vec<u8>> {
    let output = Command::new("npm").args(["pack", "--silent", package]).current_dir(folder).output().unwrap();
    let name = String::from_utf8(output.stdout).unwrap();
    fs::read(folder.join(name.trim())).ok().filter(|_| output.status.success())
}

/// The document of `verify`, run with the configuration of the package managers but without a CI token.
pub(crate) fn verify(env: &Env, global: &[&str], arguments: &[&str]) -> Value {
    let mut command = env.command(&[global, &["verify", "--json", "--timeout", "120"], arguments].concat());
    for (name, value) in std::env::vars().filter(|(name, _)| name != "GITHUB_TOKEN") {
        command.env(name, value);
    }
    let run = Run::of(&mut command);
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error} {}", run.stderr))
}

/// Serves the archive of a native program, and writes a manifest that names it. If that cannot be done here, says so.
pub(crate) fn native(test: &str, env: &Env, id: &str) -> Option<Server> {
    if !is_there("npm") || !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        skipped(test, "npm is not installed, or this is not Linux on Intel");
        return None;
    }
    let Some(archive) = pack("@zed-industries/codex-acp-linux-x64@0.9.2", &env.path("")) else {
        missing(test, "the npm registry cannot be reached");
        return None;
    };
    let digest = crate::archives::sha256(&archive);
    let server = Server::answering(move |_| ok(archive.clone()));
    let archive = server.url("/0.9.2/linux.tgz");
    let target = json!({ "archive": archive, "sha256": digest, "cmd": "./package/bin/codex-acp" });
    agent(env, id, "0.9.2", &json!({ "binary": { "linux-x86_64": target } }));
    Some(server)
}

#[test]
fn a_real_native_program_is_started_from_its_archive() {
    const TEST: &str = "a_real_native_program_is_started_from_its_archive";
    let env = Env::empty();
    let Some(server) = native(TEST, &env, "native") else { return };
    let document = verify(&env, &["--allow-host", &server.host], &[]);
    let row = &document["results"][0];
    assert_eq!((&row["verdict"], &row["distribution"]), (&"pass".into(), &"binary".into()), "{row}");
    assert_eq!(row["handshake"]["agent_info"]["name"], "codex-acp", "{row}");
}

/// Bun reserves much memory when it starts, and dies by a signal when a limit falls meanwhile.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[test]
fn agents_on_bun_start_every_time_on_a_busy_machine() {
    const TEST: &str = "agents_on_bun_start_every_time_on_a_busy_machine";
    const STARTS: usize = 50;
    const AGENT: &str = r#"
        let text = "";
        for await (const chunk of Bun.stdin.stream()) {
            text += new TextDecoder().decode(chunk);
            const lines = text.split("\n");
            text = lines.pop();
            for (const { id, method } of lines.map((line) => JSON.parse(line))) {
                const result = { protocolVersion: 1, authMethods: [{ id: "a", name: "A" }] };
                const error = { code: -32601, message: "Method not found" };
                const answer = method === "initialize" ? { result } : { error };
                console.log(JSON.stringify({ jsonrpc: "2.0", id, ...answer }));
            }
        }
    "#;

    if !is_there("npm") {
        return missing(TEST, "npm is not installed");
    }
    let env = Env::empty();
    let Some(archive) = pack("@oven/bun-linux-x64-baseline@1.4.5", &env.path("")) else {
        return missing(TEST, "the npm registry cannot be reached");
    };
    env.write("bun.tgz", archive);
    let unpacked = Command::new("tar").args(["-xzf", "bun.tgz"]).current_dir(env.path("")).status().unwrap();
    assert!(unpacked.success());
    env.write("agent.js", AGENT);
    let is_over = std::sync::atomic::AtomicBool::new(false);
    let busy = || {
        while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
            std::hint::spin_loop();
        }
    };
    let failed = std::thread::scope(|scope| {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        (0..cores).for_each(|_| drop(scope.spawn(busy)));
        let agent = env.path("agent.js");
        let start = |_| {
            let change = |launch: &mut acp_registry::host::process::LaunchSpec| {
                launch.program = env.path("package/bin/bun").into();
                launch.arguments = vec![agent.clone().into()];
            };
            crate::agent::check_with(&[], change, |_| ()).outcome
        };
        let failed = (0..STARTS).map(start).filter(|outcome| outcome.reason.is_some()).map(|one| one.message);
        let failed: Vec<_> = failed.collect();
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
        failed
    });
    assert!(failed.is_empty(), "{} of {STARTS}: {failed:?}", failed.len());
}

/// Takes minutes and gigabytes, and is therefore only run by `make test-real`.
#[test]
fn the_agents_of_the_bundled_registry_answer() {
    const TEST: &str = "the_agents_of_the_bundled_registry_answer";
    if std::env::var_os("ACP_REGISTRY_REAL").is_none() {
        return skipped(TEST, "it takes minutes and gigabytes; `make test-real` runs it");
    }
    if !is_there("npm") || !is_there("uv") {
        return missing(TEST, "npm or uv is not installed");
    }
    let env = Env::empty();
    let registry = Path::new(env!("CARGO_MANIFEST_DIR")).join("registry");
    let flags = ["--registry-dir", registry.to_str().unwrap()];
    let kinds = ["--dist", "npx", "--dist", "uvx", "--install-timeout", "900", "--out", "capabilities.json"];
    let document = verify(&env, &flags, &kinds);
    let rows = document["results"].as_array().unwrap();
    let mut errors = std::io::stderr();
    for row in rows {
        let text = |name: &str| row[name].as_str().unwrap_or_default();
        let time = |name: &str| row["timing"][name].as_f64().map_or_else(String::new, |time| format!("{time:.1}"));
        let line = ["id", "version", "distribution", "verdict", "reason"].map(text).join("\t");
        let times = [time("install_seconds"), time("start_to_response_seconds")].join("\t");
        // Written past the test runner, for the nightly log.
        let _ = writeln!(errors, "{line}\t{times}\t{}", text("message"));
    }
    let passed: Vec<&Value> = rows.iter().filter(|row| row["verdict"] == "pass").collect();
    let of = |kind: &str| passed.iter().filter(|row| row["distribution"] == kind).count();
    // A mirror may lack packages that others have.
    let not_had = |row: &Value| row["reason"] == "install_failed" || row["reason"] == "package_not_found";
    if passed.is_empty() && rows.iter().all(not_had) {
        return missing(TEST, "no package registry can be reached");
    }
    assert!(of("npx") >= 10, "{} of npm pass", of("npx"));
    let lacks_python = rows.iter().any(|row| row["stderr_tail"].as_str().unwrap().contains("does not satisfy Python"));
    if lacks_python && of("uvx") < 2 {
        skipped(TEST, "the Python agents need other versions of Python than this machine has");
    } else {
        assert!(of("uvx") >= 2, "{} of the Python index pass", of("uvx"));
    }
    let signs_in = |kind: &str| {
        let has = |row: &&&Value| {
            row["handshake"]["auth_methods"].as_array().unwrap().iter().any(|method| method["type"] == kind)
        };
        passed.iter().filter(has).count()
    };
    assert!(signs_in("terminal") >= 1 && signs_in("agent") >= 1);
    assert!(passed.iter().any(|row| row["handshake"]["features"]["nes"] == true));
    // Every failure has a message.
    for row in rows.iter().filter(|row| row["verdict"] != "pass") {
        assert!(!row["message"].as_str().unwrap().is_empty(), "{row}");
        let message = row["message"].as_str().unwrap();
        assert!(
            row["reason"] == "timeout"
                || message.starts_with("not tried")
                || !row["stderr_tail"].as_str().unwrap().trim().is_empty(),
            "{row}"
        );
    }
    // The snapshot reveals nothing about this machine.
    let snapshot = env.read("capabilities.json");
    for private in [std::env::temp_dir(), std::env::home_dir().unwrap(), env.path("")] {
        assert!(!snapshot.contains(&format!("{}/", private.display())), "{}", private.display());
    }
}

/// Runs the program with the user's environment except for tokens, and with its own store.
pub(crate) fn people(env: &Env, arguments: &[&str]) -> Command {
    let mut command = env.command(arguments);
    for (name, value) in std::env::vars().filter(|(name, _)| name != "GITHUB_TOKEN") {
        command.env(name, value);
    }
    command.env("ACP_REGISTRY_ROOT", env.path("root")).env("ACP_REGISTRY_INDEX", env.path("r"));
    command
}

/// Agents of the bundled registry, and an older release of each.
const SET_BACK: [(&str, &str); 5] = [
    ("pi-acp", "0.0.24"),
    ("cline", "3.0.64"),
    ("gemini", "0.60.0"),
    ("qwen-code", "0.24.3"),
    ("minion-code", "0.1.44"),
];

#[test]
fn real_newer_versions_take_the_place_of_older_ones() {
    const TEST: &str = "real_newer_versions_take_the_place_of_older_ones";
    if !is_there("npm") || !is_there("uv") {
        return missing(TEST, "npm or uv is not installed");
    }
    let env = Env::empty();
    let bundled = Path::new(env!("CARGO_MANIFEST_DIR")).join("registry");
    let mut older = Vec::new();
    for (id, version) in SET_BACK {
        let text = fs::read_to_string(bundled.join(id).join("agent.json")).unwrap();
        let manifest: Value = serde_json::from_str(&text).unwrap();
        let text = text.replace(manifest["version"].as_str().unwrap(), version);
        env.write(&format!("r/{id}/agent.json"), &text);
        env.write(&format!("r/{id}/icon.svg"), ICON);
        older.push(text);
    }
    let mut command = env.command(&["bump", "--apply", "--json", "--no-cache"]);
    // The package managers need their own configuration.
    for (name, value) in std::env::vars().filter(|(name, _)| name != "GITHUB_TOKEN") {
        command.env(name, value);
    }
    let run = Run::of(&mut command);
    let report: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error} {}", run.stderr));
    let errors = report["errors"].as_array().unwrap();
    if !errors.is_empty() && errors.iter().all(|error| error["kind"] == "source_unavailable") {
        return missing(TEST, "the package registries cannot be reached");
    }
    assert_eq!(report["updates"].as_array().unwrap().len(), SET_BACK.len(), "{report:#}");
    for ((id, old), before) in SET_BACK.iter().zip(older) {
        let update = report["updates"].as_array().unwrap().iter().find(|update| update["id"] == *id).unwrap();
        let (from, to) = (update["from"].as_str().unwrap(), update["to"].as_str().unwrap());
        assert_eq!((from, &update["straightforward"]), (*old, &json!(true)), "{update:#}");
        // The version of the agent and of its package, and no other change.
        assert_eq!(update["edits"].as_array().unwrap().len(), 2, "{update:#}");
        assert_eq!(env.read(&format!("r/{id}/agent.json")), before.replace(from, to));
    }
    let Some(findings) = validate(&env, &["--urls"]) else { return missing(TEST, "validation reaches nothing") };
    assert!(!findings.iter().any(|(rule, _)| rule.starts_with("npm/") || rule.starts_with("pypi/")), "{findings:?}");
}
