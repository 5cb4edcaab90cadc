//! `bump` against package registries and a GitHub on loopback, which scenario files describe.
//!
//! Each file of `tests/fixtures/bump` has one agent, what its sources offer, and what must come of it. `{base}` in it is the
//! address of the server.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use acp_registry::bump::{Bumper, ErrorKind, Outcome};
use acp_registry::check::Levels;
use acp_registry::manifest::Channel;
use acp_registry::net::{AllowedHosts, Client, Settings};
use acp_registry::registry::{Config, Registry};
use acp_registry::survey::Sources;
use acp_registry::upstream::github::Github;
use acp_registry::upstream::npm;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::server::{Answer, Asked, Server, not_found, ok, status};
use crate::support::{Env, ICON, Run};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Scenario {
    #[serde(rename = "about")]
    _about: String,
    version: String,
    distribution: Value,
    preview: Option<Value>,
    repository: Option<String>,
    config: String,
    npm: BTreeMap<String, Package>,
    /// Files by project; the value is the reason for which a file was yanked.
    pypi: BTreeMap<String, BTreeMap<String, Value>>,
    github: BTreeMap<String, Vec<Release>>,
    /// Statuses and bodies of other paths.
    files: BTreeMap<String, Value>,
    arguments: Vec<String>,
    expected: Expected,
}

