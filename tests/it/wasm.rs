//! The WebAssembly module plans as this program does: the same plans and errors for 1,000 agents and six platforms.

use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use acp_registry::documents::{Document, IndexOrigin, Resolve};
use acp_registry::failure::Failure;
use acp_registry::index::{Index, Missing};
use acp_registry::manifest::Platform;
use acp_registry::resolve::{AgentSpec, Host, Kind, Offer, PlanOptions, resolve};
use acp_registry::store::Store;
use serde_json::{Value, json};

use crate::people::People;
use crate::rpc::Client;
use crate::support::{Run, scrub, skipped};
use crate::wasm_index::{AGENTS, index, requests};

/// Plans every request of a file, and prints the answers line by line: `node plan.mjs PACKAGE URL FOLDER`.
const PLAN: &str = r"
import { readFileSync } from 'node:fs';
const [, , folder, url, files] = process.argv;
const { load } = await import(`${folder}/acp-registry-wasm.mjs`);
const open = await load(fetch(url));
const registry = open(readFileSync(`${files}/index.json`, 'utf8'));
const { agents, notes, index } = registry;
console.log(JSON.stringify({ agents, notes, index }));
for (const { agent, ...options } of JSON.parse(readFileSync(`${files}/requests.json`))) {
  let answer;
  try {
    answer = registry.resolve(agent, options);
  } catch ({ name, message, code, exit_code, help, suggestions }) {
    answer = { error: name, message, code, exit_code, help, suggestions };
  }
  console.log(JSON.stringify(answer));
}
";

/// What the module refuses, and that it can be used afterwards: `node refuse.mjs PACKAGE`.
const REFUSE: &str = r#"
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
const { load, PlanError } = await import(`${process.argv[2]}/acp-registry-wasm.mjs`);
const bytes = readFileSync(`${process.argv[2]}/acp-registry-wasm.wasm`);
await assert.rejects(load(bytes.subarray(0, 1000)), WebAssembly.CompileError);
await assert.rejects(load(new Response('no', { status: 404 })), /404/);
const open = await load(bytes);
for (const text of ['', '{', '[]', '{"agents":{}}', new Uint8Array([0x7b, 0xff]), '\ufeff'])
  assert.throws(() => open(text), (error) => error instanceof PlanError && error.code === 'invalid_index', text);
assert.throws(() => open(new Uint8Array((64 << 20) + 1)), RangeError);
const npx = { npx: { package: 'a@1.0.0' } };
const registry = open(JSON.stringify({ agents: [7, { id: 'a', version: '1.0.0', distribution: npx }] }));
assert.deepEqual(registry.notes, ['entry 1 is passed over: it is not an object']);
const platform = 'linux-x86_64';
for (const [agent, options] of [
  ['a', {}], ['a', { platform: 'linux' }], ['a', { platform, dist: 'docker' }], ['a', { platform, docker: true }],
  ['a', { platform, npm: 1 }], ['a@', { platform }], ['', { platform }], [7, { platform }], ['a'.repeat(70_000), { platform }],
])
  assert.throws(() => registry.resolve(agent, options), (error) => error instanceof PlanError && error.code === 'usage', agent);
assert.throws(() => registry.resolve('b', { platform }), { code: 'unknown_agent', suggestions: [] });
assert.equal(registry.plans(platform, { npm: false })[0].error.code, 'missing_runtime');
assert.equal(registry.plans(platform)[0].plan.package, 'a@1.0.0');
"#;

/// The package, built once; `None` if it cannot be built here.
fn package(test: &str) -> Option<&'static Path> {
    static BUILT: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let built = BUILT.get_or_init(|| {
        let installed = Command::new("rustup").args(["target", "list", "--installed"]).output();
        let has = |text: &[u8]| String::from_utf8_lossy(text).contains("wasm32-unknown-unknown");
        if !installed.is_ok_and(|output| has(&output.stdout)) {
            return Err("rustup has no target wasm32-unknown-unknown".to_owned());
        }
        if Command::new("node").arg("--version").output().is_err() {
            return Err("node is not installed".to_owned());
        }
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let folder = root.join("target/packages/acp-registry-wasm");
        // As for a release, whatever compiles the tests.
        let mut build = Command::new(root.join("crates/wasm/build"));
        let run = Run::of(build.arg(&folder).env_remove("RUSTC_WORKSPACE_WRAPPER"));
        assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
        Ok(folder)
    });
    match built {
        Ok(folder) => Some(folder),
        Err(why) => {
            // `.ci/setup` installs both.
            assert!(env::var_os("CI").is_none_or(|value| value.is_empty()), "{why}");
            skipped(test, why);
            None
        }
    }
}

