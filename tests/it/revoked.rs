//! Recalled versions: refused where they would be installed or started, also without a network.

use std::fs;

use serde_json::{Value, json};

use crate::agents::{people, text};
use crate::server::{ok, status};
use crate::support::{Env, manifest};

fn recall(versions: &Value, level: &str) -> String {
    let item =
        json!({ "id": "a", "versions": versions, "level": level, "reason": "It reads keys", "since": "2026-01-31" });
    json!({ "schema": 1, "revoked": [item] }).to_string()
}

const WHY: &str = "a 1.0.0 has been revoked since 2026-01-31: It reads keys";

#[test]
fn a_revoked_version_is_not_installed_and_the_others_are() {
    let people = people();
    people.serve("/revoked.json", recall(&json!("<=1.0.0"), "revoked"));
    for arguments in [&["install", "a"][..], &["install", "a@1.0.0"], &["install", "a", "--dry-run"], &["run", "a"]] {
        let run = people.run(arguments);
        assert!(run.code == 4 && run.stderr.contains(WHY), "{arguments:?}: {}", run.stderr);
        assert!(
            run.stderr.contains("help: if you trust it all the same, add `--allow-revoked a@1.0.0`"),
            "{}",
            run.stderr
        );
    }
    let (code, document) = people.json(&["install", "a", "b"]);
    assert_eq!((code, text(&document["errors"][0], "code"), text(&document["agents"][0], "id")), (4, "revoked", "b"));
    assert!(!people.root().join("agents/a").join("current").exists());
    assert!(!people.server.asked().iter().any(|path| path.ends_with("a.tar.gz")), "nothing of it is fetched");
    // Allowed for this version only, and said each time.
    let run = people.run(&["install", "a", "--allow-revoked", "a@2.0.0"]);
    assert_eq!(run.code, 4, "{}", run.stderr);
    let run = people.run(&["install", "a", "--allow-revoked", "a"]);
    assert!(run.code == 2 && run.stderr.contains("names no version"), "{}", run.stderr);
    assert_eq!(people.run(&["resolve", "a"]).code, 4);
    for command in ["resolve", "install", "run", "which", "update"] {
        let run = people.run(&[command, "a", "--allow-revoked", "a@1.0.0"]);
        let warning = format!("warning: {WHY} (allowed by --allow-revoked)");
        // `resolve` installs and starts nothing.
        let is_said = command == "resolve" || run.stderr.contains(&warning);
        assert!(run.code == 0 && is_said, "{command}: {}", run.stderr);
    }
    // What refuses a version, and names the flag, has it in its help.
    for command in ["resolve", "install", "run", "which", "update", "login", "logout", "doctor"] {
        let help = people.run(&[command, "--help"]).stdout;
        let has = ["--index", "--allow-revoked"].map(|flag| help.contains(flag));
        assert_eq!(has, [true; 2], "{command}: {help}");
    }
}

