//! What becomes of single entries of the earlier tree: errors, withdrawals and icons.

use serde_json::{Value, json};

use crate::previous::build;
use crate::server::Server;
use crate::support::{Env, ICON, manifest, tree};

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
