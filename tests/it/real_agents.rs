//! Real agents, installed from their package registries and started.

use serde_json::{Value, json};

use crate::real::{agent, is_there, native, people, verify};
use crate::support::{Env, Run, missing};

/// Writes manifests of small agents from npm and PyPI, as far as their package managers are installed. Returns the ids.
fn packages(env: &Env) -> Vec<&'static str> {
    let mut ids = Vec::new();
    if is_there("npm") {
        agent(env, "pi-acp", "0.0.34", &json!({ "npx": { "package": "pi-acp@0.0.34" } }));
        // A native program started by a script.
        agent(env, "codex-acp", "0.9.2", &json!({ "npx": { "package": "@zed-industries/codex-acp@0.9.2" } }));
        ids.extend(["codex-acp", "pi-acp"]);
    }
    if is_there("uv") {
        agent(env, "minion-code", "0.1.45", &json!({ "uvx": { "package": "minion-code==0.1.45", "args": ["acp"] } }));
        ids.push("minion-code");
    }
    ids
}

#[test]
fn real_agents_are_installed_and_answer() {
    const TEST: &str = "real_agents_are_installed_and_answer";
    let env = Env::empty();
    let expected = packages(&env);
    if expected.is_empty() {
        return missing(TEST, "neither npm nor uv is installed");
    }
    let document = verify(&env, &[], &[]);
    for id in expected {
        let row = document["results"].as_array().unwrap().iter().find(|row| row["id"] == id).unwrap();
        if row["reason"] == "install_failed" || row["reason"] == "package_not_found" {
            missing(TEST, &format!("{id} could not be installed: {}", row["message"]));
            continue;
        }
        assert_eq!(row["verdict"], "pass", "{id}: {} {}", row["message"], row["stderr_tail"]);
        assert_eq!(row["handshake"]["protocol_version"], 1, "{id}");
        assert_ne!(row["handshake"]["auth_methods"], json!([]), "{id}");
    }
}

#[test]
fn a_real_native_program_is_installed_and_answers_through_run() {
    const TEST: &str = "a_real_native_program_is_installed_and_answers_through_run";
    let env = Env::empty();
    let Some(server) = native(TEST, &env, "codex-acp") else { return };
    let root = env.path("root");
    let (program, root) = (crate::support::PROGRAM, root.to_str().unwrap());
    let run = ["run", "--allow-host", &server.host, "--index", "r", "--root", root, "codex-acp"];
    // The first run installs it, and its output must not reach stdout.
    let probe = [&["probe", "--directory", ".", "--timeout", "120", "--json", "--", program][..], &run].concat();
    for _ in 0..2 {
        let run = Run::of(&mut people(&env, &probe));
        let outcome: Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!((run.code, &outcome["verdict"]), (0, &json!("pass")), "{outcome}");
        assert_eq!(outcome["handshake"]["warnings"], json!([]), "{outcome}");
    }
}

#[test]
fn real_agents_are_installed_locked_run_and_removed() {
    const TEST: &str = "real_agents_are_installed_locked_run_and_removed";
    let env = Env::empty();
    let expected = packages(&env);
    if expected.is_empty() {
        return missing(TEST, "neither npm nor uv is installed");
    }
    let arguments = [&["install", "--lock", "x.lock", "--json"][..], &expected].concat();
    let run = Run::of(&mut people(&env, &arguments));
    if run.code == 3 {
        return missing(TEST, &format!("an agent could not be installed: {}", run.stderr));
    }
    assert_eq!((run.code, run.stderr.contains("warning:")), (0, false), "{}", run.stderr);
    // The same from the lock file, in another store.
    let elsewhere = env.path("elsewhere");
    let run = Run::of(
        people(&env, &["install", "--locked", "--lock", "x.lock", "--json"]).env("ACP_REGISTRY_ROOT", &elsewhere),
    );
    assert_eq!(run.code, 0, "{}", run.stderr);
    let document: Value = serde_json::from_str(&run.stdout).unwrap();
    assert!(document["agents"].as_array().unwrap().iter().all(|agent| agent["verified"] == "lock"), "{document}");
    for root in [env.path("root"), elsewhere.clone()] {
        for id in &expected {
            let (program, root) = (crate::support::PROGRAM, root.to_str().unwrap());
            let probe = ["probe", "--timeout", "120", "--json", "--", program, "run", "--root", root, "--offline", id];
            let run = Run::of(&mut people(&env, &probe));
            let outcome: Value = serde_json::from_str(&run.stdout).unwrap();
            assert_eq!((run.code, &outcome["verdict"]), (0, &json!("pass")), "{id}: {outcome}");
        }
    }
    // With a wrong digest, the package manager refuses the files.
    let text = env.read("x.lock");
    for (id, mark) in [("pi-acp", "\"sha512-"), ("minion-code", "--hash=sha256:")] {
        if !expected.contains(&id) {
            continue;
        }
        let at = text.find(&format!("[agents.{id}")).unwrap();
        let (before, after) = text.split_at(at);
        let changed: String = after
            .split(mark)
            .enumerate()
            .map(|(number, part)| if number == 0 { part.to_owned() } else { format!("{mark}0000{}", &part[4..]) })
            .collect();
        env.write("wrong.lock", format!("{before}{changed}"));
        let mut command = people(&env, &["install", "--locked", "--lock", "wrong.lock", id]);
        let run = Run::of(command.env("ACP_REGISTRY_ROOT", env.path("refused")));
        assert_eq!(run.code, 4, "{id}: {}", run.stderr);
    }
    let run = Run::of(&mut people(&env, &["uninstall", "--all"]));
    assert_eq!((run.code, env.path("root").exists()), (0, false), "{}", run.stderr);
}
