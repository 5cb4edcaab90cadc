//! `new` where something is wrong: sources, ids, folders and agents.
#![cfg(unix)]

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::server::{ok, status};
use crate::support::{Run, wait_until};

use crate::new::{Place, body, left, package, usual};

#[test]
fn an_agent_that_does_not_start_is_written_and_said() {
    let new = Place::with([
        ("/npm/mute", package(&usual())),
        ("/npm/shy", package(&usual())),
        ("/npm/broken", package(&usual())),
    ]);
    let (code, document) = new.json(&["mute", "--npm", "mute"]);
    assert_eq!((code, &document["probe"]["args"]), (0, &Value::Null));
    assert_eq!(document["probe"]["tried"].as_array().unwrap().len(), 4);
    let said = left(&document);
    assert!(said.contains("; with `acp`, the agent ended"), "{document}");
    assert_eq!(said.matches("say how it is started, in `args`: with no arguments, the agent ended").count(), 1);
    let (_, document) = new.json(&["shy", "--npm", "shy"]);
    assert_eq!((&document["probe"]["verdict"], &document["probe"]["args"]), (&json!("fail"), &json!(["--acp"])));
    assert!(left(&document).contains("let people sign in: with `--acp` it answers, but"), "{document}");
    let (code, document) = new.json(&["broken", "--npm", "broken"]);
    assert_eq!((code, &document["probe"]["not_started"]["reason"]), (0, &json!("install_failed")));
    assert!(left(&document).contains("no such tarball"), "{document}");
    assert_eq!(new.files().len(), 6);
}

#[test]
fn what_strangers_say_is_bounded_and_harmless() {
    let hostile = json!({
        "description": format!("\u{1b}[31m</script>{{{{7*7}}}}\u{202e}{}", "word ".repeat(10_000)),
        "license": "x".repeat(5000), "author": { "name": "\u{200b}" }, "homepage": "javascript:alert(1)",
        "repository": "git+ssh://evil.example/../../x",
        "contributors": vec!["A\nB <x>"; 5000],
    });
    let new = Place::with([("/npm/flag", package(&hostile))]);
    let (code, document) = new.json(&["agent-x", "--npm", "flag", "--no-probe"]);
    assert_eq!(code, 0, "{document}");
    let manifest = new.manifest("agent-x");
    assert!(manifest["description"].as_str().unwrap().chars().count() <= 200);
    assert_eq!(manifest["authors"], json!(["A B"]));
    for key in ["license", "website", "repository", "license_url"] {
        assert_eq!(manifest.get(key), None, "{key}");
    }
    assert!(new.verify.env.read("r/agent-x/agent.json").len() < 2000);
    assert_eq!(new.verify.env.json(&["validate", "--deny", "warnings", "--allow", "manifest/missing-license"]).0, 0);
    let human = new.run(&["agent-y", "--npm", "flag", "--no-probe"]);
    assert!(!human.stdout.contains(['\u{1b}', '\u{202e}']), "{}", human.stdout);
}

#[test]
fn ids_obey_the_rules_and_nothing_is_asked_for_a_wrong_one() {
    let new = Place::with([("/npm/flag", package(&usual()))]);
    let long = "a".repeat(101);
    for id in ["Upper", "../x", "con", "registry", "1a", "", "a/b", "ä", &long, "-x"] {
        let run = new.run(&["--npm", "flag", "--no-probe", "--", id]);
        assert_eq!(run.code, 2, "{id}: {}", run.stderr);
        assert_eq!(run.stderr.contains("help: did you mean `upper`?"), id == "Upper", "{id}: {}", run.stderr);
    }
    // An id must be a valid folder name, whatever the configuration allows.
    new.verify.env.write("r/registry.toml", "[rules]\n\"manifest/*\" = \"allow\"\n");
    assert_eq!(new.run(&["--npm", "flag", "--no-probe", "--", "../x"]).code, 2);
    assert!(new.server.asked().is_empty());
    assert_eq!(new.files(), ["registry.toml"]);
}

#[test]
fn nothing_that_is_there_is_overwritten() {
    let new = Place::with([("/npm/flag", package(&usual()))]);
    new.verify.env.write("r/agent-x/notes.txt", "mine");
    let run = new.run(&["agent-x", "--npm", "flag", "--no-probe"]);
    assert!(run.code == 2 && run.stderr.contains("is there already; nothing was changed"), "{}", run.stderr);
    assert_eq!(new.files(), ["agent-x/notes.txt"]);
    let (_, document) = new.json(&["agent-y", "--npm", "flag", "--no-probe"]);
    let (_, again) = new.json(&["agent-yy", "--npm", "flag", "--no-probe"]);
    assert!(!left(&document).contains("look at"), "{document}");
    assert!(left(&again).contains("look at `agent-y`, which is the same package"), "{again}");
    new.verify.env.write("r/registry.toml", "[withdrawn]\nagent-w = \"gone\"\n");
    let (_, withdrawn) = new.json(&["agent-w", "--npm", "flag", "--no-probe"]);
    assert!(left(&withdrawn).contains("remove `agent-w` below `[withdrawn]`"), "{withdrawn}");
}

