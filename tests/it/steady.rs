//! An examination has the same results on a calm machine, on a busy one, and for an agent that starts slowly.
//!
//! Takes half an hour, so that it runs only where `ACP_REGISTRY_STEADY` is set: `make steady`.
#![cfg(unix)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::agent::fake_agent;
use crate::support::{Env, missing, told};

/// Agents of the bundled registry, from npm.
const AGENTS: [&str; 4] = ["claude-acp", "codex-acp", "gemini", "qwen-code"];

/// Processes that take all the time that they get, each in a session of its own, as another user's programs would be.
struct Busy(Vec<Child>);

impl Busy {
    fn start() -> Self {
        // The scheduler divides the time among sessions first.
        let spin = || {
            let mut command = Command::new("setsid");
            command.args(["sh", "-c", "while :; do :; done"]).stdin(Stdio::null()).spawn().unwrap()
        };
        Self((0..8).map(|_| spin()).collect())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The result of each check.
fn examine(env: &Env, recipe: Option<&str>, command: &[&str]) -> BTreeMap<String, String> {
    let flags = ["probe", "--level", "turns", "--json", "--timeout", "180"];
    let recipe = recipe.map(|id| ["--recipe", id]);
    let recipe: Vec<&str> = recipe.iter().flatten().copied().collect();
    let mut program = env.command(&[&flags[..], &recipe, &["--"], command].concat());
    program.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    results(&mut program)
}

/// The result of each check that a complete `probe --json` reports.
pub(crate) fn results(probe: &mut Command) -> BTreeMap<String, String> {
    let output = probe.output().unwrap();
    let document: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!("{error}: {}", String::from_utf8_lossy(&output.stderr));
    });
    let examination = &document["examination"];
    assert_eq!(examination["complete"], true, "{probe:?}: {document}");
    let checks = examination["checks"].as_array().unwrap();
    let row = |check: &Value| (check["id"].as_str().unwrap().to_owned(), check["result"].as_str().unwrap().to_owned());
    checks.iter().map(row).collect()
}

/// The command of an agent, installed in a directory by npm.
fn install(env: &Env, id: &str) -> Option<Vec<String>> {
    let manifest = std::fs::read_to_string(format!("registry/{id}/agent.json")).unwrap();
    let npx = serde_json::from_str::<Value>(&manifest).unwrap()["distribution"]["npx"].clone();
    let package = npx["package"].as_str().unwrap();
    let folder = env.path(id);
    std::fs::create_dir_all(&folder).unwrap();
    let npm = Command::new("npm").args(["install", "--no-audit", "--no-fund", package]).current_dir(&folder).output();
    if !npm.is_ok_and(|output| output.status.success()) {
        return None;
    }
    let name = package.rsplit_once('@').unwrap().0;
    let home = folder.join("node_modules").join(name);
    let own = std::fs::read_to_string(home.join("package.json")).unwrap();
    let bin = serde_json::from_str::<Value>(&own).unwrap()["bin"].clone();
    let file = bin.as_str().or_else(|| bin.as_object()?.values().next()?.as_str()).unwrap().to_owned();
    let args = npx["args"].as_array().into_iter().flatten().map(|arg| arg.as_str().unwrap().to_owned());
    let path = |path: PathBuf| path.to_str().unwrap().to_owned();
    Some(["node".to_owned(), path(home.join(Path::new(&file)))].into_iter().chain(args).collect())
}

#[test]
fn results_do_not_depend_on_the_machine() {
    const TEST: &str = "results_do_not_depend_on_the_machine";
    if std::env::var_os("ACP_REGISTRY_STEADY").is_none() {
        return;
    }
    let env = Env::empty();
    std::fs::create_dir_all(env.path("r")).unwrap();
    std::fs::copy("registry/registry.toml", env.path("r/registry.toml")).unwrap();
    let fake = fake_agent();
    let mut agents =
        vec![(None, vec![fake.to_str().unwrap().to_owned(), "turns".into(), String::new(), String::new()])];
    for id in AGENTS {
        match install(&env, id) {
            Some(command) => agents.push((Some(id), command)),
            None => missing(TEST, &format!("npm cannot install {id}")),
        }
    }
    let recipes = std::fs::read_to_string("registry/registry.toml").unwrap();
    let mut unequal = Vec::new();
    for (id, command) in &agents {
        let name = id.unwrap_or("fake-agent");
        let recipe = id.filter(|id| recipes.contains(&format!("[examine.{id}]")));
        let command: Vec<&str> = command.iter().map(String::as_str).collect();
        let alone = examine(&env, recipe, &command);
        told(&format!("{name}: {} checks alone", alone.len()));
        let slow = [&["sh", "-c", "sleep 12; exec \"$@\"", "sh"], &command[..]].concat();
        let busy = {
            let _busy = Busy::start();
            examine(&env, recipe, &command)
        };
        for (how, others) in [("beside 8 busy loops", busy), ("with a start of 12 s", examine(&env, recipe, &slow))] {
            let differ = alone.iter().filter(|(check, result)| others.get(*check) != Some(result));
            let differ: Vec<_> =
                differ.map(|(check, result)| format!("{check} {result} {:?}", others.get(check))).collect();
            told(&format!("{name} {how}: {} of {} results differ", differ.len(), alone.len()));
            unequal.extend(differ.into_iter().map(|differ| format!("{name} {how}: {differ}")));
        }
    }
    assert!(unequal.is_empty(), "{}", unequal.join("\n"));
}