#[test]
fn what_is_installed_is_not_started_once_the_recall_is_known() {
    let people = people();
    assert_eq!(people.run(&["install", "a", "b", "--no-check"]).code, 0);
    people.serve("/revoked.json", recall(&json!(["0.9.0", "1.0.0"]), "revoked"));
    // Nothing is asked for at a start, so that it is not known yet.
    let before = people.server.asked().len();
    assert_eq!((people.run(&["run", "a"]).code, people.server.asked().len()), (0, before));
    // A good version that must wait, or cannot be had, is no reason to be silent.
    let newer = people.agent("a", "2.0.0");
    people.publish(&[newer, people.agent("b", "1.0.0")]);
    people.answer("/2.0.0/a.tar.gz", status(404));
    let (code, document) = people.json(&["update", "--refresh", "--min-age", "3d"]);
    let held = (text(&document["held"][0], "reason"), text(&document["errors"][0], "code"));
    assert_eq!((code, held), (4, ("unknown-age", "revoked")), "{document}");
    let run = people.run(&["update"]);
    assert!(run.code == 3 && run.stderr.contains(&format!("warning: {WHY}\n")), "{}", run.stderr);
    people.publish(&[people.agent("a", "1.0.0"), people.agent("b", "1.0.0")]);
    // There is no good version yet; the other agent is not affected.
    let (code, document) = people.json(&["update", "--refresh"]);
    assert_eq!((code, text(&document["errors"][0], "code")), (4, "revoked"), "{document}");
    assert_eq!(document["up_to_date"], json!(["b"]));
    let before = people.server.asked().len();
    for arguments in [&["run", "a"][..], &["run", "a", "--offline"], &["which", "a"]] {
        let run = people.run(arguments);
        assert!(run.code == 4 && run.stderr.contains(WHY) && run.stdout.is_empty(), "{arguments:?}: {}", run.stderr);
    }
    assert_eq!((people.run(&["run", "b"]).code, people.server.asked().len()), (0, before), "a start sends nothing");
    // A registry in a directory counts as well, if it is named.
    people.env.write("mirror/registry.json", r#"{"version":"1.0.0","agents":[]}"#);
    let mirrored =
        json!({ "schema": 1, "revoked": [{ "id": "b", "versions": "*", "level": "revoked", "reason": "x" }] });
    people.env.write("mirror/revoked.json", mirrored.to_string());
    let run = people.run(&["which", "b", "--index", "mirror"]);
    assert!(run.code == 4 && run.stderr.contains("b 2.0.0 is revoked"), "{}", run.stderr);
    assert_eq!(people.run(&["which", "b"]).code, 0);
    // Without the cache, it is still known.
    fs::remove_dir_all(people.env.path("cache")).unwrap_or_default();
    assert_eq!(people.run(&["run", "a", "--offline"]).code, 4);
    let list = people.run(&["list", "--installed"]);
    assert!(list.stdout.contains("1.0.0 (revoked)"), "{}", list.stdout);
    let (_, list) = people.json(&["list", "--installed"]);
    let expected = json!({ "level": "revoked", "reason": "It reads keys", "since": "2026-01-31" });
    assert_eq!((&list["agents"][0]["revocation"], list["agents"][1].get("revocation")), (&expected, None));
    let info = people.run(&["info", "a"]);
    assert!(info.stdout.contains("1.0.0 (binary, current, revoked)"), "{}", info.stdout);
    let [(_, info), (_, other)] = ["a", "b"].map(|id| people.json(&["info", id]));
    let recall = |info: &Value| info["installed_versions"][0].get("revocation").cloned();
    assert_eq!((recall(&info), recall(&other)), (Some(expected), None));
    let (code, doctor) = people.json(&["doctor"]);
    assert_eq!((code, text(&doctor["agents"][0], "status")), (1, "error"), "{doctor}");
    assert!(doctor["agents"][0]["checks"].to_string().contains("has been revoked since 2026-01-31"), "{doctor}");
    // The registry brings a good version: the message leads to it, and so does an update.
    people.publish(&[people.agent("a", "1.1.0"), people.agent("b", "2.0.0")]);
    assert_eq!(people.run(&["list", "--refresh"]).code, 0);
    let run = people.run(&["run", "a"]);
    assert!(run.stderr.contains("`acp-registry install a@latest`, which installs 1.1.0"), "{}", run.stderr);
    assert_eq!(people.run(&["update", "--refresh"]).code, 0);
    assert_eq!(people.run(&["run", "a"]).stdout, "a-1.1.0 acp\n");
    // The old version stays refused, and does not prevent a start of the new one.
    assert_eq!(people.run(&["run", "a@1.0.0"]).code, 4);
    assert_eq!(people.run(&["install", "a@1.0.0", "--allow-revoked", "a@1.0.0", "--no-check"]).code, 0);
    assert_eq!((people.run(&["which", "a"]).code, people.run(&["which", "a@1.1.0"]).code), (4, 0));
}

#[test]
fn a_pinned_version_that_is_revoked_is_named_by_update() {
    let people = people();
    assert_eq!(people.run(&["install", "a@1.0.0", "--no-check"]).code, 0);
    people.publish(&[people.agent("a", "1.1.0")]);
    people.serve("/revoked.json", recall(&json!("1.0.0"), "revoked"));
    let run = people.run(&["update", "--refresh"]);
    assert!(run.code == 4 && run.stderr.contains(WHY) && run.stderr.contains("install a@latest"), "{}", run.stderr);
    assert_eq!(people.run(&["install", "a@latest"]).code, 0);
    assert_eq!(people.run(&["run", "a"]).stdout, "a-1.1.0 acp\n");
}

#[test]
fn a_deprecated_version_works_and_is_said() {
    let people = people();
    people.serve("/revoked.json", recall(&json!("*"), "deprecated"));
    for arguments in [&["install", "a", "--no-check"][..], &["run", "a"]] {
        let run = people.run(arguments);
        let warning = "warning: a 1.0.0 has been deprecated since 2026-01-31: It reads keys";
        assert!(run.code == 0 && run.stderr.contains(warning), "{arguments:?}: {}", run.stderr);
    }
}

#[test]
fn a_list_that_is_gone_or_broken_or_out_of_reach() {
    let people = people();
    people.serve("/revoked.json", recall(&json!("1.0.0"), "revoked"));
    assert_eq!(people.run(&["install", "a"]).code, 4);
    // What was learnt counts until the host says something else that can be read.
    let large = format!("{{ \"schema\": 1, \"revoked\": [], \"x\": \"{}\" }}", "x".repeat(4 << 20));
    for (answer, what) in [
        (status(500), "answers 500"),
        (status(401), "answers 401"),
        (status(403), "answers 403"),
        (status(407), "407"),
        (status(204), ""),
        (ok("<html>"), "is not JSON"),
        (ok("null"), "is not a list of recalled versions"),
        (ok(r#"{ "schema": 1, "revoked": [[[]]] }"#), "names no agent"),
        (ok(large), "larger than"),
    ] {
        people.answer("/revoked.json", answer);
        let run = people.run(&["install", "a", "--refresh"]);
        assert!(run.code == 4 && run.stderr.contains(WHY) && run.stderr.contains(what), "{what}: {}", run.stderr);
    }
    people.answer("/revoked.json", status(404));
    let run = people.run(&["install", "a", "--refresh", "--no-check"]);
    assert!(run.code == 0 && run.stderr.contains("the registry has no revoked.json any more"), "{}", run.stderr);
    assert_eq!(people.run(&["run", "a"]).code, 0);
    // Where nothing was known before, it is said that nothing is known.
    people.answer("/revoked.json", status(500));
    let run = people.run(&["install", "b", "--refresh", "--no-check"]);
    assert!(run.code == 0 && run.stderr.contains("revoked.json could not be read"), "{}", run.stderr);
}

/// The registry that a version is from counts, whichever index is named when it is installed again.
#[test]
fn another_registry_does_not_bring_a_recalled_version_back() {
    let people = people();
    assert_eq!(people.run(&["install", "a", "--no-check"]).code, 0);
    people.serve("/revoked.json", recall(&json!("1.0.0"), "revoked"));
    assert_eq!(people.run(&["update", "--refresh"]).code, 4);
    let other = json!({ "version": "1.0.0", "agents": [people.agent("a", "1.0.0")] });
    people.serve("/other/registry.json", other.to_string());
    let index = people.server.url("/other/registry.json");
    for words in [&["a"][..], &["a@1.0.0"], &["a@1.0.0", "--dry-run"]] {
        let run = people.run(&[&["install", "--no-check", "--index", &index], words].concat());
        assert!(run.code == 4 && run.stderr.contains(WHY), "{words:?}: {}", run.stderr);
    }
    let (_, list) = people.json(&["list", "--installed"]);
    assert_eq!(list["agents"][0]["pinned"], json!(false));
    let run = people.run(&["install", "a@1.0.0", "--no-check", "--index", &index, "--allow-revoked", "a@1.0.0"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
}

/// What is remembered does not depend on how the registry is named at a start, and is missed if it is damaged.
#[cfg(unix)]
#[test]
fn what_is_remembered_is_found_again() {
    let people = people();
    assert_eq!(people.run(&["install", "a", "--no-check"]).code, 0);
    people.serve("/revoked.json", recall(&json!("1.0.0"), "revoked"));
    assert_eq!(people.run(&["update", "--refresh"]).code, 4);
    let memory: Vec<_> =
        fs::read_dir(people.root().join("revoked")).unwrap().map(|file| file.unwrap().path()).collect();
    let [file] = memory.as_slice() else { panic!("{memory:?}") };
    for index in ["/other.json", "/registry.json?x=1", "/registry.json#x", "/x/../registry.json"] {
        let run = people.run(&["run", "a", "--index", &people.server.url(index)]);
        assert_eq!(run.code, 4, "{index}: {}", run.stderr);
    }
    let mut plain = people.command(&["run", "a"]);
    assert_eq!(crate::support::Run::of(plain.env_remove("ACP_REGISTRY_INDEX")).code, 4);
    // An update by an address with a query learns nothing, and forgets nothing.
    let index = json!({ "version": "1.0.0", "agents": [people.agent("a", "1.0.0")] });
    people.serve("/registry.json?x=1", index.to_string());
    let index = people.server.url("/registry.json?x=1");
    assert_eq!(people.run(&["update", "--refresh", "--index", &index]).code, 4);
    assert_eq!(people.run(&["run", "a"]).code, 4);
    for damage in ["", "garbage", "{}"] {
        fs::write(file, damage).unwrap();
        let run = people.run(&["run", "a"]);
        let warning =
            "warning: it is not known which versions were recalled, until `acp-registry update` has asked again";
        assert!(run.code == 0 && run.stderr.contains(warning), "{damage}: {}", run.stderr);
    }
    // A FIFO is not waited for, and a new answer takes its place.
    fs::remove_file(file).unwrap();
    nix::unistd::mkfifo(file, nix::sys::stat::Mode::S_IRUSR).unwrap();
    assert!(people.run(&["run", "a"]).stderr.contains("is a FIFO"));
    assert_eq!(people.run(&["update", "--refresh"]).code, 4);
    assert_eq!(people.run(&["run", "a"]).code, 4);
    // What cannot be remembered is said.
    fs::remove_dir_all(people.root().join("revoked")).unwrap();
    fs::write(people.root().join("revoked"), "").unwrap();
    let run = people.run(&["update", "--refresh"]);
    assert!(run.code == 4 && run.stderr.contains("known to this run only"), "{}", run.stderr);
}

/// The list in a directory counts as it is, and as it was if it cannot be read any more.
#[test]
fn a_directory_has_a_list_too() {
    let people = people();
    fs::create_dir(people.env.path("reg")).unwrap();
    people
        .env
        .write("reg/registry.json", json!({ "version": "1.0.0", "agents": [people.agent("a", "1.0.0")] }).to_string());
    let run = |words: &[&str]| people.run(&[words, &["--index", "reg"]].concat());
    assert_eq!(run(&["install", "a", "--no-check"]).code, 0);
    people.env.write("reg/revoked.json", recall(&json!("1.0.0"), "revoked"));
    assert_eq!(run(&["run", "a"]).code, 4);
    people.env.write("reg/revoked.json", "{");
    let broken = run(&["run", "a"]);
    assert!(broken.code == 4 && broken.stderr.contains(WHY), "{}", broken.stderr);
    assert_eq!(people.run(&["run", "a"]).code, 4, "the version is from that registry");
    fs::remove_file(people.env.path("reg/revoked.json")).unwrap();
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("nowhere", people.env.path("reg/revoked.json")).unwrap();
        assert_eq!(run(&["run", "a"]).code, 4, "a link that leads nowhere");
        fs::remove_file(people.env.path("reg/revoked.json")).unwrap();
    }
    assert_eq!(run(&["run", "a"]).code, 0);
}

/// A good version stays if the newest one is revoked. An agent that has left the registry is still reported as revoked.
#[test]
fn an_update_leads_to_no_revoked_version() {
    let people = people();
    assert_eq!(people.run(&["install", "a", "b", "--no-check"]).code, 0);
    people.publish(&[people.agent("a", "1.1.0")]);
    let list = json!([
        { "id": "a", "versions": "1.1.0", "level": "revoked", "reason": "x", "since": "2026-01-31" },
        { "id": "b", "versions": "*", "level": "revoked", "reason": "y", "since": "2026-01-31" },
    ]);
    people.serve("/revoked.json", json!({ "schema": 1, "revoked": list }).to_string());
    for arguments in [&["update", "a", "--refresh", "--dry-run"][..], &["update", "a", "--refresh"]] {
        let (code, document) = people.json(arguments);
        let held = json!([{ "id": "a", "from": "1.0.0", "to": "1.1.0", "reason": "revoked", "until": null,
                            "message": "a 1.1.0 has been revoked since 2026-01-31: x" }]);
        assert_eq!((code, &document["held"]), (0, &held), "{document}");
    }
    let (code, document) = people.json(&["update", "b"]);
    assert_eq!((code, &document["gone"], text(&document["errors"][0], "code")), (4, &json!(["b"]), "revoked"));
    assert_eq!(people.run(&["resolve", "a"]).code, 4);
    assert_eq!(people.run(&["run", "a"]).code, 0);
}

#[test]
fn a_lock_file_is_no_way_around_a_recall() {
    let people = people();
    assert_eq!(people.run(&["install", "a", "--no-check", "--lock", "lock.json"]).code, 0);
    assert_eq!(people.run(&["uninstall", "a"]).code, 0);
    people.serve("/revoked.json", recall(&json!("1.0.0"), "revoked"));
    let run = people.run(&["install", "--locked", "--lock", "lock.json", "--refresh"]);
    assert!(run.code == 4 && run.stderr.contains(WHY), "{}", run.stderr);
}

#[test]
fn a_registry_publishes_its_recalls_and_refuses_to_publish_what_it_recalls() {
    let env = Env::with(&["a", "b"]);
    env.write("r/revoked.json", recall(&json!("<1.0.0"), "revoked"));
    let run = env.run(&["build", "--out", "out"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let published: Value = serde_json::from_str(&env.read("out/revoked.json")).unwrap();
    assert_eq!(published["revoked"][0]["versions"], "<1.0.0");
    env.write("r/revoked.json", recall(&json!("1.0.0"), "revoked"));
    let run = env.run(&["validate"]);
    assert!(run.code == 1 && run.stdout.contains("registry/revoked-version"), "{}{}", run.stdout, run.stderr);
    assert_eq!(env.run(&["build", "--out", "again"]).code, 1);
    env.write("r/a/agent.json", manifest("a").replace("1.0.0", "1.1.0"));
    assert_eq!(env.run(&["build", "--out", "again"]).code, 0);
    // One that is held at another version for good is not published in the recalled one, and cannot be held at that.
    env.write("r/a/agent.json", manifest("a"));
    for (version, end, code) in [("0.9.9", "", 0), ("0.9.9", "until = \"2999-01-01\"\n", 1)] {
        env.write("r/registry.toml", format!("[hold.a]\nversion = \"{version}\"\nreason = \"r\"\n{end}"));
        let run = env.run(&["validate", "a"]);
        assert_eq!(run.code, code, "{}", run.stdout);
    }
    env.write("r/a/agent.json", manifest("a").replace("1.0.0", "1.1.0"));
    env.write("r/registry.toml", "[hold.a]\nversion = \"1.0.0\"\nreason = \"r\"\n");
    let run = env.run(&["validate"]);
    assert!(
        run.code == 1 && run.stdout.contains("`[hold]` names `1.0.0` of `a`, which has been revoked"),
        "{}",
        run.stdout
    );
    assert_eq!(env.run(&["build", "--out", "again", "--previous", "out"]).code, 1);
    env.write("r/registry.toml", format!("[rules]\n\"registry/config\" = \"off\"\n{}", env.read("r/registry.toml")));
    let run = env.run(&["build", "--out", "again", "--previous", "out"]);
    assert!(run.code == 2 && run.stderr.contains("a is held at 1.0.0, which has been revoked"), "{}", run.stderr);
    assert!(run.stderr.contains("correct `[hold.a]`"), "{}", run.stderr);
    fs::remove_file(env.path("r/registry.toml")).unwrap();
    // An agent with errors keeps no form that was recalled.
    env.write("r/a/agent.json", manifest("a"));
    let run = env.run(&["build", "--out", "kept", "--previous", "out"]);
    assert!(run.code == 0 && !env.read("kept/registry.json").contains("\"id\": \"a\""), "{}", run.stderr);
    // A list that cannot be read would bring recalled versions back, whatever the rules are.
    env.write("r/registry.toml", "[rules]\n\"registry/revoked\" = \"off\"\n");
    env.write("r/revoked.json", "{");
    let run = env.run(&["build", "--out", "again"]);
    assert!(run.code == 1 && run.stderr.contains("the recalled versions cannot be used"), "{}", run.stderr);
    fs::remove_file(env.path("r/registry.toml")).unwrap();
    // Also with an earlier tree.
    env.write("r/revoked.json", "{");
    let run = env.run(&["build", "--out", "again", "--previous", "out"]);
    assert!(run.code == 1 && run.stderr.contains("registry/revoked"), "{}", run.stderr);
}

/// A pull request that recalls the published version is stopped, although it changes no agent.
#[test]
fn a_change_of_the_list_is_judged_with_the_agents_that_it_breaks() {
    let env = Env::with(&["a", "b"]);
    env.git(&["init", "-q"]);
    env.git(&["add", "-A"]);
    env.git(&["-c", "user.name=Test", "-c", "user.email=test@example.com", "commit", "-q", "-m", "x"]);
    env.write("r/revoked.json", recall(&json!("1.0.0"), "revoked"));
    env.git(&["add", "-A"]);
    let (code, document) = env.json(&["validate", "--changed-since", "HEAD"]);
    let rules: Vec<&str> = document["findings"].as_array().unwrap().iter().map(|one| text(one, "rule")).collect();
    assert_eq!((code, rules), (1, vec!["registry/revoked-version"]), "{document}");
}