fn node(arguments: &[&str]) -> Run {
    let mut command = Command::new("node");
    Run::of(command.args(arguments))
}

/// A document without what depends on the machine: paths begin in the unpacked archive, and the index has no source.
fn without_machine(mut document: Value) -> Value {
    let files = format!("{}/files/", document["install_dir"].as_str().unwrap());
    if let Some(program) = document["program"].as_str() {
        document["program"] = program.strip_prefix(&files).unwrap_or_default().into();
    }
    document["install_dir"] = "".into();
    document["index"]["source"] = "".into();
    document["index"]["fetched_at"] = Value::Null;
    document
}

/// The document of a request.
fn planned_here(index: &Index, request: &Value, store: &Store) -> Result<Value, Failure> {
    let named: AgentSpec = request["agent"].as_str().unwrap().parse().unwrap();
    let platform: Platform = request["platform"].as_str().unwrap().parse().unwrap();
    let agent = index.agent(&named.id)?.ok_or_else(|| Missing::of(&named.id, index))?;
    let has = |name: &str| request[name] != json!(false);
    let host = Host { platform: None, emulated: None, lacks_glibc: false, has_npm: has("npm"), has_uv: has("uv") };
    let kind = request["dist"].as_str().map(|name| Kind::named(name).unwrap());
    let wanted = PlanOptions {
        version: named.version,
        kind,
        platform: Some(platform),
        ..PlanOptions::new(named.id.parse().unwrap())
    };
    let plan = resolve(&Offer::from_agent(&agent, index.sha256()), &wanted, &host)?;
    let members = Resolve { launch: store.document(&plan), index: IndexOrigin::of(index) };
    Ok(without_machine(serde_json::from_str(&Document::new("resolve", members).to_text()).unwrap()))
}

