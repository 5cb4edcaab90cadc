//! `bump` with package registries and GitHub on loopback, described by scenario files.
//!
//! Each file in `tests/fixtures/bump` describes an agent, what its sources offer, and the expected result. `{base}` is
//! replaced with the URL of the server.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::bump::{command, command_with_token};
use crate::server::{Answer, Asked, Server, not_found, ok, status};
use crate::support::{Env, ICON};

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
    /// Versions that the registry has recalled.
    recalled: Option<String>,
    npm: BTreeMap<String, Package>,
    /// Files by project; the value is the reason why a file was yanked.
    pypi: BTreeMap<String, BTreeMap<String, Value>>,
    github: BTreeMap<String, Vec<Release>>,
    /// Status and body for other paths.
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
            recalled: None,
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
    /// Digests by file name; empty for none.
    assets: BTreeMap<String, String>,
    /// When its files were uploaded, if not with the release.
    uploaded: Option<String>,
    /// The number of releases to generate, whose tags end in 1, 2, …
    times: Option<usize>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Expected {
    code: i32,
    /// `update`, `error`, `held`, `unlisted` or `up_to_date`.
    outcome: String,
    to: Option<String>,
    /// New values by JSON pointer; `false` for a removed value.
    edits: BTreeMap<String, Value>,
    reasons: Vec<String>,
    /// The kind of the error, or the reason for holding an update back.
    kind: Option<String>,
    /// Texts that the message must contain.
    message: Vec<String>,
    /// Texts that the remarks about sources must contain.
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
            json!({ "name": name, "digest": digest, "state": "uploaded", "updated_at": release.uploaded })
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

/// GitHub's answer to a query for the releases of many repositories, which are given as the REST API lists them.
pub(crate) fn lists(query: &[u8], releases_of: impl Fn(&str) -> Option<Vec<Value>>) -> Value {
    let query: Value = serde_json::from_slice(query).unwrap();
    let (text, names) = (query["query"].as_str().unwrap(), &query["variables"]);
    let (mut data, mut errors) = (serde_json::Map::new(), Vec::new());
    for at in (0..).take_while(|at| names.get(format!("o{at}")).is_some()) {
        assert!(text.contains(&format!("r{at}:repository(owner:$o{at},name:$n{at})")), "{text}");
        let [owner, name] = ["o", "n"].map(|part| names[format!("{part}{at}")].as_str().unwrap());
        let node = |release: Value| {
            json!({ "tagName": release["tag_name"], "isDraft": release["draft"], "isPrerelease": release["prerelease"],
                    "publishedAt": release["published_at"] })
        };
        let found = releases_of(&format!("{owner}/{name}"));
        if found.is_none() {
            errors.push(json!({ "type": "NOT_FOUND", "path": [format!("r{at}")] }));
        }
        let nodes = |list: Vec<Value>| list.into_iter().take(100).map(node).collect::<Vec<_>>();
        data.insert(format!("r{at}"), json!(found.map(|list| json!({ "releases": { "nodes": nodes(list) } }))));
    }
    json!({ "data": data, "errors": errors })
}

fn answer(scenario: &Scenario, asked: &Asked) -> Answer {
    let decoded = percent_encoding::percent_decode_str(&asked.path).decode_utf8_lossy().into_owned();
    match scenario.files.get(&decoded) {
        Some(Value::Number(code)) => {
            let (code, _, body) = status(u16::try_from(code.as_u64().unwrap()).unwrap());
            let wait = (code != 403).then(|| ("Retry-After", "9999".to_owned()));
            return (code, Vec::from_iter(wait), body);
        }
        Some(Value::String(body)) if body.starts_with("<!DOCTYPE html>") => {
            return (200, vec![("Content-Type", "text/html".to_owned())], body.as_bytes().to_vec());
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
    if decoded == "/api/graphql" {
        let of = |name: &str| scenario.github.get(name).map(|list| releases(list));
        return ok(lists(&asked.body, of).to_string());
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

fn play(path: &Path) {
    let name = path.file_stem().unwrap().to_string_lossy().into_owned();
    let text = fs::read_to_string(path).unwrap();
    let toml = |base: &str| -> Scenario {
        toml::from_str(&text.replace("{base}", base)).unwrap_or_else(|error| panic!("{name}: {error}"))
    };
    // The offers contain the server's own URL, which is known only once it runs.
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
    if let Some(versions) = &scenario.recalled {
        let recall = json!({ "id": "a", "versions": versions, "level": "revoked", "reason": "It reads keys", "since": "2026-01-31" });
        env.write("r/revoked.json", json!({ "schema": 1, "revoked": [recall] }).to_string());
    }
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

    // With a token, many repositories are asked for at once. That changes nothing.
    let other = server.url("/o/another-agent/releases/download/v1.0.0/a.zip");
    let other = json!({
        "id": "z", "name": "Another", "version": "1.0.0", "description": "Made for a test", "license": "MIT", "authors": ["A"],
        "distribution": { "binary": { "linux-x86_64": { "archive": other, "cmd": "./a" } } },
    });
    env.write("r/z/agent.json", other.to_string());
    env.write("r/z/icon.svg", ICON);
    let with_token = command_with_token(&env, &server, &arguments);
    let with_token: Value = serde_json::from_str(&with_token.stdout).unwrap();
    for list in ["updates", "errors", "up_to_date", "held", "unlisted", "notes"] {
        let of_agent = |report: &Value| {
            let mut list = report[list].as_array().cloned().unwrap_or_default();
            list.retain(|one| *one != "z" && one["id"] != "z");
            list
        };
        assert_eq!(of_agent(&with_token), of_agent(&report), "{name}: {list}");
    }
    fs::remove_dir_all(env.path("r/z")).unwrap();

    // With `--apply`, exactly these values change, and a second run changes nothing.
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
