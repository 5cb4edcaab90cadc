//! `bump` of many agents on GitHub: how many requests it sends, and that they change nothing of its results.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

use serde_json::{Value, json};

use crate::bump::prepare;
use crate::bump_scenarios::lists;
use crate::server::{Answer, Server, not_found, ok, status};
use crate::support::{Env, ICON, Run};

const AGENTS: usize = 200;

/// Every n-th agent has a newer version.
const NEWER: usize = 20;

/// An agent whose repository is gone.
const GONE: usize = 7;

/// An agent in a repository with two products, of which the other one is newer.
const SHARED: usize = 8;

/// An agent with more releases than one answer has, the current one not among the first.
const MANY: usize = 9;

/// An owner that must not become a part of a query.
const HOSTILE: &str = "o\"){x}$n0";

fn owner(number: usize) -> &'static str {
    if number == 5 { HOSTILE } else { "o" }
}

fn releases(repository: &str) -> Option<Vec<Value>> {
    let (owner_of, name) = repository.rsplit_once('/')?;
    let number: usize = name.strip_prefix("agent-")?.parse().ok()?;
    if number == GONE || owner_of != owner(number) {
        return None;
    }
    let one = |tag: String, is_prerelease: bool| {
        let assets = json!([{ "name": "a.zip", "digest": format!("sha256:{}", "1".repeat(64)), "state": "uploaded" }]);
        json!({ "tag_name": tag, "draft": false, "prerelease": is_prerelease, "published_at": "2026-01-01T00:00:00Z",
                "assets": assets })
    };
    let mut all = vec![one("v1.0.0".to_owned(), false), one("v0.9.0".to_owned(), false)];
    match number {
        SHARED => all.insert(0, one("other-v9.0.0".to_owned(), false)),
        MANY => {
            for nightly in 0..150 {
                all.insert(0, one(format!("v2.0.0-nightly.{nightly}"), true));
            }
        }
        _ if number.is_multiple_of(NEWER) => all.insert(0, one("v1.1.0".to_owned(), false)),
        _ => {}
    }
    Some(all)
}

/// A GitHub whose GraphQL API answers with this status; 0 is an error in an answer, 1 is no JSON.
fn github(graphql: Arc<AtomicU16>) -> Server {
    Server::answering(move |asked| {
        let path = percent_encoding::percent_decode_str(&asked.path).decode_utf8_lossy().into_owned();
        if path == "/api/graphql" {
            return match graphql.load(Ordering::Relaxed) {
                200 => ok(lists(&asked.body, releases).to_string()),
                0 => ok(json!({ "data": null, "errors": [{ "message": "x" }] }).to_string()),
                1 => ok("<html>"),
                other => status(other),
            };
        }
        if let Some((name, query)) = path.strip_prefix("/api/repos/").and_then(|rest| rest.split_once("/releases?")) {
            let Some(all) = releases(name) else { return not_found() };
            let page: usize = query.rsplit('=').next().unwrap().parse().unwrap();
            let page: Vec<Value> = all.into_iter().skip((page - 1) * 100).take(100).collect();
            let etag = ("ETag", format!("\"{name}\"").replace(|c: char| !c.is_ascii_alphanumeric() && c != '"', "-"));
            return if asked.header("if-none-match").is_empty() {
                (200, vec![etag], json!(page).to_string().into_bytes())
            } else {
                (304, vec![etag], Vec::new())
            };
        }
        if path.contains("/releases/download/") { ok("archive") } else { not_found() }
    })
}

fn registry(server: &Server) -> Env {
    let env = Env::empty();
    for number in 0..AGENTS {
        let id = format!("agent-{number}");
        let owner = percent_encoding::utf8_percent_encode(owner(number), percent_encoding::NON_ALPHANUMERIC);
        let archive = server.url(&format!("/{owner}/{id}/releases/download/v1.0.0/a.zip"));
        let manifest = json!({
            "id": id, "name": id, "version": "1.0.0", "description": "Made for a test", "license": "MIT", "authors": ["A"],
            "distribution": { "binary": { "linux-x86_64": { "archive": archive, "cmd": "./a", "sha256": "0".repeat(64) } } },
        });
        env.write(&format!("r/{id}/agent.json"), manifest.to_string());
        env.write(&format!("r/{id}/icon.svg"), ICON);
    }
    env
}

fn bump(env: &Env, server: &Server, token: Option<&str>) -> Value {
    let mut command = prepare(env, server, &["--apply", "--json"]);
    command.env("XDG_CACHE_HOME", env.path("cache")).env("LOCALAPPDATA", env.path("cache"));
    if let Some(token) = token {
        command.env("GITHUB_TOKEN", token);
    }
    let run = Run::of(&mut command);
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {}", run.stderr))
}

