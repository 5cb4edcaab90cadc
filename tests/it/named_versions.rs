//! `ID@VERSION` and `ID@latest`, in every command that takes an id.

use serde_json::json;

use crate::people::{People, archive, entry, host};
use crate::support::Run;

/// 1.0.0 and 1.1.0 of `a` are installed; 1.1.0 is current, and the index has 1.2.0.
fn people() -> People {
    let people = People::new();
    for version in ["1.0.0", "1.1.0"] {
        people.publish(&[people.agent("a", version)]);
        assert_eq!(people.run(&["install", "a", "--refresh"]).code, 0);
    }
    people.publish(&[people.agent("a", "1.2.0")]);
    assert_eq!(people.run(&["list", "--refresh"]).code, 0);
    people
}

fn current(people: &People) -> String {
    people.run(&["run", "a"]).stdout
}

#[test]
fn run_starts_the_version_that_is_named_and_changes_nothing_else() {
    let people = people();
    assert_eq!(people.run(&["run", "a@1.0.0"]).stdout, "a-1.0.0 acp\n");
    assert_eq!(current(&people), "a-1.1.0 acp\n");
    let run = people.run(&["run", "a@latest"]);
    assert_eq!((run.stdout.as_str(), run.code), ("a-1.2.0 acp\n", 0), "{}", run.stderr);
    assert!(run.stderr.contains("installing a 1.2.0"), "{}", run.stderr);
    // The second run finds it installed.
    let run = people.run(&["run", "a@latest", "--offline"]);
    assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("a-1.2.0 acp\n", ""));
    assert_eq!(
        (current(&people).as_str(), people.json(&["which", "a"]).1["pinned"].clone()),
        ("a-1.1.0 acp\n", json!(false))
    );
    let run = people.run(&["run", "a@9.0.0"]);
    assert!(run.code == 2 && run.stderr.contains("version `9.0.0` of `a` is not known"), "{}", run.stderr);
    // If no other version is installed, the version becomes current.
    assert_eq!(people.run(&["uninstall", "a"]).code, 0);
    assert_eq!(people.run(&["run", "a@1.2.0"]).stdout, "a-1.2.0 acp\n");
    assert_eq!(people.json(&["which", "a"]).1["version"], "1.2.0");
}

#[test]
fn a_damaged_version_that_is_named_is_installed_again_beside_the_current_one() {
    let people = people();
    let program = people.json(&["which", "a@1.0.0"]).1["program"].as_str().unwrap().to_owned();
    std::fs::remove_file(program).unwrap();
    let run = people.run(&["run", "a@1.0.0"]);
    assert!(run.stdout == "a-1.0.0 acp\n" && run.stderr.contains("a@1.0.0 is damaged"), "{}", run.stderr);
    assert_eq!(current(&people), "a-1.1.0 acp\n");
}

