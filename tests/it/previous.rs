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
fn nobody_is_asked_when_nothing_fails() {
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

fn build(env: &Env, arguments: &[&str]) -> Value {
    let (code, report) = env.json(&[&["build", "--out", "new", "--no-site", "--previous", "old"], arguments].concat());
    assert_eq!(code, 0, "{report}");
    report
}

fn published(env: &Env) -> Vec<String> {
    let index: Value = serde_json::from_str(&env.read("new/registry.json")).unwrap();
    let version = |agent: &Value| format!("{} {}", agent["id"].as_str().unwrap(), agent["version"].as_str().unwrap());
    index["agents"].as_array().unwrap().iter().map(version).collect()
}

/// A registry with these agents, published in `old`.
fn with_old(ids: &[&str]) -> Env {
    let env = Env::with(ids);
    assert_eq!(env.run(&["build", "--out", "old", "--no-site"]).code, 0);
    env
}

#[test]
fn a_new_agent_with_errors_holds_up_nobody() {
    let env = with_old(&["a", "b"]);
    env.write("r/a/agent.json", manifest("a").replace("1.0.0", "1.1.0"));
    env.write("r/b/icon.svg", "<svg");
    env.write("r/new/agent.json", "{");
    env.write("r/No Id/agent.json", manifest("No Id"));
    let report = build(&env, &[]);
    assert_eq!((&report["kept"], &report["left_out"]), (&json!(["b"]), &json!(["No Id", "new"])));
    assert_eq!((&report["summary"]["kept"], &report["summary"]["left_out"]), (&json!(1), &json!(2)));
    let statuses = report["agents"].as_array().unwrap().iter().map(|agent| agent["status"].as_str().unwrap());
    assert_eq!(statuses.collect::<Vec<_>>(), ["left_out", "published", "kept", "left_out"]);
    assert_eq!(published(&env), ["a 1.1.0", "b 1.0.0"]);
    let run = env.run(&["build", "--out", "new", "--no-site", "--previous", "old"]);
    assert!(
        run.code == 0 && run.stderr.contains("new is left out: it has errors and was never published"),
        "{}",
        run.stderr
    );
    assert!(run.stderr.contains("b keeps its last published form: it has errors\n"), "{}", run.stderr);
    assert!(run.stdout.contains("wrote new (2 agents, "), "{}", run.stdout);
    // With `--strict` these are errors, which a quiet run also prints.
    let run = env.run(&["-q", "build", "--out", "new", "--no-site", "--previous", "old", "--strict"]);
    let reasons = ["error: b keeps its last published form", "error: new is left out"];
    assert!(run.code == 1 && reasons.iter().all(|reason| run.stderr.contains(reason)), "{}", run.stderr);
    // `--strict` changes the exit code, but not the tree.
    std::fs::remove_dir_all(env.path("new")).unwrap();
    assert_eq!(env.json(&["build", "--out", "new", "--no-site", "--previous", "old", "--strict"]).0, 1);
    assert_eq!(published(&env), ["a 1.1.0", "b 1.0.0"]);
    assert_eq!(env.run(&["build", "--out", "new", "--strict"]).code, 2);
    // Without a previous tree, it is not known whether an agent was published: a wrong URL must not withdraw any.
    for previous in [&[][..], &["--previous", "r"]] {
        let run = env.run(&[&["build", "--out", "other", "--no-site"], previous].concat());
        assert!(run.code == 1 && run.stderr.contains("nothing is published\nhelp: "), "{previous:?}: {}", run.stderr);
        assert!(!env.path("other").exists());
    }
}

#[test]
fn an_unsafe_earlier_form_is_left_out_and_named() {
    let env = with_old(&["a", "b"]);
    env.write("r/a/icon.svg", "<svg");
    let old = env.read("old/registry.json").replacen("a@1.0.0", "--registry=https://evil.example a", 1);
    env.write("old/registry.json", old);
    let run = env.run(&["build", "--out", "new", "--no-site", "--previous", "old"]);
    assert!(
        run.code == 0 && run.stderr.contains("its published form breaks distribution/unsafe-package-spec"),
        "{}",
        run.stderr
    );
    assert_eq!(published(&env), ["b 1.0.0"]);
}

#[test]
fn a_manifest_that_is_lost_or_renamed_withdraws_nothing() {
    let env = with_old(&["a", "b", "c", "d", "e", "f"]);
    // Deleted; under another name; a renamed folder; another id in the same folder; a removed folder.
    std::fs::remove_file(env.path("r/a/agent.json")).unwrap();
    std::fs::rename(env.path("r/b/agent.json"), env.path("r/b/agents.json")).unwrap();
    std::fs::rename(env.path("r/c"), env.path("r/c-renamed")).unwrap();
    env.write("r/d/agent.json", manifest("other"));
    std::fs::remove_dir_all(env.path("r/e")).unwrap();
    env.write("r/notes/README.md", "not an agent");
    let report = build(&env, &[]);
    assert_eq!((&report["kept"], &report["left_out"]), (&json!(["a", "b", "c", "d"]), &json!(["c-renamed"])));
    assert_eq!(published(&env), ["a 1.0.0", "b 1.0.0", "c 1.0.0", "d 1.0.0", "f 1.0.0"]);
    assert_eq!(env.read("new/a.svg"), ICON);
    let findings = report["findings"].as_array().unwrap();
    let told = |file: &str| findings.iter().find(|one| one["file"] == file).unwrap();
    assert_eq!(told("a")["message"], "the folder has no agent.json; its agent keeps its last published form");
    assert!(told("a")["help"].as_str().unwrap().contains("[withdrawn]"), "{}", told("a"));
    assert_eq!(told("b")["help"], "rename `agents.json` to agent.json");
    assert!(told("notes")["message"].as_str().unwrap().ends_with("is not published"), "{}", told("notes"));
    let run = env.run(&["build", "--out", "new", "--no-site", "--previous", "old"]);
    for why in [
        "a keeps its last published form: its folder has no agent.json",
        "c keeps its last published form: its folder has another name now",
    ] {
        assert!(run.stderr.contains(why), "{}", run.stderr);
    }
    // Nor does a place without a tree: a directory is refused, and a URL without an index causes a message that names it.
    std::fs::rename(env.path("r/d"), env.path("d")).unwrap();
    std::fs::rename(env.path("r/c-renamed"), env.path("c")).unwrap();
    env.write("else/old/registry.json", env.read("old/registry.json"));
    let run = env.run(&["build", "--out", "other", "--no-site", "--previous", "else"]);
    assert!(run.code == 3 && run.stderr.contains("else: there is no registry.json in this folder"), "{}", run.stderr);
    assert!(!env.path("other").exists());
    let server = Server::with_files(Vec::new());
    let address = format!("http://{}/r", server.host);
    let first = ["--allow-host", &server.host, "build", "--out", "other", "--no-site", "--previous", &address];
    let warned = format!("nothing is published at {address}: no agent keeps an earlier form");
    let run = env.run(&first);
    assert!(run.code == 0 && run.stderr.contains(&format!("warning: {warned}")), "{}", run.stderr);
    let run = env.run(&[&first[..], &["--strict"]].concat());
    assert!(run.code == 1 && run.stderr.contains(&format!("error: {warned}")), "{}", run.stderr);
    std::fs::rename(env.path("d"), env.path("r/d")).unwrap();
    std::fs::rename(env.path("c"), env.path("r/c-renamed")).unwrap();
    // Nor does a registry that has only folders left.
    for id in ["c-renamed", "d", "f", "notes"] {
        std::fs::remove_dir_all(env.path(&format!("r/{id}"))).unwrap();
    }
    build(&env, &[]);
    assert_eq!(published(&env), ["a 1.0.0", "b 1.0.0"]);
    // A rule that this registry turns into an error changes nothing.
    env.write("r/registry.toml", "[rules]\n\"registry/stray-entry\" = \"deny\"\n");
    build(&env, &[]);
    assert_eq!(env.run(&["build", "--out", "new", "--no-site"]).code, 1);
}

#[test]
fn an_agent_is_withdrawn_by_its_folder_or_by_the_configuration() {
    let env = with_old(&["a", "b", "c", "d"]);
    std::fs::remove_file(env.path("r/b/agent.json")).unwrap();
    env.write("r/c/agent.json", "{");
    std::fs::rename(env.path("r/d"), env.path("r/e")).unwrap();
    env.write("r/registry.toml", "[withdrawn]\nb = \"gone\"\nc = \"its publisher asked for it\"\nd = \"renamed\"\n");
    let report = build(&env, &[]);
    assert_eq!((&report["kept"], &report["left_out"]), (&json!([]), &json!(["e"])));
    assert_eq!(published(&env), ["a 1.0.0"]);
    assert!(!env.path("new/c.svg").exists());
    // A withdrawn agent with errors does not stop the build, and a valid one is not published either.
    std::fs::remove_dir_all(env.path("r/e")).unwrap();
    let run = env.run(&["build", "--out", "new", "--no-site"]);
    assert!(
        run.code == 0 && run.stderr.contains("c is not published: registry.toml names it as withdrawn"),
        "{}",
        run.stderr
    );
    // A check of the whole registry skips it; a check by its id reports its errors.
    let (code, report) = env.json(&["validate"]);
    assert_eq!((code, &report["notes"]), (0, &json!(["not checked because they are withdrawn: 1 (`c`)"])));
    assert_eq!(report["agents"][1], json!({ "id": "c", "status": "skipped" }));
    assert_eq!(env.run(&["validate", "c"]).code, 1);
    env.write("r/c/agent.json", manifest("c"));
    assert_eq!(env.json(&["build", "--out", "new", "--no-site"]).1["agents"][1]["status"], "withdrawn");
    assert_eq!(published(&env), ["a 1.0.0"]);
    // No agent is left to publish.
    env.write("r/registry.toml", "[withdrawn]\na = \"x\"\nb = \"x\"\nc = \"x\"\n");
    let run = env.run(&["build", "--out", "new", "--no-site"]);
    assert!(run.code == 2 && run.stderr.contains("are withdrawn; nothing is published"), "{}", run.stderr);
    let run = env.run(&["verify"]);
    assert!(run.stdout.contains("registry.toml withdraws all of them"), "{}{}", run.stdout, run.stderr);
    assert_eq!(env.run(&["build", "--out", "new", "--no-site", "--previous", "old"]).code, 2);
    assert_eq!(published(&env), ["a 1.0.0"]);
}

#[test]
fn a_lost_icon_keeps_the_earlier_one() {
    let env = with_old(&["a", "b", "c"]);
    env.write("r/a/agent.json", manifest("a").replace("1.0.0", "1.1.0"));
    std::fs::remove_file(env.path("r/a/icon.svg")).unwrap();
    env.write("r/newer/agent.json", manifest("newer"));
    let report = build(&env, &[]);
    assert_eq!((&report["kept_icons"], &report["kept"], &report["left_out"]), (&json!(["a"]), &json!([]), &json!([])));
    assert_eq!((env.read("new/a.svg").as_str(), env.path("new/newer.svg").exists()), (ICON, false));
    assert_eq!(published(&env)[0], "a 1.1.0");
    let index: Value = serde_json::from_str(&env.read("new/registry.json")).unwrap();
    assert!(index["agents"][0]["icon"].as_str().unwrap().ends_with("/a.svg"));
    // If an icon is required, the previous icon counts, and an agent that never had one is left out.
    env.write("r/registry.toml", "[rules]\n\"icon/missing\" = \"deny\"\n");
    let report = build(&env, &[]);
    assert_eq!((&report["kept_icons"], &report["left_out"]), (&json!(["a"]), &json!(["newer"])));
    assert_eq!(published(&env), ["a 1.1.0", "b 1.0.0", "c 1.0.0"]);
    // A previous icon must follow the current rules, and the index tells whether there is one.
    env.write("r/registry.toml", "");
    env.write("old/a.svg", ICON.replace("<path", "<script/><path"));
    assert_eq!(build(&env, &[])["kept_icons"], json!([]));
    assert!(!env.path("new/a.svg").exists());
    // An icon is optional: if none can be looked up, a note is printed, and the build continues.
    let server = Server::start([("/r/registry.json".to_owned(), (403, Vec::new(), Vec::new()))]);
    let address = format!("http://{}/r", server.host);
    let run = env.run(&["--allow-host", &server.host, "build", "--out", "new", "--no-site", "--previous", &address]);
    assert!(
        run.code == 0 && run.stderr.contains("published without an icon") && run.stderr.contains("403"),
        "{}",
        run.stderr
    );
}

#[test]
fn only_icons_that_an_index_names_are_asked_for() {
    let env = Env::with(&["a", "b"]);
    std::fs::remove_file(env.path("r/a/icon.svg")).unwrap();
    env.run(&["build", "--out", "old", "--no-site"]);
    env.write("r/a/agent.json", "{");
    let files = tree(&env.path("old")).into_iter().map(|(name, body)| (format!("/r/{name}"), (200, Vec::new(), body)));
    // Like a store that answers 403 for missing files.
    let files = files.chain([("/r/a.svg".to_owned(), (403, Vec::new(), Vec::new()))]);
    let server = Server::start(files);
    let address = format!("http://{}/r", server.host);
    let run = env.run(&["--allow-host", &server.host, "build", "--out", "new", "--no-site", "--previous", &address]);
    assert_eq!((run.code, server.asked()), (0, vec!["/r/registry.json".to_owned()]), "{}", run.stderr);
}

#[test]
fn an_unreadable_quarantine_list_stops_no_publication() {
    let env = with_old(&["a"]);
    env.write("r/quarantine.json", "{");
    env.write("r/a/agent.json", manifest("a").replace("1.0.0", "1.1.0"));
    build(&env, &[]);
    assert_eq!(published(&env), ["a 1.1.0"]);
    let run = env.run(&["build", "--out", "new", "--no-site", "--previous", "old"]);
    assert!(run.stderr.contains("error[registry/quarantine]"), "{}", run.stderr);
    // It does not release any agent either.
    for command in [&["build", "--out", "new", "--no-site"][..], &["validate"], &["verify"], &["bump"]] {
        assert_ne!(env.run(command).code, 0, "{command:?}");
    }
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
