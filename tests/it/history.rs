//! The history of a registry, from git and from a file, and how a site shows it.

use std::path::Path;

use acp_registry::history::{Extent, History};
use serde_json::Value;

use crate::support::{Env, manifest, tree};

/// A registry whose agents were added, changed and removed, one event per day.
fn env() -> Env {
    let env = Env::with(&["a", "b"]);
    env.git(&["init", "-q"]);
    commit(&env, "2026-01-01T12:00:00Z");
    env.write("r/a/agent.json", manifest("a").replace("1.0.0", "1.1.0"));
    commit(&env, "2026-01-02T12:00:00Z");
    env.write("r/a/agent.json", manifest("a").replace("1.0.0", "1.1.0").replace("Made for", "Written for"));
    commit(&env, "2026-01-03T12:00:00Z");
    std::fs::remove_dir_all(env.path("r/b")).unwrap();
    commit(&env, "2026-01-04T12:00:00Z");
    env
}

fn commit(env: &Env, time: &str) {
    env.git(&["add", "-A"]);
    let mut command = std::process::Command::new("git");
    command.args(["-c", "user.name=Test", "-c", "user.email=test@example.com", "commit", "-q", "-m", "x"]);
    command.env("GIT_COMMITTER_DATE", time).env("GIT_AUTHOR_DATE", "2001-01-01T00:00:00Z").current_dir(env.path("r"));
    assert!(command.status().unwrap().success());
}

fn events(path: &Path) -> (Vec<String>, Extent) {
    let history = History::read(path).0;
    let shown = history.events().iter();
    let shown =
        shown.map(|event| format!("{} {} {} {}", event.time.day(), event.kind.as_str(), event.id, event.version));
    (shown.collect(), history.extent().clone())
}

/// The fact of an agent that has not changed since it was added.
const SINCE: &str = "<dt>In this registry since</dt>";