impl Default for Scenario {
    fn default() -> Self {
        Self {
            _about: String::new(),
            version: "1.0.0".to_owned(),
            distribution: Value::Null,
            preview: None,
            repository: None,
            config: String::new(),
            npm: BTreeMap::new(),
            pypi: BTreeMap::new(),
            github: BTreeMap::new(),
            files: BTreeMap::new(),
            arguments: Vec::new(),
            expected: Expected::default(),
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Package {
    latest: Option<String>,
    versions: Vec<String>,
    deprecated: Vec<String>,
    times: BTreeMap<String, String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Release {
    tag: String,
    draft: bool,
    prerelease: bool,
    /// Digests by name; empty for none.
    assets: BTreeMap<String, String>,
    /// Stands for so many releases, whose tags end in 1, 2, …
    times: Option<usize>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Expected {
    code: i32,
    /// `update`, `error`, `held`, `unlisted` or `up_to_date`.
    outcome: String,
    to: Option<String>,
    /// New values by JSON pointer; `false` for a value that goes.
    edits: BTreeMap<String, Value>,
    reasons: Vec<String>,
    /// Kind of an error, or reason of what is held.
    kind: Option<String>,
    /// Parts of the message.
    message: Vec<String>,
    /// Parts of the notes about sources.
    notes: Vec<String>,
}

fn packument(name: &str, package: &Package) -> Value {
    let version = |version: &String| {
        let mut value = json!({ "bin": "cli.js", "dist": { "integrity": "sha512-x", "tarball": "t" } });
        if package.deprecated.contains(version) {
            value["deprecated"] = json!("use another one");
        }
        (version.clone(), value)
    };
    let versions: serde_json::Map<String, Value> = package.versions.iter().map(version).collect();
    json!({ "name": name, "dist-tags": { "latest": package.latest }, "versions": versions, "time": package.times })
}

fn releases(of: &[Release]) -> Vec<Value> {
    let one = |release: &Release, tag: String| {
        let asset = |(name, digest): (&String, &String)| {
            let digest = (!digest.is_empty()).then(|| format!("sha256:{digest}"));
            json!({ "name": name, "digest": digest, "state": "uploaded" })
        };
        json!({ "tag_name": tag, "draft": release.draft, "prerelease": release.prerelease,
                "published_at": "2026-01-01T00:00:00Z", "assets": release.assets.iter().map(asset).collect::<Vec<_>>() })
    };
    let all = of.iter().flat_map(|release| match release.times {
        Some(times) => (1..=times).map(|number| one(release, format!("{}{number}", release.tag))).collect(),
        None => vec![one(release, release.tag.clone())],
    });
    all.collect()
}

fn answer(scenario: &Scenario, asked: &Asked) -> Answer {
    let decoded = percent_encoding::percent_decode_str(&asked.path).decode_utf8_lossy().into_owned();
    match scenario.files.get(&decoded) {
        Some(Value::Number(code)) => {
            let (code, _, body) = status(u16::try_from(code.as_u64().unwrap()).unwrap());
            return (code, vec![("Retry-After", "9999".to_owned())], body);
        }
        Some(Value::String(body)) => return ok(body.as_bytes()),
        _ => {}
    }
    if let Some(name) = decoded.strip_prefix("/npm/") {
        return scenario.npm.get(name).map_or_else(not_found, |package| ok(packument(name, package).to_string()));
    }
    if let Some(name) = decoded.strip_prefix("/simple/") {
        let Some(files) = scenario.pypi.get(name.trim_end_matches('/')) else { return not_found() };
        let file = |(name, yanked): (&String, &Value)| json!({ "filename": name, "hashes": { "sha256": "x" }, "yanked": yanked });
        let body = json!({ "files": files.iter().map(file).collect::<Vec<_>>() }).to_string();
        return (200, vec![("Content-Type", "application/vnd.pypi.simple.v1+json".to_owned())], body.into());
    }
    if let Some(rest) = decoded.strip_prefix("/api/repos/") {
        let Some((repository, query)) = rest.split_once("/releases?") else { return not_found() };
        let Some(list) = scenario.github.get(repository) else { return not_found() };
        let page: usize = query.rsplit('=').next().and_then(|page| page.parse().ok()).unwrap_or(1);
        let page: Vec<Value> = releases(list).into_iter().skip((page - 1) * 100).take(100).collect();
        return ok(json!(page).to_string());
    }
    let asset = decoded.strip_prefix('/').and_then(|path| path.split_once("/releases/download/"));
    if let Some((repository, (tag, name))) =
        asset.and_then(|(repository, file)| Some((repository, file.rsplit_once('/')?)))
    {
        let exists = scenario
            .github
            .get(repository)
            .is_some_and(|list| list.iter().any(|release| release.tag == tag && release.assets.contains_key(name)));
        return if exists { ok("archive") } else { not_found() };
    }
    not_found()
}

fn command(env: &Env, server: &Server, arguments: &[&str]) -> Run {
    let all = [&["--allow-host", &server.host, "bump", "--no-cache"], arguments].concat();
    let mut command = env.command(&all);
    command.env("ACP_REGISTRY_NPM", server.url("/npm")).env("ACP_REGISTRY_PYPI", server.url("/simple"));
    command.env("GITHUB_API_URL", server.url("/api"));
    Run::of(&mut command)
}

fn play(path: &Path) {
    let name = path.file_stem().unwrap().to_string_lossy().into_owned();
    let text = fs::read_to_string(path).unwrap();
    let toml = |base: &str| -> Scenario {
        toml::from_str(&text.replace("{base}", base)).unwrap_or_else(|error| panic!("{name}: {error}"))
    };
    // What the server offers names its own address.
    let offered: Arc<OnceLock<Scenario>> = Arc::default();
    let offers = offered.clone();
    let server = Server::answering(move |asked| answer(offers.wait(), asked));
    let mut scenario = toml(&server.url(""));
    offered.set(toml(&server.url(""))).unwrap();
    let env = Env::empty();
    let mut manifest = json!({
        "id": "a", "name": "An agent", "version": scenario.version, "description": "Made for a test", "license": "MIT", "authors": ["A"],
        "distribution": scenario.distribution,
    });
    let more = [("preview", scenario.preview.take()), ("repository", scenario.repository.take().map(Value::from))];
    for (key, value) in more {
        if let Some(value) = value {
            manifest[key] = value;
        }
    }
    let before = serde_json::to_string_pretty(&manifest).unwrap();
    env.write("r/a/agent.json", &before);
    env.write("r/a/icon.svg", ICON);
    env.write("r/registry.toml", &scenario.config);
    let arguments: Vec<&str> = scenario.arguments.iter().map(String::as_str).chain(["--json"]).collect();
    let run = command(&env, &server, &arguments);
    let report: Value =
        serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{name}: {error} {}", run.stderr));
    let expected = &scenario.expected;
    assert_eq!(run.code, expected.code, "{name}: {report:#} {}", run.stderr);
    let list = match expected.outcome.as_str() {
        "update" => "updates",
        "error" => "errors",
        outcome => outcome,
    };
    let found = report[list].as_array().unwrap_or_else(|| panic!("{name}: no list {list}"));
    assert_eq!(found.len(), 1, "{name}: {report:#}");
    let found = &found[0];
    if let Some(to) = &expected.to {
        assert_eq!(found["to"], json!(to), "{name}: {report:#}");
    }
    if let Some(kind) = &expected.kind {
        let key = if expected.outcome == "held" { "reason" } else { "kind" };
        assert_eq!(found[key], json!(kind), "{name}: {report:#}");
    }
    for part in &expected.message {
        assert!(found["message"].as_str().unwrap_or_default().contains(part), "{name}: {report:#}");
    }
    let edits = found["edits"].as_array().cloned().unwrap_or_default();
    let edits: BTreeMap<String, Value> = edits
        .iter()
        .map(|edit| {
            (
                edit["pointer"].as_str().unwrap().to_owned(),
                if edit["to"].is_null() { json!(false) } else { edit["to"].clone() },
            )
        })
        .collect();
    assert_eq!(edits, expected.edits, "{name}");
    let reasons = found["reasons"].as_array().cloned().unwrap_or_default();
    assert_eq!(reasons.len(), expected.reasons.len(), "{name}: {reasons:?}");
    for (reason, part) in reasons.iter().zip(&expected.reasons) {
        assert!(reason.as_str().unwrap().contains(part), "{name}: {reasons:?}");
    }
    let notes = report["notes"].as_array().unwrap();
    assert_eq!(notes.len(), expected.notes.len(), "{name}: {notes:?}");
    for (note, part) in notes.iter().zip(&expected.notes) {
        assert!(note["message"].as_str().unwrap().contains(part), "{name}: {notes:?}");
    }
    assert_eq!(env.read("r/a/agent.json"), before, "{name}: nothing is written without --apply");

    // With --apply exactly these values change, and a second run has nothing more to do.
    if expected.outcome != "update" {
        return;
    }
    let run = command(&env, &server, &[&arguments[..], &["--apply"]].concat());
    assert_eq!(run.code, 0, "{name}: {} {}", run.stdout, run.stderr);
    let after: Value = serde_json::from_str(&env.read("r/a/agent.json")).unwrap();
    let mut wanted = manifest;
    for (pointer, value) in &expected.edits {
        if *value == json!(false) {
            let (parent, key) = pointer.rsplit_once('/').unwrap();
            wanted.pointer_mut(parent).unwrap().as_object_mut().unwrap().remove(key);
        } else {
            let (parent, key) = pointer.rsplit_once('/').unwrap();
            wanted.pointer_mut(parent).unwrap()[key] = value.clone();
        }
    }
    assert_eq!(after, wanted, "{name}");
    let run = command(&env, &server, &arguments);
    let again: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(again["updates"], json!([]), "{name}: {again:#}");
}

#[test]
fn every_scenario_ends_as_it_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/bump");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 25, "{}", files.len());
    for file in files {
        play(&file);
    }
}

/// The layouts that people write, with the same agent in each.
const STYLES: &[(&str, &str)] = &[
    (
        "two spaces",
        "{\n  \"id\": \"a\",\n  \"name\": \"N\",\n  \"version\": \"1.0.0\",\n  \"description\": \"Made for a test\",\n  \"license\": \"MIT\",\n  \"distribution\": {\n    \"npx\": {\n      \"package\": \"a@1.0.0\"\n    }\n  }\n}\n",
    ),
    (
        "tabs",
        "{\n\t\"id\": \"a\",\n\t\"name\": \"N\",\n\t\"version\": \"1.0.0\",\n\t\"description\": \"1.0.0 of it\",\n\t\"license\": \"MIT\",\n\t\"distribution\": {\n\t\t\"npx\": {\n\t\t\t\"package\": \"a@1.0.0\"\n\t\t}\n\t}\n}\n",
    ),
    (
        "carriage returns",
        "{\r\n  \"id\": \"a\",\r\n  \"name\": \"N\",\r\n  \"version\": \"1.0.0\",\r\n  \"description\": \"Made for a test\",\r\n  \"license\": \"MIT\",\r\n  \"distribution\": {\r\n    \"npx\": { \"package\": \"a@1.0.0\" }\r\n  }\r\n}\r\n",
    ),
    (
        "no final newline",
        "{\n  \"id\": \"a\",\n  \"name\": \"N\",\n  \"version\": \"1.0.0\",\n  \"description\": \"Made for a test\",\n  \"license\": \"MIT\",\n  \"distribution\": {\n    \"npx\": { \"package\": \"a@1.0.0\" }\n  }\n}",
    ),
    (
        "inline arrays",
        "{\n  \"id\": \"a\",\n  \"name\": \"N\",\n  \"authors\": [\"x\", \"y\"],\n  \"version\": \"1.0.0\",\n  \"description\": \"Made for a test\",\n  \"license\": \"MIT\",\n  \"distribution\": {\n    \"npx\": { \"args\": [\"--acp\", \"1.0.0\"], \"package\": \"a@1.0.0\" }\n  }\n}\n",
    ),
    (
        "escapes",
        "{\n  \"id\": \"a\",\n  \"name\": \"N\\u2019s \\u00e9\\/\",\n  \"version\": \"1.0.0\",\n  \"description\": \"Made \\\"for\\\" a test’s\",\n  \"license\": \"MIT\",\n  \"distribution\": {\n    \"npx\": { \"package\": \"\\u0061@1.0.0\" }\n  }\n}\n",
    ),
    (
        "another order",
        "{\n    \"distribution\": {\n        \"npx\": { \"package\": \"a@1.0.0\" }\n    },\n    \"version\": \"1.0.0\",\n    \"license\": \"MIT\",\n    \"name\": \"N\",\n    \"description\": \"Made for a test\",\n    \"id\": \"a\"\n}\n",
    ),
    (
        "blanks before colons",
        "{\n  \"id\" : \"a\",\n  \"name\" : \"N\",\n  \"version\"   :   \"1.0.0\",\n  \"description\" : \"Made for a test\",\n  \"license\" : \"MIT\",\n  \"distribution\" : {\n    \"npx\" : { \"package\" : \"a@1.0.0\" }\n  }\n}\n\n\n",
    ),
    (
        "blank lines",
        "{\n\n  \"id\": \"a\",\n\n  \"name\": \"N\",\n\n  \"version\": \"1.0.0\",\n  \"description\": \"Made for a test\",\n  \"license\": \"MIT\",\n\n  \"distribution\": {\n    \"npx\": { \"package\": \"a@1.0.0\" }\n  }\n}\n",
    ),
    (
        "an escaped version",
        "{\n  \"id\": \"a\",\n  \"name\": \"N\",\n  \"version\": \"1\\u002e0.0\",\n  \"description\": \"Made for a test\",\n  \"license\": \"MIT\",\n  \"distribution\": {\n    \"npx\": { \"package\": \"a@1.0.0\" }\n  }\n}\n",
    ),
];

#[test]
fn only_the_lines_that_must_change_do() {
    let package = json!({ "dist-tags": { "latest": "1.1.0" }, "versions": {
        "1.0.0": { "bin": "a.js", "dist": { "integrity": "sha512-x" } }, "1.1.0": { "bin": "a.js", "dist": { "integrity": "sha512-x" } },
    } });
    let server =
        Server::answering(move |asked| if asked.path == "/npm/a" { ok(package.to_string()) } else { not_found() });
    for (style, text) in STYLES {
        let env = Env::empty().file("r/a/agent.json", text).file("r/a/icon.svg", ICON);
        let run = command(&env, &server, &["--apply"]);
        assert_eq!(run.code, 0, "{style}: {} {}", run.stdout, run.stderr);
        let after = env.read("r/a/agent.json");
        // Of `1.0.0` only the middle changes, and only in the two values.
        let changed: Vec<(&str, &str)> =
            text.split('\n').zip(after.split('\n')).filter(|(before, after)| before != after).collect();
        assert_eq!(text.split('\n').count(), after.split('\n').count(), "{style}");
        assert_eq!(changed.len(), 2, "{style}: {changed:?}");
        for (before, after) in changed {
            let expected = if before.contains("@1.0.0") {
                before.replace("@1.0.0", "@1.1.0")
            } else {
                before.replace("1.0.0", "1.1.0").replace("1\\u002e0.0", "1\\u002e1.0")
            };
            assert_eq!(after, expected, "{style}");
        }
        assert_eq!(serde_json::from_str::<Value>(&after).unwrap()["distribution"]["npx"]["package"], "a@1.1.0");
    }
}

#[test]
fn an_agent_that_is_withdrawn_is_not_looked_at() {
    let package = json!({ "dist-tags": { "latest": "1.0.0" }, "versions": { "1.0.0": { "bin": "a.js" } } });
    let server = Server::answering(move |_| ok(package.to_string()));
    let env = Env::with(&["a", "b"]);
    env.write("r/registry.toml", "[withdrawn]\nb = \"gone\"\n");
    let run = command(&env, &server, &["--json"]);
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    assert_eq!(server.asked(), ["/npm/a"]);
    let run = command(&env, &server, &["b"]);
    assert!(run.code == 2 && run.stderr.contains("the agent `b` is withdrawn"), "{}", run.stderr);
}

#[test]
fn a_trouble_of_one_agent_is_no_concern_of_the_others() {
    let package = json!({ "dist-tags": { "latest": "1.1.0" }, "versions": {
        "1.0.0": { "bin": "a.js", "dist": { "integrity": "sha512-x" } }, "1.1.0": { "bin": "a.js", "dist": { "integrity": "sha512-x" } },
    } });
    let server = Server::answering(move |asked| match asked.path.as_str() {
        "/npm/good" | "/npm/other" => ok(package.to_string()),
        "/npm/down" => status(500),
        _ => not_found(),
    });
    let env = Env::with(&["down", "gone", "good", "other", "quarantined"]);
    env.write("r/broken/agent.json", "{ not json");
    env.write("r/twice/agent.json", "{\"id\":\"twice\",\"version\":\"1.0.0\",\"version\":\"1.0.0\"}");
    env.write("r/quarantine.json", "{ \"quarantined\": \"it hangs\" }");
    let run = command(&env, &server, &["--apply", "--json"]);
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    let ids = |list: &str, key: &str| -> Vec<(String, String)> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        report[list].as_array().unwrap().iter().map(|one| (text(&one["id"]), text(&one[key]))).collect()
    };
    let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    assert_eq!(ids("updates", "to"), [pair("good", "1.1.0"), pair("other", "1.1.0")]);
    assert_eq!(
        ids("errors", "kind"),
        [
            pair("broken", "manifest"),
            pair("down", "source_unavailable"),
            pair("gone", "not_found"),
            pair("twice", "manifest")
        ]
    );
    assert_eq!(report["quarantined"], json!(["quarantined"]));
    assert_eq!(run.code, 0);
    // People read words, programs the kind.
    let run = command(&env, &server, &[]);
    for start in [
        "error   broken: the manifest cannot be changed: ",
        "error   down: a source does not answer as it should: ",
        "error   gone: not found: ",
    ] {
        assert!(run.stdout.lines().any(|line| line.starts_with(start)), "{start}: {}", run.stdout);
    }
    assert!(!run.stdout.contains("source_unavailable"), "{}", run.stdout);
    assert!(env.read("r/good/agent.json").contains("good@1.1.0"));
    assert!(env.read("r/down/agent.json").contains("down@1.0.0"));
    // Named, an agent in quarantine is looked at.
    let run = command(&env, &server, &["quarantined", "--json"]);
    assert_eq!(run.code, 3, "{}", run.stdout);
    let run = command(&env, &server, &["godo"]);
    assert!(run.code == 2 && run.stderr.contains("did you mean `good`"), "{}", run.stderr);
}

#[test]
#[cfg(unix)]
fn what_does_not_pass_the_handshake_is_not_taken_in() {
    let verify = crate::verify::Verify::new();
    verify.npx("good", &["ok"]).npx("silent", &["silent"]).npx("exits", &["exit", "3", "why"]);
    for id in ["good", "silent", "exits"] {
        verify.env.write(&format!("r/{id}/icon.svg"), ICON);
    }
    let package = json!({ "dist-tags": { "latest": "1.1.0" }, "versions": {
        "1.0.0": { "bin": "a.js", "dist": { "integrity": "sha512-x" } }, "1.1.0": { "bin": "a.js", "dist": { "integrity": "sha512-x" } },
    } });
    let server = Server::answering(
        move |asked| if asked.path.starts_with("/npm/") { ok(package.to_string()) } else { not_found() },
    );
    let arguments =
        ["--allow-host", &server.host, "bump", "--no-cache", "--verify", "--timeout", "2", "--apply", "--json"];
    let mut command = verify.program(&arguments);
    command.env("ACP_REGISTRY_NPM", server.url("/npm"));
    let run = Run::of(&mut command);
    verify.assert_clean();
    let report: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error} {}", run.stderr));
    assert_eq!(report["updates"].as_array().unwrap().len(), 1, "{report:#}");
    assert_eq!(report["updates"][0]["id"], "good");
    let errors = report["errors"].as_array().unwrap();
    let kinds: Vec<(&Value, &Value)> = errors.iter().map(|one| (&one["id"], &one["kind"])).collect();
    let failed = json!("handshake_failed");
    assert_eq!(kinds, [(&json!("exits"), &failed), (&json!("silent"), &failed)]);
    assert!(errors[0]["message"].as_str().unwrap().contains("exit code 3"), "{report:#}");
    assert!(verify.env.read("r/good/agent.json").contains("good@1.1.0"));
    assert!(verify.env.read("r/silent/agent.json").contains("silent@1.0.0"));
}

#[test]
fn lasting_trouble_is_counted_and_leads_to_quarantine_and_back() {
    let is_down = Arc::new(std::sync::atomic::AtomicBool::new(true));
    let down = is_down.clone();
    let package = json!({ "dist-tags": { "latest": "1.0.0" }, "versions": { "1.0.0": { "bin": "a.js", "dist": { "integrity": "sha512-x" } } } });
    let server = Server::answering(move |asked| {
        let fails = asked.path == "/npm/a" && down.load(std::sync::atomic::Ordering::SeqCst);
        if fails || !asked.path.starts_with("/npm/") { not_found() } else { ok(package.to_string()) }
    });
    let env = Env::with(&["a", "b"]);
    let state = env.path("state.json");
    let run = |arguments: &[&str]| {
        let flags = ["--state", state.to_str().unwrap(), "--quarantine-after", "14d", "--json"];
        let run = command(&env, &server, &[&flags, arguments].concat());
        let report: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error} {}", run.stderr));
        report
    };
    for runs in 1..=10 {
        let report = run(&[]);
        assert_eq!(report["errors"][0]["runs"], runs, "{report:#}");
        assert_eq!(report["quarantine"], json!([]));
    }
    // As if it had begun long ago.
    let text = env.read("state.json");
    let since = text.split("\"since\": \"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    env.write("state.json", text.replace(&since, "2026-01-01T00:00:00Z"));
    let report = run(&[]);
    let reason = "updates have failed since 2026-01-01: not found";
    assert_eq!(report["quarantine"], json!([{ "id": "a", "reason": reason }]), "{report:#}");

    // In quarantine it is looked at, but no error any more, until it works again.
    env.write("r/quarantine.json", json!({ "a": reason, "b": "a person has put it there" }).to_string());
    let report = run(&[]);
    assert_eq!((&report["errors"], &report["release"]), (&json!([]), &json!([])), "{report:#}");
    assert_eq!(report["quarantined"], json!(["b"]));
    is_down.store(false, std::sync::atomic::Ordering::SeqCst);
    let report = run(&[]);
    assert_eq!((&report["release"], &report["quarantine"]), (&json!(["a"]), &json!([])), "{report:#}");
    assert!(!env.read("state.json").contains("not_found"));

    env.write("state.json", "{}}");
    let run = command(&env, &server, &["--state", state.to_str().unwrap()]);
    assert!(run.code == 2 && run.stderr.contains("state.json") && run.stderr.contains("remove it"), "{}", run.stderr);
}

#[test]
fn a_source_that_hangs_delays_nobody_else() {
    let package = json!({ "dist-tags": { "latest": "1.1.0" }, "versions": {
        "1.0.0": { "bin": "a.js", "dist": { "integrity": "sha512-x" } }, "1.1.0": { "bin": "a.js", "dist": { "integrity": "sha512-x" } },
    } });
    let (tell, told) = std::sync::mpsc::channel();
    let told = std::sync::Mutex::new(told);
    // It is asked first, and sends nothing: it breaks off once the others are done, or when the client has given up.
    let server = Server::raw(move |asked, stream| {
        if asked.path == "/npm/a-hangs" {
            let others = told.lock().unwrap();
            for _ in 0..3 {
                let _ = others.recv_timeout(Duration::from_mins(2));
            }
            return stream.shutdown(std::net::Shutdown::Both);
        }
        crate::server::write(stream, asked, &ok(package.to_string()))
    });
    let env = Env::with(&["a-hangs", "b", "c", "d"]);
    let registry = Registry::load(&env.path("r")).unwrap();
    let allowed = AllowedHosts::parse([&server.host]).unwrap();
    let client = Client::new(Settings { allowed: allowed.clone(), attempts: 1, ..Settings::default() }).unwrap();
    let sources = Sources {
        npm: Some(npm::Registry { default: url::Url::parse(&server.url("/npm/")).unwrap(), scopes: BTreeMap::new() }),
        pypi: None,
        github: Github::new(&server.url("/api")).unwrap(),
    };
    let bumper = Bumper {
        client: &client,
        sources: &sources,
        config: &Config::default(),
        levels: &Levels::default(),
        allowed_hosts: &allowed,
        min_age: Duration::ZERO,
        now: time::OffsetDateTime::now_utc(),
    };
    let entries: Vec<_> = registry.entries.iter().collect();
    let order = std::sync::Mutex::new(Vec::new());
    let done = |id: &str| {
        order.lock().unwrap().push(id.to_owned());
        let _ = tell.send(());
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let found = runtime.block_on(bumper.run(&registry, &entries, &[Channel::Stable], &done));
    let order = order.into_inner().unwrap();
    assert_eq!((order.len(), order.last().map(String::as_str)), (4, Some("a-hangs")), "{order:?}");
    let results: Vec<(&str, bool)> =
        found.iter().map(|one| (one.id.as_str(), matches!(one.result, Ok(Outcome::Update(_))))).collect();
    assert_eq!(results, [("a-hangs", false), ("b", true), ("c", true), ("d", true)]);
    let error = found[0].result.as_ref().unwrap_err();
    assert_eq!(error.kind, ErrorKind::SourceUnavailable, "{error:?}");
}
