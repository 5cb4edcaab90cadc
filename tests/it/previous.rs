//! `build --previous URL`.

use serde_json::{Value, json};

use crate::server::Server;
use crate::support::{Env, ICON, manifest, tree};

/// A registry whose agent `a` now has an error, and the files of the previous tree.
fn failing() -> (Env, Vec<(String, Vec<u8>)>) {
    let env = Env::with(&["a", "b"]);
    env.run(&["build", "--out", "old", "--no-site"]);
    env.write("r/a/icon.svg", "<svg");
    let files = tree(&env.path("old"));
    (env, files)
}

#[test]
fn the_last_form_comes_from_the_web() {
    let (env, files) = failing();
    let server = Server::with_files(files);
    for address in [format!("http://{}/r", server.host), format!("http://{}/r/", server.host)] {
        let run =
            env.run(&["--allow-host", &server.host, "build", "--out", "new", "--no-site", "--previous", &address]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert!(run.stdout.starts_with("wrote new "), "{}", run.stdout);
        assert!(run.stderr.contains("a keeps its last published form: it has errors"), "{}", run.stderr);
        assert_eq!(env.read("new/a.svg"), ICON);
    }
    assert_eq!(server.asked()[..2], ["/r/registry.json", "/r/a.svg"]);
}

#[test]
fn no_tree_is_requested_when_nothing_fails() {
    let env = Env::with(&["a"]);
    let server = Server::with_files(Vec::new());
    let address = format!("http://{}/r", server.host);
    assert_eq!(
        env.run(&["--allow-host", &server.host, "build", "--out", "o", "--no-site", "--previous", &address]).code,
        0
    );
    assert_eq!(server.asked(), [] as [String; 0]);
}

#[test]
fn private_hosts_need_permission_also_behind_a_redirect() {
    let (env, files) = failing();
    let target = Server::with_files(files);
    let elsewhere = ("Location", format!("http://{}/r/registry.json", target.host));
    let server = Server::start([("/r/registry.json".to_owned(), (302, vec![elsewhere], Vec::new()))]);
    let address = format!("http://{}/r", server.host);
    let build = ["build", "--out", "new", "--no-site", "--previous", &address];

    let run = env.run(&build);
    assert_eq!(run.code, 3);
    assert!(run.stderr.contains("is refused") && run.stderr.contains("--allow-host"), "{}", run.stderr);
    assert_eq!(server.asked(), [] as [String; 0]);

    let run = env.run(&[&["--allow-host", &server.host], &build[..]].concat());
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(run.stderr.contains(&target.host) && run.stderr.contains("is refused"), "{}", run.stderr);
    assert_eq!(target.asked(), [] as [String; 0]);
}

#[test]
fn a_host_that_fails_is_told_from_one_that_has_nothing() {
    let (env, _) = failing();
    let loop_back = ("Location", "/r/registry.json".to_owned());
    for (answer, code, part) in [
        ((500, vec![], vec![]), 3, "answers 500"),
        ((403, vec![], vec![]), 3, "answers 403"),
        ((302, vec![], vec![]), 3, "answers 302"),
        ((302, vec![loop_back], vec![]), 3, "redirects more than 10 times"),
        ((200, vec![], b"<html>".to_vec()), 3, "registry.json of the previous tree"),
        ((404, vec![], vec![]), 1, "errors in a, and the previous tree has no registry.json"),
    ] {
        let server = Server::start([("/r/registry.json".to_owned(), answer)]);
        let address = format!("http://{}/r", server.host);
        let run =
            env.run(&["--allow-host", &server.host, "build", "--out", "new", "--no-site", "--previous", &address]);
        assert_eq!(run.code, code, "{}", run.stderr);
        assert!(run.stderr.contains(part), "{part}: {}", run.stderr);
        assert!(!env.path("new").exists());
    }
    // A port that no server uses.
    let run = env.run(&["--allow-host", "127.0.0.1:1", "build", "--out", "new", "--previous", "http://127.0.0.1:1/r"]);
    assert_eq!(run.code, 3);
    assert!(run.stderr.contains("cannot be reached"), "{}", run.stderr);
    for address in ["http://", "ftp://host.example/r", "file://host/x"] {
        let code = env.run(&["build", "--out", "new", "--previous", address]).code;
        assert!([2, 3].contains(&code), "{address}: {code}");
    }
}

/// The events of a tree: day, event and agent.
fn events(env: &Env, folder: &str) -> Vec<String> {
    let history: Value = serde_json::from_str(&env.read(&format!("{folder}/history.json"))).unwrap();
    let text = |event: &Value, key: &str| event[key].as_str().unwrap().to_owned();
    let shown =
        |event| [text(event, "time"), text(event, "event"), text(event, "id"), text(event, "version")].join(" ");
    history["events"].as_array().unwrap().iter().map(shown).collect()
}

#[test]
fn the_history_of_a_registry_without_git_is_that_of_its_publications() {
    let env = Env::with(&["a", "b"]);
    let build = |out: &str, previous: &str, seconds: &str| {
        let mut command = env.command(&["build", "--out", out, "--previous", previous]);
        let run = crate::support::Run::of(command.env("SOURCE_DATE_EPOCH", seconds));
        assert_eq!(run.code, 0, "{}", run.stderr);
    };
    assert_eq!(env.run(&["build", "--out", "one"]).code, 0);
    assert!(!env.path("one/history.json").exists());
    build("same", "one", "1000000000");
    assert!(!env.path("same/history.json").exists(), "nothing has happened");
    env.write("r/a/agent.json", manifest("a").replace("1.0.0", "1.1.0"));
    build("two", "one", "1000000000");
    assert_eq!(events(&env, "two"), ["2001-09-09T01:46:40Z updated a 1.1.0"]);
    assert!(env.read("two/updated.atom").contains("2001-09-09T01:46:40Z"));
    assert!(env.read("two/changes/index.html").contains("The history does not go back to the beginning."));
    // A build on top of its own result changes nothing.
    build("again", "two", "1700000000");
    assert!(tree(&env.path("again")) == tree(&env.path("two")));
    std::fs::remove_dir_all(env.path("r/b")).unwrap();
    build("three", "two", "1000086400");
    let expected = ["2001-09-10T01:46:40Z withdrawn b 1.0.0", "2001-09-09T01:46:40Z updated a 1.1.0"];
    assert_eq!(events(&env, "three"), expected);
    // A history file in the registry takes precedence.
    env.write("r/history.json", r#"{"schema":1,"events":[]}"#);
    build("own", "two", "1000086400");
    assert_eq!(events(&env, "own"), [] as [String; 0]);
    std::fs::remove_file(env.path("r/history.json")).unwrap();
    // Continuing would silently lose the published history.
    env.write("two/history.json", "{");
    let run = env.run(&["build", "--out", "four", "--previous", "two"]);
    assert!(run.code == 3 && run.stderr.contains("history.json of the previous tree is not JSON"), "{}", run.stderr);
    let run = crate::support::Run::of(
        env.command(&["build", "--out", "four", "--previous", "one"]).env("SOURCE_DATE_EPOCH", "soon"),
    );
    assert!(run.code == 2 && run.stderr.contains("SOURCE_DATE_EPOCH"), "{}", run.stderr);
    assert!(!env.path("four").exists());
}

#[test]
fn a_shallow_clone_goes_on_with_the_published_history() {
    let env = Env::with(&["a"]);
    let commit = |message: &str, time: &str| {
        env.git(&["add", "-A"]);
        env.git(&["-c", "core.hooksPath=/dev/null", "commit", "-q", "-m", message, "--date", time]);
    };
    env.git(&["init", "-q"]);
    commit("one", "2026-01-01T12:00:00Z");
    assert_eq!(env.run(&["build", "--out", "one"]).code, 0);
    let first = events(&env, "one");
    assert_eq!(first.len(), 1);
    env.write("r/b/agent.json", manifest("b"));
    env.write("r/b/icon.svg", ICON);
    commit("two", "2026-01-02T12:00:00Z");
    let from = format!("file://{}", env.path("r").display());
    let to = env.path("clone");
    env.git(&["clone", "-q", "--depth", "1", &from, to.to_str().unwrap()]);
    let mut command = env.command(&["--registry-dir", "clone", "build", "--out", "two", "--previous", "one"]);
    let run = crate::support::Run::of(command.env("SOURCE_DATE_EPOCH", "4000000000"));
    assert_eq!(run.code, 0, "{}", run.stderr);
    let second = events(&env, "two");
    assert_eq!((&second[1..], second[0].as_str()), (&first[..], "2096-10-02T07:06:40Z added b 1.0.0"));
    assert!(!env.read("two/history.json").contains("incomplete"));
}

pub(crate) fn build(env: &Env, arguments: &[&str]) -> Value {
    let (code, report) = env.json(&[&["build", "--out", "new", "--no-site", "--previous", "old"], arguments].concat());
    assert_eq!(code, 0, "{report}");
    report
}

#[test]
fn the_published_tree_is_found_by_the_address_of_the_registry() {
    let (env, files) = failing();
    let server = Server::with_files(files);
    let address = format!("http://{}/r", server.host);
    let arguments = ["--allow-host", &server.host, "build", "--out", "new", "--no-site", "--previous"];
    // Without a URL there is no previous tree, and the public registry's is not used.
    let run = env.run(&arguments);
    assert!(run.code == 1 && run.stderr.contains("no `base-url`"), "{}", run.stderr);
    env.write("r/registry.toml", format!("base-url = \"{address}\"\n"));
    let (code, report) = env.json(&arguments);
    assert_eq!((code, &report["previous"], &report["kept"]), (0, &json!(address), &json!(["a"])));
    env.write("r/registry.toml", "");
    let (code, report) = env.json(&[&arguments[..], &["--base-url", &address]].concat());
    assert_eq!((code, &report["previous"], &report["kept"]), (0, &json!(address), &json!(["a"])));
}