/// Each version leads to the release that its archives are of; a day that the configuration names takes the place of that
/// on which the agent was added.
#[test]
fn versions_lead_to_their_releases_and_agents_have_the_day_of_their_first() {
    let env = Env::with(&["a"]);
    let binary = |version: &str| {
        let archive = format!("https://github.com/o/r/releases/download/v{version}/a.tar.gz");
        let target = serde_json::json!({ "archive": archive, "cmd": "./a", "sha256": "0".repeat(64) });
        let mut manifest: Value = serde_json::from_str(&manifest("a")).unwrap();
        manifest["version"] = version.into();
        manifest["distribution"] = serde_json::json!({ "binary": {
            "linux-x86_64": target, "darwin-aarch64": target, "windows-x86_64": target,
        } });
        manifest.to_string()
    };
    env.git(&["init", "-q"]);
    for (day, version) in [("2026-01-01", "1.0.0"), ("2026-01-02", "1.1.0")] {
        env.write("r/a/agent.json", binary(version));
        commit(&env, &format!("{day}T12:00:00Z"));
    }
    env.write("r/registry.toml", "[site.appeared]\na = \"2025-06-25\"\n");
    let run = env.run(&["build", "--out", "out"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let page = env.read("out/agents/a/index.html");
    for version in ["1.0.0", "1.1.0"] {
        assert!(page.contains(&format!("href=\"https://github.com/o/r/releases/tag/v{version}\"")), "{page}");
    }
    assert!(page.contains("<dt>First release</dt><dd><time datetime=\"2025-06-25\">") && !page.contains(SINCE));
    let history: Value = serde_json::from_str(&env.read("out/history.json")).unwrap();
    assert_eq!(history["events"][1]["release"], "https://github.com/o/r/releases/tag/v1.0.0");
    env.write("r/registry.toml", "[site.appeared]\na = \"June\"\n");
    let run = env.run(&["build", "--out", "out"]);
    assert!(run.code == 2 && run.stderr.contains("is \"June\", which is not a day as 2026-12-31"), "{}", run.stderr);
}

#[test]
fn commits_tell_what_came_changed_and_went() {
    let env = env();
    let expected = [
        "2026-01-04 withdrawn b 1.0.0", "2026-01-02 updated a 1.1.0", "2026-01-01 added a 1.0.0",
        "2026-01-01 added b 1.0.0",
    ];
    assert_eq!(events(&env.path("r")), (expected.map(String::from).to_vec(), Extent::Whole));
    // Uncommitted changes have no date.
    env.write("r/a/agent.json", manifest("a").replace("1.0.0", "1.2.0"));
    env.write("r/c/agent.json", manifest("c"));
    env.write("r/c/icon.svg", crate::support::ICON);
    assert_eq!(events(&env.path("r")).0.len(), 4);
    let run = env.run(&["build", "--out", "out"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    let (a, c) = (env.read("out/agents/a/index.html"), env.read("out/agents/c/index.html"));
    assert!(a.contains(SINCE) && !a.contains("<dt>Updated</dt>") && a.contains("id=\"versions\""));
    assert!(!c.contains(SINCE) && !c.contains("id=\"versions\"") && !env.path("out/agents/c/feed.atom").exists());
    let changes = env.read("out/changes/index.html");
    assert!(changes.contains("Withdrawn</span> <span><bdi>An agent") && changes.contains("datetime=\"2026-01-04\""));
    // The published history is equal.
    let again = History::parse(env.read("out/history.json").as_bytes()).unwrap();
    assert_eq!(again, History::read(&env.path("r")).0);
}

#[test]
fn a_merge_counts_when_it_was_merged_and_a_subdirectory_is_a_registry_too() {
    let env = Env::empty().file("r/sub/a/agent.json", manifest("a")).file("r/b/agent.json", manifest("b"));
    env.git(&["init", "-q"]);
    commit(&env, "2026-01-01T12:00:00Z");
    env.git(&["checkout", "-q", "-b", "side"]);
    env.write("r/sub/c/agent.json", manifest("c"));
    commit(&env, "2026-01-02T12:00:00Z");
    env.git(&["checkout", "-q", "-"]);
    env.write("r/other", "");
    commit(&env, "2026-01-03T12:00:00Z");
    let merge =
        ["-c", "user.name=Test", "-c", "user.email=test@example.com", "merge", "-q", "--no-ff", "side", "-m", "x"];
    let mut command = std::process::Command::new("git");
    command.args(merge).env("GIT_COMMITTER_DATE", "2026-01-05T12:00:00Z").current_dir(env.path("r"));
    assert!(command.status().unwrap().success());
    let expected = ["2026-01-05 added c 1.0.0", "2026-01-01 added a 1.0.0"];
    assert_eq!(events(&env.path("r/sub")).0, expected);
}

#[test]
fn a_shallow_clone_invents_no_dates() {
    let env = env();
    let source = format!("file://{}", env.path("r").display());
    for (depth, dates) in [("1", 0), ("2", 1), ("10", 4)] {
        let clone = env.path(&format!("clone-{depth}"));
        env.git(&["clone", "-q", "--depth", depth, &source, clone.to_str().unwrap()]);
        let (events, extent) = events(&clone);
        assert_eq!(events.len(), dates, "{events:?}");
        assert_eq!(extent == Extent::Whole, dates == 4, "{extent:?}");
    }
    let run = env.run(&["--registry-dir", "clone-1", "build", "--out", "out"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    let changes = env.read("out/changes/index.html");
    assert!(
        changes.contains("history of this registry is not known") && changes.contains("The clone is shallow"),
        "{changes}"
    );
    assert!(!env.path("out/new.atom").exists() && !env.read("out/index.html").contains("new.atom"));
    assert!(!env.read("out/agents/a/index.html").contains(SINCE));
}

#[test]
fn without_git_a_file_may_tell() {
    let env = Env::with(&["a"]);
    assert!(
        matches!(History::read(&env.path("r")).0.extent(), Extent::Nothing(why) if why.contains("not in a git repository"))
    );
    assert_eq!(env.run(&["build", "--out", "out"]).code, 0);
    assert!(
        env.read("out/changes/index.html").contains("not in a git repository")
            && !env.path("out/history.json").exists()
    );
    let told = r#"{ "schema": 1, "events": [ { "time": "2026-01-02T00:00:00Z", "event": "added", "id": "a", "version": "1.0.0" } ] }"#;
    env.write("given.json", told);
    assert_eq!(env.run(&["build", "--out", "out", "--history", "given.json"]).code, 0);
    assert!(env.read("out/agents/a/index.html").contains("2026-01-02"));
    env.write("r/history.json", told.replace("01-02", "03-04"));
    assert_eq!(env.run(&["build", "--out", "out"]).code, 0);
    assert!(env.read("out/agents/a/index.html").contains("2026-03-04"));
    let updated: Value = serde_json::from_str(&env.read("out/history.json")).unwrap();
    assert_eq!(updated["events"][0]["id"], "a");
    let before = tree(&env.path("out"));
    for (text, message) in [("{", "is not JSON"), ("{}", "`schema` must be 1")] {
        env.write("given.json", text);
        let run = env.run(&["build", "--out", "out", "--history", "given.json"]);
        assert_eq!(run.code, 2);
        assert!(run.stderr.contains("given.json") && run.stderr.contains(message), "{}", run.stderr);
    }
    assert_eq!(tree(&env.path("out")), before);
}
