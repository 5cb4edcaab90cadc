//! The workflow that publishes a registry.

use std::fs;
use std::process::Command;

use crate::support::{Env, ICON, Run, manifest};
use crate::workflows::{has_jq, program, script, shell};

#[test]
fn an_agent_with_errors_stays_published_and_is_named() {
    if !has_jq("an_agent_with_errors_stays_published_and_is_named") {
        return;
    }
    let env = Env::with(&["good", "bad", "lost"]);
    env.git(&["init", "-q"]);
    assert_eq!(env.run(&["build", "--out", "published"]).code, 0);
    let (build, name) =
        (script("publish", "Build"), script("publish", "Name the agents that are not published as they are on main"));
    let published = env.path("published");
    let run = |script: &str| {
        let run = Run::of(shell(&env, script).env("PUBLISHED", &published));
        assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    };
    run(&build);
    run(&name);
    assert!(env.read("r/.result/kept.md").is_empty() && env.path("r/dist/registry.json").exists());
    fs::remove_dir_all(env.path("r/.result")).unwrap();
    env.write("r/bad/icon.svg", "<svg");
    fs::remove_file(env.path("r/lost/agent.json")).unwrap();
    // An agent that was never published has no last form, and the name of its folder may be hostile.
    env.write("r/newer/agent.json", "{");
    env.write("r/--`x`\n- y/agent.json", "{");
    run(&build);
    run(&name);
    let report = env.read("r/.result/kept.md");
    let (list, findings) = report.split_at(report.find("###").unwrap());
    for line in ["- `bad` keeps its last published form.", "- `lost` keeps its last published form."] {
        assert!(list.contains(line), "{report}");
    }
    assert!(list.contains("- `newer` is left out") && list.contains("- `--?x??-?y` is left out"), "{report}");
    assert!(findings.contains("### `bad`") && findings.contains("icon/syntax"), "{report}");
    assert!(findings.contains("### `newer`") && findings.contains("manifest/syntax"), "{report}");
    assert!(env.path("r/dist/bad.svg").exists(), "in its last form");
}

/// No variable is needed: the previous tree is at the registry's base URL.
#[test]
fn the_last_tree_is_found_by_the_address_in_the_configuration() {
    const TEST: &str = "the_last_tree_is_found_by_the_address_in_the_configuration";
    if !has_jq(TEST) {
        return;
    }
    let env = Env::with(&["good", "bad"]);
    env.git(&["init", "-q"]);
    // If git has the complete history, the published one is not requested.
    env.git(&["add", "-A"]);
    env.git(&["commit", "-q", "-m", "x"]);
    let build = script("publish", "Build");
    // Without a base URL, an agent with errors stops the build.
    env.write("r/bad/icon.svg", "<svg");
    let run = Run::of(shell(&env, &build).env("PUBLISHED", ""));
    assert!(
        run.code == 1 && run.stdout.contains("bad") && run.stderr.contains("no `base-url`"),
        "{}{}",
        run.stdout,
        run.stderr
    );
    // With a base URL, the tree is requested there.
    fs::remove_dir_all(env.path("r/.result")).unwrap();
    env.write("r/registry.toml", "base-url = \"https://127.0.0.1:1/r\"\n");
    let run = Run::of(shell(&env, &build).env("PUBLISHED", ""));
    assert!(run.code == 3 && run.stdout.contains("127.0.0.1:1"), "{}{}", run.stdout, run.stderr);
    // `FIRST` says that no tree is published yet; an agent with errors then has no earlier form.
    fs::remove_dir_all(env.path("r/.result")).unwrap();
    let run = Run::of(shell(&env, &build).env("PUBLISHED", "").env("FIRST", "true"));
    assert!(run.code == 1 && run.stdout.contains("no earlier form"), "{}{}", run.stdout, run.stderr);
    // If no previous form is needed, the tree is not requested, so that a first publication works.
    fs::remove_dir_all(env.path("r/.result")).unwrap();
    env.write("r/bad/icon.svg", ICON);
    let run = Run::of(shell(&env, &build).env("PUBLISHED", ""));
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    let run = Run::of(&mut shell(&env, &script("publish", "Say what changes")));
    assert_eq!((run.code, env.read("GITHUB_OUTPUT").as_str()), (0, "changes=0\n"), "{}", run.stderr);
}