/// What `validate` would refuse beside the registry's other agents is not written.
#[test]
fn names_are_compared_with_those_of_other_agents() {
    let new = Place::with([("/npm/flag", package(&usual())), ("/npm/wolf", package(&json!({ "name": "wolf" })))]);
    let named = r#"{"id":"other","name":"Wolf","version":"1.0.0","description":"x","distribution":{"npx":{"package":"other@1.0.0"}}}"#;
    new.verify.env.write("r/other/agent.json", named);
    // The words of the id are a name that is free.
    let (code, document) = new.json(&["grey", "--npm", "wolf", "--no-check"]);
    assert_eq!((code, &document["manifest"]["name"]), (0, &json!("Grey")), "{document}");
    let note = "`name` of the source was left out, and made of the id: `Wolf` looks like the name `Wolf` of `other`";
    assert!(left(&document).contains(note), "{document}");
    let validated = new.verify.env.json(&["validate", "grey"]).1;
    let mut rules = validated["findings"].as_array().unwrap().iter().map(|finding| finding["rule"].as_str().unwrap());
    assert!(rules.all(|rule| rule != "registry/similar-name"), "{validated}");
    // If they are taken as well, nothing is written.
    let run = new.run(&["wolf", "--npm", "wolf", "--no-check"]);
    let is_told = run.stderr.contains("registry/similar-name: `Wolf` looks like the name `Wolf` of `other`");
    assert!(run.code == 2 && is_told && run.stderr.contains("help: choose another id"), "{}", run.stderr);
    assert!(!new.files().iter().any(|file| file.starts_with("wolf")));
    let asked = new.server.asked().len();
    let run = new.run(&["oth-er", "--npm", "flag", "--no-check"]);
    assert!(run.code == 2 && run.stderr.contains("`oth-er` looks like the id `other`"), "{}", run.stderr);
    assert_eq!(new.server.asked().len(), asked);
}

#[test]
fn what_cannot_become_an_agent_leaves_nothing() {
    let several = package(&json!({ "bin": { "a": "a.js", "b": "b.js" } }));
    let odd = body(
        &json!({ "dist-tags": { "latest": "--x" }, "versions": { "--x": { "bin": "x" }, "1.0.0-rc.1": { "bin": "x" } } }),
    );
    let new = Place::with([
        ("/npm/several", several),
        ("/npm/none", package(&json!({ "bin": null }))),
        ("/npm/odd", odd),
        ("/npm/html", ok("<html>")),
        ("/npm/down", status(500)),
        ("/py/simple/empty/", body(&json!({ "files": [] }))),
    ]);
    for (source, name, code, message) in [
        ("--npm", "absent", 3, "npm has no package `absent`"),
        ("--npm", "several", 2, "2 commands (`a`, `b`), and npx cannot choose"),
        ("--npm", "none", 2, "has no command"),
        ("--npm", "odd", 2, "for the newest one, write `odd@1.0.0-rc.1`"),
        ("--npm", "odd@latest", 2, "is not a version that npx accepts"),
        ("--npm", "several@^1", 2, "is not a complete version"),
        ("--npm", "several@3.0.0", 2, "npm has no version `3.0.0` of `several`\nhelp: the newest version is `1.2.0`"),
        ("--npm", "../x", 2, "names a place to load code from"),
        ("--npm", "html", 3, "did not answer with"),
        ("--npm", "down", 3, "500"),
        ("--pypi", "absent", 3, "the Python index has no project `absent`"),
        ("--pypi", "empty", 2, "has no versions"),
        ("--pypi", "--x", 2, ""),
    ] {
        let run = new.run(&["agent-x", source, name]);
        assert!(run.code == code && run.stderr.contains(message), "{name}: {} {}", run.code, run.stderr);
        new.assert_nothing_written();
    }
    let run = new.run(&["agent-x"]);
    assert!(run.code == 2 && run.stderr.contains("--npm"), "{}", run.stderr);
    let (code, document) = new.json(&["agent-x", "--npm", "absent"]);
    let error = &document["error"];
    assert_eq!((code, &document["command"], &error["code"]), (3, &json!("new"), &json!("package_not_found")));
    assert!(error["help"].as_str().is_some_and(|help| help.starts_with("correct the name")), "{error}");
    let (code, document) = new.json(&["agent-x", "--npm", "several@3.0.0"]);
    let error = &document["error"];
    assert_eq!((code, &error["code"], &error["suggestions"]), (2, &json!("unknown_version"), &json!(["1.2.0"])));
}

#[test]
fn an_interrupted_run_leaves_nothing() {
    let new = Place::with([("/npm/endless", package(&usual()))]);
    let mut child = new.command(&["agent-x", "--npm", "endless"]).spawn().unwrap();
    wait_until("the package manager is started", || new.verify.env.path("bin/started").exists());
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    new.verify.assert_clean();
    new.assert_nothing_written();
}

#[test]
fn a_registry_that_cannot_be_written_is_said() {
    let new = Place::with([("/npm/flag", package(&usual()))]);
    let run = Run::of(
        new.command(&["--registry-dir", "nowhere", "agent-x", "--npm", "flag", "--no-probe"])
            .current_dir(new.verify.env.path("")),
    );
    assert!(run.code == 3 && run.stderr.contains("nowhere"), "{}", run.stderr);
}