fn manifests(env: &Env) -> BTreeMap<usize, String> {
    (0..AGENTS).map(|number| (number, env.read(&format!("r/agent-{number}/agent.json")))).collect()
}

/// The numbers of requests to the GraphQL API and to the REST API since the first `from`.
fn requests(server: &Server, from: usize) -> (usize, usize) {
    let asked = server.requests();
    let count = |prefix: &str| asked[from..].iter().filter(|asked| asked.path.starts_with(prefix)).count();
    (count("/api/graphql"), count("/api/repos/"))
}

#[test]
fn with_a_token_requests_grow_with_the_changes() {
    let graphql = Arc::new(AtomicU16::new(200));
    let server = github(graphql.clone());
    let env = registry(&server);
    let before = manifests(&env);
    let report = bump(&env, &server, Some("token-of-github"));
    assert_eq!(report["updates"].as_array().unwrap().len(), AGENTS / NEWER, "{report:#}");
    assert_eq!(report["errors"][0]["id"], format!("agent-{GONE}"), "{report:#}");
    assert_eq!(report["errors"].as_array().unwrap().len(), 1);
    // 50 repositories in a query; one by one: those with a newer version, the one that is gone, and two pages.
    assert_eq!(requests(&server, 0), (AGENTS.div_ceil(50), AGENTS / NEWER + 1 + 2));
    let after = manifests(&env);
    assert_eq!(after.iter().filter(|(number, text)| before[*number] != **text).count(), AGENTS / NEWER);

    // With nothing changed.
    let from = server.requests().len();
    assert_eq!(bump(&env, &server, Some("token-of-github"))["updates"], json!([]));
    assert_eq!(requests(&server, from), (AGENTS.div_ceil(50), 1 + 2));

    // The token is sent to the API only, and names are no part of the query.
    for asked in server.requests() {
        let expected = if asked.path.starts_with("/api/") { "Bearer token-of-github" } else { "" };
        assert_eq!(asked.header("authorization"), expected, "{}", asked.path);
        if asked.path == "/api/graphql" {
            let query: Value = serde_json::from_slice(&asked.body).unwrap();
            assert!(!query["query"].as_str().unwrap().contains("{x}"));
        }
    }

    // Without a token, and with one that GraphQL does not help, the results are the same.
    for (answers, token) in [(200, None), (502, Some("t")), (401, Some("t")), (0, Some("t")), (1, Some("t"))] {
        graphql.store(answers, Ordering::Relaxed);
        for (number, text) in &before {
            env.write(&format!("r/agent-{number}/agent.json"), text);
        }
        fs::remove_dir_all(env.path("cache")).unwrap();
        let from = server.requests().len();
        assert_eq!(bump(&env, &server, token), report, "{answers} {token:?}");
        assert_eq!(manifests(&env), after, "{answers} {token:?}");
        let (of_graphql, of_rest) = requests(&server, from);
        assert_eq!((of_graphql > 0, of_rest), (token.is_some(), AGENTS + 1), "{answers} {token:?}");
        assert!(of_graphql <= AGENTS.div_ceil(50), "{of_graphql}");
    }
}

/// An answer of a source is bounded: what does not fit is looked up one by one.
#[test]
fn a_list_that_is_too_large_is_not_used() {
    let graphql = Arc::new(AtomicU16::new(200));
    let answer = move |body: &[u8]| -> Answer {
        let mut all = lists(body, releases);
        all["padding"] = json!("x".repeat(3 << 20));
        ok(all.to_string())
    };
    let plain = github(graphql);
    let host = plain.host.clone();
    let server =
        Server::answering(move |asked| if asked.path == "/api/graphql" { answer(&asked.body) } else { not_found() });
    let env = Env::empty();
    for id in ["agent-1", "agent-2"] {
        let archive = format!("http://{host}/o/{id}/releases/download/v1.0.0/a.zip");
        let manifest = json!({
            "id": id, "name": id, "version": "1.0.0", "description": "Made for a test", "license": "MIT", "authors": ["A"],
            "repository": server.url(&format!("/o/{id}")),
            "distribution": { "binary": { "linux-x86_64": { "archive": archive, "cmd": "./a" } } },
        });
        env.write(&format!("r/{id}/agent.json"), manifest.to_string());
        env.write(&format!("r/{id}/icon.svg"), ICON);
    }
    let report = bump(&env, &server, Some("t"));
    assert_eq!(report["errors"].as_array().unwrap().len(), 2, "{report:#}");
    assert_eq!(requests(&server, 0), (1, 2));
}