#[test]
fn what_changes_is_said_also_the_first_time() {
    const TEST: &str = "what_changes_is_said_also_the_first_time";
    if !has_jq(TEST) {
        return;
    }
    let env = Env::with(&["good"]);
    let say = script("publish", "Say what changes");
    env.write("r/.result/build.json", r#"{ "previous": null }"#);
    assert_eq!(env.run(&["build", "--out", "published"]).code, 0);
    let run = Run::of(&mut shell(&env, &say));
    assert_eq!((run.code, env.read("GITHUB_OUTPUT").as_str()), (0, "changes=0\n"), "{}", run.stderr);
    let other = Env::with(&["good", "newer"]);
    assert_eq!(other.run(&["build", "--out", "r/dist"]).code, 0);
    let published = serde_json::json!({ "previous": env.path("published") });
    other.write("r/.result/build.json", published.to_string());
    let run = Run::of(&mut shell(&other, &say));
    assert_eq!((run.code, other.read("GITHUB_OUTPUT").as_str()), (0, "changes=1\n"), "{}", run.stderr);
    assert!(other.read("r/.result/notes.md").contains("newer"));
}

#[test]
fn snapshots_stay_on_the_branch_of_github_pages() {
    let add = script("publish", "Add the tree to the branch");
    let env = Env::with(&["good"]);
    program(&env, "gh", "exit 0");
    let bare = env.path("origin.git");
    env.git(&["init", "-q", "--bare", bare.to_str().unwrap()]);
    env.git(&["init", "-q"]);
    env.git(&["remote", "add", "origin", bare.to_str().unwrap()]);
    let publish = |message: &str| {
        env.git(&["add", "--all"]);
        env.git(&["commit", "-qm", message, "--allow-empty"]);
        assert_eq!(env.run(&["build", "--out", "r/dist"]).code, 0);
        let _ = fs::remove_dir_all(env.path("temp/site"));
        let run = Run::of(shell(&env, &add).env("KEEP", "30d").env("GITHUB_SHA", "0123456789abcdef"));
        assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    };
    let git = |arguments: &[&str]| {
        let output = Command::new("git").arg("--git-dir").arg(&bare).args(arguments).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let tops = || git(&["ls-tree", "--name-only", "pages"]).lines().map(ToOwned::to_owned).collect::<Vec<_>>();
    let count = |start: &str| tops().iter().filter(|name| name.starts_with(start)).count();
    publish("one");
    assert_eq!((count("latest"), count("v2"), count("index.html"), count("good")), (1, 1, 1, 0), "{:?}", tops());
    assert!(git(&["show", "pages:index.html"]).contains("url=latest/"));
    let first = tops().into_iter().find(|name| name.starts_with("v2")).unwrap();
    let index = git(&["show", &format!("pages:{first}/registry.json")]);

    env.write("r/newer/agent.json", manifest("newer"));
    env.write("r/newer/icon.svg", ICON);
    publish("two");
    assert_eq!((count("latest"), count("v2")), (1, 2), "{:?}", tops());
    assert_eq!(git(&["show", &format!("pages:{first}/registry.json")]), index, "a snapshot never changes");
    assert!(git(&["show", "pages:latest/registry.json"]).contains("newer"));
    // The branch is what is deployed, and publishing an unchanged tree adds no commit.
    assert!(env.path(&format!("temp/site/{first}/registry.json")).exists());
    let commits = git(&["rev-list", "--count", "pages"]);
    publish("nothing new");
    assert_eq!(git(&["rev-list", "--count", "pages"]), commits);

    // If the branch cannot be read, it is not created anew.
    fs::remove_dir_all(env.path("temp/site")).unwrap();
    fs::rename(&bare, env.path("gone.git")).unwrap();
    let run = Run::of(shell(&env, &add).env("KEEP", "30d").env("GITHUB_SHA", "0123456789abcdef"));
    assert!(run.code != 0 && run.stderr.contains("origin.git"), "{}{}", run.stdout, run.stderr);
}