#[test]
fn latest_is_the_version_in_the_index_everywhere() {
    let people = people();
    assert_eq!(people.json(&["resolve", "a@latest"]).1["version"], "1.2.0");
    assert_eq!(people.json(&["info", "a@latest"]).1["version"], "1.2.0");
    for command in ["doctor", "login", "logout"] {
        let (code, document) = people.json(&[command, "a@latest"]);
        assert_eq!((code, &document["error"]["code"]), (2, &json!("not_installed")), "{document}");
        assert_eq!(document["error"]["help"], "`acp-registry install a@1.2.0` installs it");
    }
    // `ID@latest` removes the pin.
    assert_eq!(people.run(&["install", "a@1.0.0"]).code, 0);
    assert_eq!(people.json(&["which", "a"]).1["pinned"], true);
    let (code, document) = people.json(&["install", "a@latest"]);
    assert_eq!((code, document["version"].as_str()), (0, Some("1.2.0")));
    assert_eq!(people.json(&["which", "a@latest"]).1["pinned"], false);
    let (code, document) = people.json(&["update", "a@latest"]);
    assert_eq!((code, &document["up_to_date"]), (0, &json!(["a"])));
    let run = people.run(&["install", "--locked", "a@latest"]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert_eq!(people.run(&["install", "a", "--lock", "x.lock"]).code, 0);
    let run = people.run(&["install", "--locked", "--lock", "x.lock", "a@latest"]);
    assert!(run.code == 2 && run.stderr.contains("name `a` without a version"), "{}", run.stderr);
}

#[test]
fn commands_for_the_current_version_refuse_another_one() {
    let people = people();
    for (arguments, message, help) in [
        (&["update", "a@1.2.0"][..], "`update` moves to the version in the index", "acp-registry install a@1.2.0"),
        (&["uninstall", "a@1.0.0"], "`1.1.0` is installed as well", "help: run `acp-registry gc` to remove versions"),
        (&["uninstall", "a@1.1.0"], "`1.0.0` is installed as well", "help: run `acp-registry uninstall a` to remove"),
        (&["which", "a@1.2.0"], "version `1.2.0` of `a` is not installed", "acp-registry install a@1.2.0"),
    ] {
        let run = people.run(arguments);
        assert!(
            run.code == 2 && run.stderr.contains(message) && run.stderr.contains(help),
            "{arguments:?} {}",
            run.stderr
        );
    }
    assert_eq!(people.json(&["which", "a@1.0.0"]).1["version"], "1.0.0");
    assert_eq!(people.run(&["gc"]).code, 0);
    assert_eq!(people.run(&["uninstall", "a@1.1.0"]).code, 0);
}

#[test]
fn doctor_and_login_start_the_version_that_is_named() {
    let people = people();
    let program = people.json(&["which", "a@1.0.0"]).1["program"].as_str().unwrap().to_owned();
    std::fs::write(&program, "changed").unwrap();
    let looked = |arguments: &[&str]| {
        let (_, document) = people.json(&[&["doctor", "--timeout", "5"], arguments].concat());
        let agent = &document["agents"][0];
        let started = agent["checks"].as_array().unwrap().iter().any(|check| {
            check["name"] == "handshake" && !check["message"].as_str().unwrap().starts_with("it was not started")
        });
        (agent["version"].clone(), started)
    };
    assert_eq!(looked(&["a"]), (json!("1.1.0"), true));
    assert_eq!(looked(&["a@1.0.0"]), (json!("1.0.0"), false));
    assert_eq!(looked(&["a@1.0.0", "--fix"]), (json!("1.0.0"), true), "it is repaired");
    assert_eq!(current(&people), "a-1.1.0 acp\n");
    let (_, document) = people.json(&["login", "a@1.0.0", "--timeout", "5"]);
    assert_eq!(document["version"], "1.0.0", "{document}");
    // Other build metadata is no other version.
    assert_eq!(people.json(&["which", "a@1.0.0+x"]).1["version"], "1.0.0");
}

#[test]
fn info_says_what_is_known_of_a_version() {
    let people = people();
    let (code, document) = people.json(&["info", "a@1.0.0"]);
    assert_eq!((code, &document["version"], &document["known_from"]), (0, &json!("1.0.0"), &json!("installed")));
    assert_eq!(document["installed_versions"].as_array().unwrap().len(), 1);
    assert_eq!(people.json(&["info", "a@1.2.0"]).1["known_from"], "index");
    assert_eq!(people.json(&["info", "a"]).1["known_from"], json!(null));
    let run = people.run(&["info", "a@1.0.0"]);
    assert!(run.stdout.starts_with("The a 1.0.0\n") && run.stdout.contains(host()), "{}", run.stdout);
    assert_eq!(people.run(&["info", "a@9.0.0"]).code, 2);
    people.publish(&[entry("p", "1.0.0", &json!({ "npx": { "package": "p@1.0.0" } }))]);
    let (_, document) = people.json(&["info", "p@0.9.0", "--refresh"]);
    assert_eq!((&document["version"], &document["known_from"]), (&json!("0.9.0"), &json!("package")));
    let text = people.run(&["info", "p@0.9.0"]).stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let note = "name, licence and the like are those of 1.0.0, which the index has, and whether there is such a package was \
                not looked up";
    assert!(text.contains(note), "{text}");
    let text = people.run(&["info", "p@1.0.0"]).stdout;
    assert!(!text.contains("looked up") && !text.contains("  note "), "{text}");
}

#[test]
fn settings_of_a_version_start_that_version() {
    let people = people();
    for named in ["a@1.0.0", "a@latest"] {
        let (code, document) = people.json(&["config", "cli", named]);
        let words: Vec<&str> = document["args"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
        assert_eq!((code, words.last(), document["id"].as_str()), (0, Some(&named), Some("a")));
        let mut command = std::process::Command::new(document["program"].as_str().unwrap());
        crate::support::scrub(&mut command);
        let run = Run::of(command.args(words).env("HOME", people.env.path("home")));
        let version = if named == "a@latest" { "1.2.0" } else { "1.0.0" };
        assert_eq!(run.stdout, format!("a-{version} acp\n"), "{}", run.stderr);
    }
    let (_, document) = people.json(&["config", "cli", "a@latest"]);
    assert_eq!((&document["version"], &document["installed"]), (&"1.2.0".into(), &true.into()));
    // `gc` keeps versions that settings name.
    assert_eq!(people.run(&["gc"]).code, 0);
    assert_eq!(people.run(&["run", "a@1.0.0", "--offline"]).stdout, "a-1.0.0 acp\n");
    let direct = people.json(&["config", "cli", "a@1.0.0", "--direct"]).1;
    assert_eq!(direct["program"], people.json(&["which", "a@1.0.0"]).1["program"]);
    assert_eq!(people.run(&["config", "cli", "a@9.0.0"]).code, 2);
    let bytes = archive("b");
    people.publish(&[people.agent_of("b", "1.0.0", &bytes, None)]);
    assert_eq!(people.run(&["config", "cli", "b@2.0.0", "--refresh"]).code, 2);
}
