//! `diff`: the changes between two published trees.

use crate::server::{Server, not_found, ok};
use crate::support::{Env, ICON, manifest, tree};

/// Two published trees: `a` is unchanged, `b` removed, `c` edited, `d` updated, `e` added.
fn env() -> Env {
    let env = Env::with(&["a", "b", "c", "d"]);
    assert_eq!(env.run(&["build", "--out", "old", "--no-site"]).code, 0);
    std::fs::remove_dir_all(env.path("r/b")).unwrap();
    env.write("r/c/agent.json", manifest("c").replace("Made for", "Written for"));
    env.write("r/d/agent.json", manifest("d").replace("1.0.0", "1.1.0"));
    env.write("r/e/agent.json", manifest("e").replace("An agent e", "Agent *E* <img src=x> @all"));
    env.write("r/e/icon.svg", ICON);
    assert_eq!(env.run(&["build", "--out", "new", "--no-site"]).code, 0);
    env
}

#[test]
fn two_trees_are_compared_by_agent() {
    let env = env();
    let run = env.run(&["diff", "old", "new"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    let expected = "+ e 1.0.0\n- b 1.0.0\n~ c 1.0.0 (/description)\n\
                    ~ d 1.0.0 → 1.1.0 (/version, /distribution/npx/package)\n1 agent added, 2 updated, 1 removed\n";
    assert_eq!(run.stdout, expected);
    let (code, report) = env.json(&["diff", "old/registry.json", "new/"]);
    assert_eq!((code, &report["command"], &report["summary"]["updated"]), (0, &"diff".into(), &2.into()));
    assert_eq!(report["added"][0]["id"], "e");
    assert_eq!(report["removed"][0], serde_json::json!({ "id": "b", "name": "An agent b", "version": "1.0.0" }));
    assert_eq!((&report["updated"][1]["from"], &report["updated"][1]["to"]), (&"1.0.0".into(), &"1.1.0".into()));
    assert_eq!(report["updated"][0]["fields"], serde_json::json!(["/description"]));
    env.write("report.json", env.run(&["validate", "--json"]).stdout);
    let run = env.run(&["diff", "old", "report.json"]);
    assert!(run.code == 3 && run.stderr.contains("it is the document of a command of acp-registry"), "{}", run.stderr);
    let run = env.run(&["diff", "new", "new"]);
    assert_eq!((run.code, run.stdout.as_str()), (0, "no agent has changed\n"));
}

#[test]
fn release_notes_quote_what_strangers_wrote() {
    let env = env();
    let run = env.run(&["diff", "old", "new", "--format", "markdown"]);
    let expected = "### New agents\n\n- **Agent `*E* <img src=x> @all`** (`e`) 1.0.0\n\n\
                    ### New versions\n\n- **An agent d** (`d`) 1.0.0 → 1.1.0\n\n\
                    ### Changed entries\n\n- **An agent c** (`c`): /description\n\n\
                    ### Withdrawn agents\n\n- **An agent b** (`b`) 1.0.0\n";
    assert_eq!((run.code, run.stdout.as_str()), (0, expected));
    assert_eq!(env.run(&["diff", "new", "new", "--format", "markdown"]).stdout, "No agent has changed.\n");
    let many: Vec<String> = (0..5000).map(|number| format!(r#"{{"id":"agent-{number}","name":"{number}"}}"#)).collect();
    env.write("many.json", format!(r#"{{"agents":[{}]}}"#, many.join(",")));
    env.write("none.json", r#"{"agents":[]}"#);
    let notes = env.run(&["diff", "none.json", "many.json", "--format", "markdown"]).stdout;
    assert!(notes.len() < 101_000 && notes.contains(" more did not fit."), "{} characters", notes.len());
}

#[test]
fn a_broken_entry_hides_no_other_and_is_named() {
    let env = env();
    env.write("x.json", "{\"agents\":[7,{\"id\":\"\\u001b[31mx\",\"version\":{}},{\"id\":\"y\",\"version\":\"1\"}]}");
    env.write("none.json", r#"{"agents":[]}"#);
    let run = env.run(&["diff", "none.json", "x.json"]);
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (0, "+ \\u{1b}[31mx (no version)\n+ y 1\n2 agents added, 0 updated, 0 removed\n")
    );
    assert!(run.stderr.contains("x.json: entry 1 is passed over: it has no id"), "{}", run.stderr);
    for (wrong, code, why) in [
        ("no-such", 3, "no-such: there is no such file"),
        ("r", 3, "r: there is no registry.json in this folder"),
        ("r/a/icon.svg", 3, "r/a/icon.svg is not a registry index"),
        ("ftp://h.example/", 2, "ftp"),
    ] {
        let run = env.run(&["diff", "old", wrong]);
        assert_eq!((run.code, run.stdout.as_str()), (code, ""), "{wrong}");
        assert!(run.stderr.contains(why), "{wrong}: {}", run.stderr);
    }
    let (code, report) = env.json(&["diff", "no-such", "new"]);
    assert_eq!((code, &report["error"]["exit_code"]), (3, &3.into()));
}

#[test]
fn what_cannot_be_read_has_not_gone_and_what_goes_back_is_marked() {
    let env = env();
    let deep = format!(r#"{{"x":{}{},"id":"deep"}}"#, "[".repeat(500), "]".repeat(500));
    let up = r#"{"id":"up","version":"1.10.0"},{"id":"odd","version":7}"#;
    let down = r#"{"id":"up","version":"1.9.0"},{"id":"odd","version":"1.0.0"}"#;
    env.write("new.json", format!(r#"{{"agents":[{up},{{"id":"deep","version":"1.0.0"}}]}}"#));
    env.write("old.json", format!(r#"{{"agents":[{down},{deep}]}}"#));
    let run = env.run(&["diff", "new.json", "old.json"]);
    let expected = "~ odd (no version) → 1.0.0 (/version)\n~ up 1.10.0 → 1.9.0, older (/version)\n\
                    0 agents added, 2 updated, 0 removed\n";
    assert_eq!((run.code, run.stdout.as_str()), (0, expected));
    assert!(run.stderr.contains("old.json: entry 3 is passed over: `deep` cannot be read"), "{}", run.stderr);
    let run = env.run(&["diff", "new.json", "old.json", "--format", "markdown"]);
    let expected = "### New versions\n\n- **`odd`** (no version) → 1.0.0\n\n\
                    ### Back to older versions\n\n- **`up`** 1.10.0 → 1.9.0\n";
    assert_eq!((run.code, run.stdout.as_str()), (0, expected));
    let run = env.run(&["diff", "old.json", "new.json"]);
    let expected = "~ odd 1.0.0 → (no version) (/version)\n~ up 1.9.0 → 1.10.0 (/version)\n\
                    0 agents added, 2 updated, 0 removed\n";
    assert_eq!((run.code, run.stdout.as_str()), (0, expected));
}

#[test]
fn trees_on_the_web_are_fetched_where_that_is_allowed() {
    let env = env();
    let server = Server::with_files(tree(&env.path("new")));
    for address in ["/r", "/r/", "/r/registry.json"] {
        let run = env.run(&["--allow-host", &server.host, "diff", "old", &server.url(address)]);
        assert!(run.code == 0 && run.stdout.starts_with("+ e 1.0.0\n"), "{address}: {}", run.stderr);
    }
    assert!(server.asked().iter().all(|path| path == "/r/registry.json"), "{:?}", server.asked());
    let run = env.run(&["diff", "old", &server.url("/r")]);
    assert!(run.code == 3 && run.stderr.contains("--allow-host"), "{}", run.stderr);
    let gone = Server::answering(|asked| if asked.path == "/x.json" { ok("[]") } else { not_found() });
    for (path, why) in [("/y.json", "there is no such file"), ("/x.json", "is not a registry index")] {
        let run = env.run(&["--allow-host", &gone.host, "diff", "old", &gone.url(path)]);
        assert!(run.code == 3 && run.stderr.contains(why), "{path}: {}", run.stderr);
    }
}

#[test]
fn versions_that_were_recalled_or_held_since_are_told() {
    let env = env();
    let held = "{ \"version\": \"1.0.0\", \"reason\": \"*1.1.0* loses\\u001b sessions\", \"until\": \"2999-12-31\" }";
    let index = env.read("old/registry.json");
    let newer = index.replacen(
        "\"version\": \"1.0.0\",\n      \"description\"",
        "\"version\": \"1.1.0\",\n      \"description\"",
        1,
    );
    env.write("old/registry.json", &newer);
    let back = index.replacen("      \"id\": \"a\",", &format!("      \"id\": \"a\", \"held\": {held},"), 1);
    assert!(newer != index && back != index);
    env.write("new/registry.json", back);
    let item = |versions: &str, level: &str| {
        format!(
            "{{ \"id\": \"a\", \"versions\": {versions}, \"level\": \"{level}\", \"reason\": \"Reads *keys*\", \"since\": \"2026-01-31\" }}"
        )
    };
    let list = |items: &[String]| format!("{{ \"schema\": 1, \"revoked\": [{}] }}", items.join(", "));
    let items =
        [item("\"<0.9.0\"", "revoked"), item("\"0.9.5\"", "deprecated"), item("[\"0.9.6\", \"0.9.7\"]", "revoked")];
    env.write("old/revoked.json", list(&items[..1]));
    env.write("new/revoked.json", list(&items));
    let run = env.run(&["diff", "old", "new"]);
    let told = "~ a 1.1.0 → 1.0.0, older, held at 1.0.0 until 2999-12-31: *1.1.0* loses sessions (/held, /version)\n\
                ! a 0.9.5 has been deprecated since 2026-01-31: Reads *keys*\n\
                ! a [\"0.9.6\", \"0.9.7\"] has been revoked since 2026-01-31: Reads *keys*\n";
    assert!(run.stdout.starts_with(told), "{}", run.stdout);
    let (_, report) = env.json(&["diff", "old", "new"]);
    assert_eq!(report["updated"][0]["held"]["until"], "2999-12-31");
    let recalled = report["recalled"].as_array().unwrap();
    assert_eq!(
        (recalled.len(), &recalled[0]["versions"], &recalled[0]["level"]),
        (2, &"0.9.5".into(), &"deprecated".into())
    );
    let notes = env.run(&["diff", "old", "new", "--format", "markdown"]).stdout;
    assert!(notes.contains("### Recalled versions\n\n- **`a`** 0.9.5 has been deprecated"), "{notes}");
    assert!(!notes.contains("Reads *keys*") && !notes.contains("*1.1.0* loses"), "{notes}");
    // Of a tree at an address, the list is asked for only if the newer tree has one.
    let (files, lists) = (tree(&env.path("old")), env.path("new/revoked.json"));
    let server = Server::answering(move |asked| {
        let found = files.iter().find(|(name, _)| *asked.path == format!("/r/{name}"));
        found.map_or_else(not_found, |(_, bytes)| ok(bytes.clone()))
    });
    let diff = || env.run(&["--allow-host", &server.host, "diff", &server.url("/r/"), "new"]);
    assert!(diff().stdout.starts_with(told));
    env.write("new/revoked.json", "[]");
    let run = diff();
    assert!(run.code == 0 && run.stderr.contains("recalls are not compared: revoked.json"), "{}", run.stderr);
    std::fs::remove_file(lists).unwrap();
    let before = server.asked().len();
    assert!(!diff().stdout.contains('!') && server.asked().len() == before + 1);
}