/// Answers of `rpc`, for a few requests of each outcome, are those of the module with its code and exit code.
fn compare_with_program(people: &People, sample: &[(&Value, &Value)]) {
    for name in ["npm", "node", "uv"] {
        people.env.write(&format!("bin/{name}"), "#!/bin/sh\nexit 1\n");
        let program = people.env.path(&format!("bin/{name}"));
        std::fs::set_permissions(program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    let index = people.env.path("index.json");
    for (request, answer) in sample {
        let platform = request["platform"].as_str().unwrap();
        let mut command = people.command(&["rpc", "--index", index.to_str().unwrap(), "--platform", platform]);
        scrub(&mut command);
        command
            .env("PATH", if request["npm"] == json!(false) { people.env.path("none") } else { people.env.path("bin") });
        let mut client = Client::start(command);
        let mut params = json!({ "agent": request["agent"] });
        if let Some(dist) = request.get("dist") {
            params["dist"] = dist.clone();
        }
        if answer["error"].is_null() {
            assert_eq!(&without_machine(client.result("resolve", &params)), *answer, "{request}");
        } else {
            let error = client.error("resolve", &params);
            let data = &error["data"];
            for member in ["code", "exit_code", "help", "suggestions"] {
                assert_eq!(data[member], answer[member], "{request}: {error}");
            }
            assert_eq!(error["message"], answer["message"], "{request}");
        }
        client.end();
    }
}

#[test]
fn plans_and_errors_are_those_of_the_program() {
    let Some(package) = package("WebAssembly") else { return };
    let people = People::new();
    let module = std::fs::read(package.join("acp-registry-wasm.wasm")).unwrap();
    people.serve("/module.wasm", module);
    let (text, requests) = (index(), requests());
    assert_eq!(requests.len(), AGENTS * Platform::ALL.len());
    people.env.write("index.json", &text);
    people.env.write("requests.json", json!(requests).to_string());
    people.env.write("plan.mjs", PLAN);
    let path = |name: &str| people.env.path(name).to_str().unwrap().to_owned();
    let run = node(&[&path("plan.mjs"), package.to_str().unwrap(), &people.server.url("/module.wasm"), &path("")]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let mut lines = run.stdout.lines();

    let index = Index::parse(text).unwrap();
    let listed: Value = serde_json::from_str(lines.next().unwrap()).unwrap();
    assert!(listed["notes"].as_array().is_some_and(|notes| notes.len() > 5), "{listed}");
    let mut client = Client::start(people.command(&["rpc", "--index", &path("index.json")]));
    let document = client.result("list", &json!({}));
    client.end();
    assert_eq!((&listed["agents"], &listed["notes"]), (&document["agents"], &document["notes"]));

    // The types are written by hand.
    let types = std::fs::read_to_string(package.join("acp-registry-wasm.d.mts")).unwrap();
    let assert_typed = |document: &Value| {
        for name in document.as_object().unwrap().keys() {
            assert!(types.contains(&format!("  {name}: ")), "{name}");
        }
    };
    assert_typed(&listed["agents"][0]);

    let store = Store::at("/root").unwrap();
    let mut outcomes: BTreeMap<String, Vec<(&Value, Value)>> = BTreeMap::new();
    for (request, line) in requests.iter().zip(&mut lines) {
        let answer: Value = serde_json::from_str(line).unwrap();
        let outcome = match planned_here(&index, request, &store) {
            Ok(plan) => {
                assert_eq!(plan.to_string(), line, "{request}");
                assert_typed(&answer);
                answer["distribution"].as_str().unwrap().to_owned()
            }
            Err(failure) => {
                let mut members = answer.clone();
                members.as_object_mut().unwrap().remove("error");
                assert_eq!(members, json!(failure), "{request}");
                answer["code"].as_str().unwrap().to_owned()
            }
        };
        outcomes.entry(outcome).or_default().push((request, answer));
    }
    assert_eq!((lines.next(), outcomes.values().map(Vec::len).sum::<usize>()), (None, requests.len()));
    let known: Vec<&str> = outcomes.keys().map(String::as_str).collect();
    let expected = [
        "binary", "invalid_index", "missing_runtime", "npx", "refused", "unknown_agent", "unknown_version",
        "unsupported_distribution", "unsupported_platform", "uvx",
    ];
    assert_eq!(known, expected);
    for outcome in ["binary", "npx", "uvx", "unknown_agent", "unknown_version", "unsupported_platform"] {
        assert!(outcomes[outcome].len() > 100, "{outcome}: {}", outcomes[outcome].len());
    }
    let sample = outcomes.values().flat_map(|answers| answers.iter().step_by(answers.len().div_ceil(3)));
    compare_with_program(&people, &sample.map(|(request, answer)| (*request, answer)).collect::<Vec<_>>());
}

#[test]
fn wrong_input_is_an_error_of_the_caller() {
    let Some(package) = package("WebAssembly") else { return };
    let people = People::new();
    people.env.write("refuse.mjs", REFUSE);
    let run = node(&[people.env.path("refuse.mjs").to_str().unwrap(), package.to_str().unwrap()]);
    assert_eq!(run.code, 0, "{}", run.stderr);
}

#[test]
fn the_example_lists_and_plans() {
    let Some(package) = package("WebAssembly") else { return };
    let example = package.join("example.mjs");
    assert!(std::fs::read_to_string(&example).unwrap().lines().count() <= 25);
    let people = People::new();
    let archives =
        json!({ "linux-x86_64": { "archive": "https://host.example/a.tar.gz", "cmd": "./a", "args": ["acp"] } });
    let agents = [
        json!({ "id": "a", "name": "The a", "version": "1.0.0", "distribution": { "binary": archives } }),
        json!({ "id": "b", "version": "2.0.0", "distribution": { "npx": { "package": "b@2.0.0" } } }),
        json!({ "id": "c" }),
    ];
    people.env.write("index.json", json!({ "agents": agents }).to_string());
    let index = people.env.path("index.json");
    let run = |platform: &str| node(&[example.to_str().unwrap(), index.to_str().unwrap(), platform]);
    let note = "note: entry 3 (`c`) is passed over: its version is missing, or is not a version";
    let lines = run("linux-x86_64");
    let expected = format!("a The a\nb \n{note}\na 1.0.0: https://host.example/a.tar.gz acp\nb 2.0.0: npx b@2.0.0\n");
    assert_eq!((lines.code, lines.stdout), (0, expected), "{}", lines.stderr);
    let lines = run("darwin-aarch64");
    assert!(lines.stdout.contains("a: `a` 1.0.0 is not made for darwin-aarch64"), "{}{}", lines.stdout, lines.stderr);
}
