//! `bump` with package registries on loopback: which lines change, which failures count, and which agents are skipped.

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use acp_registry::advisories::Advisories;
use acp_registry::bump::{Bumper, ChannelOutcome, ErrorKind};
use acp_registry::check::Levels;
use acp_registry::config::Config;
use acp_registry::http::{AllowedHosts, Client, Settings};
use acp_registry::manifest::Channel;
use acp_registry::registry::Registry;
use acp_registry::sources::github::Github;
use acp_registry::sources::{Sources, npm};
use serde_json::{Value, json};

use crate::server::{Server, not_found, ok, status};
use crate::support::{Env, ICON, Run};

pub(crate) fn command(env: &Env, server: &Server, arguments: &[&str]) -> Run {
    Run::of(&mut prepare(env, server, &[&["--no-cache"], arguments].concat()))
}

/// The command with a token for GitHub.
pub(crate) fn command_with_token(env: &Env, server: &Server, arguments: &[&str]) -> Run {
    Run::of(prepare(env, server, &[&["--no-cache"], arguments].concat()).env("GITHUB_TOKEN", "token-of-github"))
}

pub(crate) fn prepare(env: &Env, server: &Server, arguments: &[&str]) -> Command {
    let mut command = env.command(&[&["--allow-host", &server.host, "bump"], arguments].concat());
    command.env("ACP_REGISTRY_NPM", server.url("/npm")).env("ACP_REGISTRY_PYPI", server.url("/simple"));
    command.env("GITHUB_API_URL", server.url("/api"));
    command
}

/// Common layouts of manifests, with the same agent in each.
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
    let updated = package.clone();
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
    // The text has words, the JSON document the kind of error.
    let run = command(&env, &server, &[]);
    for start in [
        "error   broken: the manifest cannot be changed: ",
        "error   down: a source gives no usable answer: ",
        "error   gone: not found: ",
    ] {
        assert!(run.stdout.lines().any(|line| line.starts_with(start)), "{start}: {}", run.stdout);
    }
    assert!(!run.stdout.contains("source_unavailable"), "{}", run.stdout);
    assert!(env.read("r/good/agent.json").contains("good@1.1.0"));
    assert!(env.read("r/down/agent.json").contains("down@1.0.0"));
    // An agent in quarantine is checked if it is named.
    let run = command(&env, &server, &["quarantined", "--json"]);
    assert_eq!(run.code, 3, "{}", run.stdout);
    let document: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(document["error"]["message"], "no agent could be looked at");
    let run = command(&env, &server, &["godo"]);
    assert!(run.code == 2 && run.stderr.contains("did you mean `good`"), "{}", run.stderr);
    // An update that is not written counts as one that is left.
    for id in ["good", "other"] {
        env.write(&format!("r/{id}/agent.json"), crate::support::manifest(id));
    }
    let meanwhile = (env.path("r/good/agent.json"), crate::support::manifest("good") + "\n");
    let server = Server::answering(move |_| {
        std::fs::write(&meanwhile.0, &meanwhile.1).unwrap();
        ok(updated.to_string())
    });
    let run = command(&env, &server, &["--apply", "good", "other"]);
    assert!(run.code == 1 && run.stdout.contains("agent.json has changed meanwhile; run again"), "{}", run.stdout);
    assert!(env.read("r/good/agent.json").contains("good@1.0.0"));
    assert!(env.read("r/other/agent.json").contains("other@1.1.0"));
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
    let bump = |more: &[&str]| {
        let arguments = ["--allow-host", &server.host, "bump", "--no-cache", "--verify", "--timeout", "2", "--json"];
        let mut command = verify.program(&[&arguments[..], more].concat());
        command.env("ACP_REGISTRY_NPM", server.url("/npm"));
        let run = Run::of(&mut command);
        verify.assert_clean();
        run
    };
    let run = bump(&["exits"]);
    assert!(run.code == 3 && run.stderr.contains("error: no agent could be updated\n"), "{}", run.stderr);
    let run = bump(&["--apply"]);
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
    // Moves the start of the failure into the past.
    let text = env.read("state.json");
    let since = text.split("\"since\": \"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    env.write("state.json", text.replace(&since, "2026-01-01T00:00:00Z"));
    let report = run(&[]);
    let reason = "updates have failed since 2026-01-01: not found";
    assert_eq!(report["quarantine"], json!([{ "id": "a", "reason": reason }]), "{report:#}");

    // An agent in quarantine is still checked, but its failure is not an error.
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
    // This request comes first and is never answered; the server ends it once the others are complete or the client gives
    // up.
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
    let client = Client::new(Settings { allowed: allowed.clone(), attempts: 1, ..Settings::default() });
    let sources = Sources {
        npm: Some(npm::Registry { default: url::Url::parse(&server.url("/npm/")).unwrap(), scopes: BTreeMap::new() }),
        pypi: None,
        github: Github::new(&server.url("/api")).unwrap(),
    };
    let advisories = Advisories::default();
    let bumper = Bumper {
        advisories: &advisories,
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
        found.iter().map(|one| (one.id.as_str(), matches!(one.result, Ok(ChannelOutcome::Update(_))))).collect();
    assert_eq!(results, [("a-hangs", false), ("b", true), ("c", true), ("d", true)]);
    let error = found[0].result.as_ref().unwrap_err();
    assert_eq!(error.kind, ErrorKind::SourceUnavailable, "{error:?}");
}

#[test]
fn why_there_is_no_agent_to_look_at_is_said() {
    let fresh = Env::empty().file("r/registry.toml", "");
    let withdrawn = Env::with(&["one"]).file("r/registry.toml", "[withdrawn]\none = \"gone\"\n");
    let held = Env::with(&["one"]).file("r/quarantine.json", "{\"one\": \"it fails\"}");
    for (env, expected) in [
        (&fresh, "no agents to look at: the registry has none; `acp-registry new` adds one"),
        (
            &withdrawn,
            "no agents to look at: registry.toml withdraws all of them; remove an entry below `[withdrawn]` to publish it again",
        ),
        (&held, "0 updates found, 0 up to date, 0 held back, 0 errors, 1 in quarantine"),
    ] {
        for (flags, text) in [
            (&[][..], format!("{expected}\n")),
            (&["--format", "markdown"], format!("### Newer versions\n\n{expected}.\n")),
        ] {
            let run = env.run(&[&["bump"], flags].concat());
            assert_eq!((run.code, run.stdout), (0, text), "{}", run.stderr);
        }
        let (code, document) = env.json(&["bump"]);
        assert_eq!((code, &document["updates"], &document["up_to_date"]), (0, &json!([]), &json!([])));
    }
    for (env, help) in [
        (&fresh, "the registry has no agents yet; `acp-registry new --registry-dir r` adds one"),
        (&withdrawn, "to publish it again, remove its entry below `[withdrawn]` in registry.toml"),
    ] {
        let run = env.run(&["bump", "one"]);
        assert!(run.code == 2 && run.stderr.ends_with(&format!("help: {help}\n")), "{}", run.stderr);
    }
}
