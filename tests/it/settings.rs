//! Settings for clients, read back by the client's own language.
#![cfg(unix)]

use std::fs;
use std::process::Stdio;

use acp_registry::store::Store;
use serde_json::{Value, json};

use crate::archives::{gz, sha256, tar};
use crate::people::{AGENT, CMD, People, entry, host};
use crate::signed;
use crate::snippets::{TEXTS, read_by_emacs, read_by_lua, read_by_python, read_by_shell};
use crate::support::Run;

const CLIENTS: [&str; 11] = [
    "zed", "jetbrains", "codecompanion", "avante", "emacs", "vscode", "obsidian", "qtcreator", "jupyter", "acpx", "cli",
];

/// The program with its arguments, and the variable `K`, as a client reads them; `None` if its language is not installed.
fn read(client: &str, id: &str, settings: &str) -> Option<(Vec<String>, Option<String>)> {
    match client {
        "zed" | "jetbrains" | "vscode" => {
            let settings: Value = serde_json::from_str(settings).unwrap();
            let key = if client == "vscode" { "acp.agents" } else { "agent_servers" };
            let name = if client == "zed" { id.to_owned() } else { format!("The {id}") };
            let server = &settings[key][name];
            assert_eq!(server.get("type"), (client == "zed").then_some(&json!("custom")));
            let text = |value: &Value| value.as_str().unwrap().to_owned();
            let args = server["args"].as_array().unwrap().iter().map(text);
            let words = [text(&server["command"])].into_iter().chain(args).collect();
            Some((words, server["env"]["K"].as_str().map(ToOwned::to_owned)))
        }
        // As the plugin's own settings tab writes them.
        "obsidian" => {
            let settings: Value = serde_json::from_str(settings).unwrap();
            let agent = &settings["customAgents"][0];
            assert_eq!((&agent["id"], &agent["displayName"]), (&json!(id), &json!(format!("The {id}"))));
            let text = |value: &Value| value.as_str().unwrap().to_owned();
            let words = [text(&agent["command"])].into_iter().chain(agent["args"].as_array().unwrap().iter().map(text));
            let variables = agent["env"].as_array().unwrap().iter();
            let variable = variables.into_iter().find(|one| one["key"] == "K").map(|one| text(&one["value"]));
            Some((words.collect(), variable))
        }
        "acpx" => {
            let settings: Value = serde_json::from_str(settings).unwrap();
            let words = settings["agents"][id]["argv"].as_array().unwrap().iter();
            Some(without_env(words.map(|word| word.as_str().unwrap().to_owned()).collect()))
        }
        // Fields of a form; the arguments are split as a shell splits them.
        "qtcreator" => {
            let field = |name: &str| settings.lines().find_map(|line| line.strip_prefix(&format!("{name}: ")));
            assert_eq!(field("Name"), Some(&*format!("The {id}")));
            let (mut words, _) = read_by_shell(field("Arguments").unwrap())?;
            words.insert(0, field("Executable").unwrap().to_owned());
            Some((words, field("Environment").map(|text| text.strip_prefix("K=").unwrap().to_owned())))
        }
        "jupyter" => read_by_python(settings).map(without_env),
        "codecompanion" | "avante" => read_by_lua(settings),
        "emacs" => read_by_emacs(id, settings),
        "cli" => read_by_shell(settings),
        _ => unreachable!(),
    }
}

/// Splits off the variable that the program `env` sets.
fn without_env(mut words: Vec<String>) -> (Vec<String>, Option<String>) {
    let variable = (words[0] == "env").then(|| words.drain(..2).next_back().unwrap());
    (words, variable.map(|text| text.strip_prefix("K=").unwrap().to_owned()))
}

/// An index with an agent that has an archive, and with packages; the first is not installed yet.
fn people(args: &[&str]) -> People {
    let people = People::new();
    let bytes = gz(&tar(&[(AGENT, b"#!/bin/sh\n")]));
    people.serve("/own.tar.gz", bytes.clone());
    let target = json!({
        "archive": people.server.url("/own.tar.gz"), "sha256": sha256(&bytes), "cmd": CMD, "args": args,
        "env": { "K": "it's <\"v\">" },
    });
    let env = json!({ "K": "it's <\"v\">", "LD_PRELOAD": "x.so" });
    let package = |package: &str| json!({ "package": package, "args": args, "env": env });
    people.publish(&[
        entry("own", "1.2.0", &json!({ "binary": { host(): target } })),
        entry("of-npm", "1.0.0", &json!({ "npx": package("@a/b@1.0.0") })),
        entry("of-python", "1.0.0", &json!({ "uvx": package("p==1.0.0") })),
        entry("tricky", "1.0.0", &json!({ "npx": package("--package=x") })),
    ]);
    people
}

#[test]
fn changes_at_the_same_time_are_all_made() {
    let people = people(&["--acp"]);
    let file = people.env.path("settings.json");
    fs::write(&file, "{}\n").unwrap();
    let clients: Vec<_> = ["own", "of-npm", "of-python", "tricky"]
        .map(|id| {
            people
                .command(&["config", "zed", id, "--write", "--quiet", "--file", file.to_str().unwrap()])
                .stdout(Stdio::null())
                .spawn()
                .unwrap()
        })
        .into();
    for mut client in clients {
        assert!(client.wait().unwrap().success());
    }
    let text: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(text["agent_servers"].as_object().unwrap().len(), 4, "{text}");
    let left = fs::read_dir(people.env.path(".")).unwrap().map(|file| file.unwrap().file_name());
    assert!(!left.into_iter().any(|name| name.to_string_lossy().ends_with("-lock")));
}

/// An editor starts programs with other variables than a shell.
#[test]
fn settings_state_what_variables_say_about_trust() {
    let people = people(&["--acp"]);
    // A registry whose signer is named must be signed, unless nothing is read from it.
    assert_eq!(people.run(&["install", "own", "--no-check"]).code, 0);
    let signer = signed::public(0).to_string();
    let mut command = people.command(&["config", "zed", "own"]);
    command.env("ACP_REGISTRY_SIGNER", &signer).env("ACP_REGISTRY_TRUSTED_ROOT", "roots.json");
    let run = Run::of(command.current_dir(people.env.path(".")));
    assert!(run.code == 0 && !run.stderr.contains("left out"), "{} {}", run.code, run.stderr);
    let settings: Value = serde_json::from_str(&run.stdout).unwrap();
    let server = &settings["agent_servers"]["own"];
    let words: Vec<&str> = server["args"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(words.windows(2).any(|pair| pair == ["--signer", &signer]), "{words:?}");
    let path = people.env.path(".").canonicalize().unwrap().join("roots.json");
    assert_eq!(server["env"]["ACP_REGISTRY_TRUSTED_ROOT"], json!(path));
}

/// The editor's file is read back as the editor reads it: JSON, once the comments are gone.
#[test]
fn settings_are_merged_into_the_file_of_an_editor_and_removed_again() {
    let people = people(&["--acp"]);
    let mine = "// Mine\n{\n  \"theme\": \"One\", // bright\n}\n";
    let file = "home/.config/zed/settings.json";
    people.env.write(file, mine);
    let config = |arguments: &[&str]| people.run(&[&["config", "zed", "of-npm"], arguments].concat());
    let run = config(&["--write", "--dry-run"]);
    assert!(run.code == 0 && run.stdout.contains("\n+  \"agent_servers\": {\n"), "{}{}", run.stdout, run.stderr);
    assert_eq!(people.env.read(file), mine);
    let run = config(&["--write"]);
    assert!(run.code == 0 && run.stdout.starts_with("of-npm was added to "), "{}{}", run.stdout, run.stderr);
    let copy = format!("{file}.before-acp-registry");
    assert_eq!(people.env.read(&copy), mine);
    let text = people.env.read(file);
    assert!(text.starts_with("// Mine\n{\n  \"theme\": \"One\", // bright\n"), "{text}");
    let plain = text.replace("// Mine", "").replace("// bright", "").replace("},\n}", "}\n}");
    let printed: Value = serde_json::from_str(&config(&[]).stdout).unwrap();
    let read: Value = serde_json::from_str(&plain).unwrap();
    assert_eq!(read["agent_servers"], printed["agent_servers"]);
    let again = config(&["--write"]);
    assert!(again.code == 0 && again.stdout.ends_with("; nothing was changed\n"), "{}", again.stdout);
    let document: Value = serde_json::from_str(&config(&["--remove", "--json"]).stdout).unwrap();
    assert_eq!((&document["edit"]["changed"], &document["edit"]["dry_run"]), (&json!(true), &json!(false)));
    assert_eq!(people.env.read(file), mine);
    // An owner's own members stay, and an agent that no index has is removed.
    people.env.write(file, r#"{ "agent_servers": { "of-npm": { "default_mode": "ask" } } }"#);
    let run = config(&["--write"]);
    assert!(run.code == 0 && run.stdout.starts_with("of-npm was changed in "), "{}", run.stdout);
    assert!(run.stderr.contains("the first start installs it"), "{}", run.stderr);
    assert!(people.env.read(file).contains("\"default_mode\": \"ask\""), "{}", people.env.read(file));
    people.env.write(file, people.env.read(file).replace("of-npm", "gone"));
    let run = people.run(&["config", "zed", "gone", "--remove", "--index", "absent.json"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{}", run.stdout);
    assert!(!people.env.read(file).contains("gone"), "{}", people.env.read(file));
    // What is not understood stays as it is.
    people.env.write(file, "{ \"theme\": }");
    let run = config(&["--write"]);
    assert!(run.code == 3 && run.stderr.contains("settings.json:1:12: "), "{} {}", run.code, run.stderr);
    assert_eq!(people.env.read(file), "{ \"theme\": }");
    for (arguments, message) in [
        (&["config", "emacs", "of-npm", "--write"][..], "the settings of Emacs are not JSON, and are not edited"),
        (&["config", "obsidian", "of-npm", "--write"], "--file"),
        (&["config", "zed", "of-npm", "--dry-run"], "--dry-run is for a file that is edited"),
        (&["config", "nvim", "of-npm"], "write `codecompanion` or `avante`"),
    ] {
        let run = people.run(arguments);
        assert!(run.code == 2 && run.stderr.contains(message), "{arguments:?}: {}", run.stderr);
    }
}

#[test]
fn a_version_is_kept_only_while_the_file_names_it() {
    let people = people(&["--acp"]);
    assert_eq!(people.run(&["install", "own"]).code, 0);
    let named =
        || !Store::at(people.root()).unwrap().agent("own").unwrap().unwrap().current.receipt.named_by.is_empty();
    let file = "home/.config/zed/settings.json";
    let config = |arguments: &[&str]| people.run(&[&["config", "zed", "own"], arguments].concat());
    for (text, help) in
        [("{ \"theme\": }", "correct the file, or "), ("{ \"agent_servers\": [] }", "correct the file, or ")]
    {
        people.env.write(file, text);
        for (action, rest) in [
            ("--write", "change it by hand as the same command says without --write\n"),
            ("--remove", "remove the settings by hand\n"),
        ] {
            let run = config(&["--direct", action]);
            let end = format!("{help}{rest}");
            assert!(run.code == 3 && run.stderr.ends_with(&end) && !named(), "{} {}", run.code, run.stderr);
        }
        assert_eq!(people.env.read(file), text);
    }
    people.env.write(file, "{}\n");
    for (arguments, is_named) in [
        (&["--remove", "--direct"][..], false),
        (&["--write", "--direct", "--dry-run"], false),
        (&["--write", "--direct"], true),
        (&["--remove", "--dry-run"], true),
        (&["--write"], false),
        (&["--write", "--direct"], true),
        (&["--remove"], false),
    ] {
        let run = config(arguments);
        assert_eq!((run.code, named()), (0, is_named), "{arguments:?} {}", run.stderr);
    }
    assert_eq!(people.env.read(file), "{}\n");
    // What cannot be known is told.
    let run = people.run(&["config", "zed", "onw", "--remove"]);
    let told = "warning: only settings that start onw were looked for: ";
    assert!(run.code == 0 && run.stderr.starts_with(told) && run.stderr.contains("no agent `onw`"), "{}", run.stderr);
    // Another entry with the displayed name is another agent's, or a person's.
    people.env.write(file, r#"{ "agent_servers": { "The own": { "command": "/mine" } } }"#);
    let path = people.env.path(file).display().to_string();
    let config = |action: &str| people.run(&["config", "jetbrains", "own", action, "--file", &path]);
    let run = config("--write");
    let told = "\nit is `The own (own)` there: another entry has its name\n";
    assert!(run.code == 0 && run.stdout.contains(told), "{} {}", run.stdout, run.stderr);
    assert_eq!(config("--remove").code, 0);
    assert_eq!(people.env.read(file), r#"{ "agent_servers": { "The own": { "command": "/mine" } } }"#);
}

/// A client may have several files, such as one for each vault.
#[test]
fn a_version_is_kept_while_another_file_of_the_client_names_it() {
    let people = people(&["--acp"]);
    assert_eq!(people.run(&["install", "own"]).code, 0);
    let named = || Store::at(people.root()).unwrap().agent("own").unwrap().unwrap().current.receipt.named_by.len();
    let config = |file: Option<&str>, arguments: &[&str]| {
        let path = file.map(|file| people.env.path(file).display().to_string());
        let file: Vec<&str> = path.iter().flat_map(|path| ["--file", path]).collect();
        let run = people.run(&[&["config", "zed", "own", "--direct"], &file[..], arguments].concat());
        assert_eq!(run.code, 0, "{arguments:?} {}", run.stderr);
        named()
    };
    let numbers = [
        config(Some("one.json"), &["--write"]),
        config(Some("two.json"), &["--write"]),
        config(Some("two.json"), &["--write"]),
        config(None, &[]),
        config(Some("one.json"), &["--remove"]),
        config(Some("one.json"), &["--remove"]),
        config(Some("two.json"), &["--remove"]),
    ];
    assert_eq!(numbers, [1, 2, 2, 3, 2, 2, 1]);
}

/// A plugin may keep its agents in a list, in a folder that only the person knows.
#[test]
fn settings_are_merged_into_a_list_of_agents() {
    let people = people(&["--acp"]);
    let file = "vault/.obsidian/plugins/agent-client/data.json";
    people.env.write(file, r#"{ "debugMode": true, "customAgents": [{ "id": "mine" }] }"#);
    let path = people.env.path(file).display().to_string();
    let run = |action: &str| people.run(&["config", "obsidian", "of-npm", action, "--file", &path]);
    let read = || serde_json::from_str::<Value>(&people.env.read(file)).unwrap();
    for _ in 0..2 {
        let run = run("--write");
        assert_eq!(run.code, 0, "{}", run.stderr);
        let settings = read();
        let ids: Vec<&Value> = settings["customAgents"].as_array().unwrap().iter().map(|one| &one["id"]).collect();
        assert_eq!((ids, &settings["debugMode"]), (vec![&json!("mine"), &json!("of-npm")], &json!(true)));
    }
    assert_eq!(run("--remove").code, 0);
    assert_eq!(read(), json!({ "debugMode": true, "customAgents": [{ "id": "mine" }] }));
}

/// Arguments that every language can represent, including the shell.
fn readable() -> Vec<&'static str> {
    TEXTS.into_iter().filter(|text| acp_registry::settings::shell::word(text).is_some()).collect()
}

fn words<'a>(first: &[&'a str], args: &[&'a str]) -> Vec<String> {
    first.iter().chain(args).map(|&word| word.to_owned()).collect()
}

#[test]
fn an_installed_agent_is_started_by_its_own_program() {
    let args = readable();
    let people = people(&args);
    assert_eq!(people.run(&["install", "own"]).code, 0);
    let program = people.json(&["which", "own"]).1["program"].as_str().unwrap().to_owned();
    for client in CLIENTS {
        let run = people.run(&["config", client, "own", "--direct"]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert!(run.stderr.contains("this starts own 1.2.0"), "{}", run.stderr);
        let has_file = !["cli", "qtcreator"].contains(&client);
        assert_eq!(run.stderr.contains("this belongs in "), has_file, "{}", run.stderr);
        if let Some((read, variable)) = read(client, "own", &run.stdout) {
            assert_eq!(read, words(&[&program], &args), "{client}");
            assert_eq!(variable.as_deref(), Some("it's <\"v\">"), "{client}");
        }
    }
    // Without an index, only the display name is missing.
    let run = people.run(&["config", "--direct", "--index", "nowhere.json", "zed", "own"]);
    assert_eq!((run.code, run.stderr.contains("own goes by its id")), (0, true), "{}", run.stderr);
    assert_eq!(read("zed", "own", &run.stdout).unwrap().0, words(&[&program], &args));
    let (code, document) = people.json(&["config", "--direct", "--index", "nowhere.json", "zed", "own"]);
    assert_eq!((code, &document["index"], document.get("index").is_some()), (0, &Value::Null, true), "{document}");
}

#[test]
fn what_is_not_installed_is_started_by_its_runner() {
    let args = readable();
    let people = people(&args);
    for client in CLIENTS {
        for (id, runner) in [("of-npm", &["npx", "-y", "@a/b@1.0.0"][..]), ("of-python", &["uvx", "p==1.0.0"])] {
            let run = people.run(&["config", client, id, "--direct"]);
            assert_eq!(run.code, 0, "{}", run.stderr);
            assert!(run.stderr.contains(&format!("{id} is not installed: {} fetches", runner[0])), "{}", run.stderr);
            assert!(run.stderr.contains("`LD_PRELOAD` is left out") && !run.stdout.contains("x.so"), "{}", run.stderr);
            if let Some((read, variable)) = read(client, id, &run.stdout) {
                assert_eq!(read, words(runner, &args), "{client}");
                assert_eq!(variable.as_deref(), Some("it's <\"v\">"));
            }
        }
    }
    assert!(people.is_gone(), "nothing is installed by asking");
}

#[test]
fn settings_start_agents_by_this_program_unless_that_is_not_wanted() {
    let people = people(&["acp"]);
    let (index, root) = (people.server.url("/registry.json"), people.root().display().to_string());
    let flags = ["--allow-host", &people.server.host, "--index", &index, "--root", &root];
    for (id, arguments, part) in [
        ("own", &[][..], "own is not installed: the first start installs it"),
        ("of-npm", &[], "of-npm is not installed: the first start installs it"),
        ("tricky", &["--direct"], "--direct was not followed: tricky is not installed, and is not a package"),
    ] {
        for client in CLIENTS {
            let run = people.run(&[&["config", client, id], arguments].concat());
            assert_eq!(run.code, 0, "{}", run.stderr);
            assert!(run.stderr.contains(part), "{}", run.stderr);
            if let Some((read, variable)) = read(client, id, &run.stdout) {
                let expected = [&[crate::support::PROGRAM, "run"], &flags[..], &[id]].concat();
                assert_eq!((read, variable), (words(&expected, &[]), None), "{client}");
            }
        }
    }
    // A damaged agent is reported as damaged, not as missing.
    assert_eq!(people.run(&["install", "own"]).code, 0);
    fs::remove_file(people.json(&["which", "own"]).1["program"].as_str().unwrap()).unwrap();
    let run = people.run(&["config", "cli", "own"]);
    assert!(run.stderr.contains("own is damaged: the first start installs it"), "{}", run.stderr);
    let run = people.run(&["config", "cli", "own", "--offline"]);
    assert!(run.stderr.contains("a start with --offline fetches nothing: `acp-registry install own"), "{}", run.stderr);
    // The settings work from any directory, and without the variables of this shell.
    let (_, document) = people.json(&["config", "cli", "own"]);
    let arguments: Vec<&str> = document["args"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
    let mut command = std::process::Command::new(document["program"].as_str().unwrap());
    crate::support::scrub(&mut command);
    command.args(arguments).env("HOME", people.env.path("home")).current_dir("/");
    let run = Run::of(&mut command);
    assert_eq!((run.code, people.root().join("agents/own").is_dir()), (0, true), "{}", run.stderr);
}

#[test]
fn the_document_has_what_a_client_needs() {
    let people = people(&["acp"]);
    let (code, document) = people.json(&["config", "zed", "of-npm", "--direct"]);
    let settings = people.run(&["-q", "config", "zed", "of-npm", "--direct"]);
    assert_eq!((code, settings.stderr.as_str()), (0, ""));
    let expected = json!({
        "schema": 1, "command": "config", "client": "zed", "id": "of-npm", "name": "The of-npm", "version": "1.0.0",
        "installed": false, "language": "json", "file": people.env.path("home/.config/zed/settings.json"),
        "settings": serde_json::from_str::<Value>(&settings.stdout).unwrap(),
        "starts": "package", "program": "npx", "args": ["-y", "@a/b@1.0.0", "acp"], "env": { "K": "it's <\"v\">" },
        "index": document["index"],
    });
    assert_eq!(document, expected);
    assert_eq!(document["index"]["source"], people.server.url("/registry.json"));
    let (_, document) = people.json(&["config", "cli", "own"]);
    assert_eq!((&document["file"], &document["starts"]), (&Value::Null, &json!("run")));
    assert!(document["settings"].as_str().unwrap().ends_with(" own\n"), "{document}");
    let (_, document) = people.json(&["config", "emacs", "own"]);
    assert_eq!(document["file"], json!(people.env.path("home/.emacs.d/init.el")));
}

#[test]
fn what_cannot_be_written_says_why() {
    let people = people(&["\u{202e}hidden"]);
    let run = people.run(&["config", "zedd", "own"]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
    assert!(CLIENTS.iter().all(|client| run.stderr.contains(client)), "{}", run.stderr);
    assert!(run.stderr.contains("a similar value exists: 'zed'"), "{}", run.stderr);
    let run = people.run(&["config", "of-npm", "zed"]);
    assert!(run.code == 2 && run.stderr.ends_with("comes first: `acp-registry config zed of-npm`\n"), "{}", run.stderr);
    let run = people.run(&["config", "zed", "of-npn"]);
    assert_eq!((run.code, run.stderr.contains("did you mean `of-npm`?")), (2, true), "{}", run.stderr);
    for id in ["../own", ".."] {
        assert_eq!(people.run(&["config", "zed", id]).code, 2);
    }
    let (code, document) = people.json(&["config", "cli", "of-npm", "--direct"]);
    let message = document["error"]["message"].as_str().unwrap();
    assert_eq!(code, 3);
    assert!(message.ends_with("cannot be written readably for a shell"), "{message}");
    assert_eq!(document["error"]["help"], "leave out --direct");
    assert_eq!(people.run(&["config", "cli", "of-npm"]).code, 0);
    let secret = people.server.url("/registry.json").replace("://", "://me:secret@");
    let run = people.run(&["config", "cli", "of-npm", "--index", &secret]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{}", run.stderr);
    assert!(run.stderr.contains("which settings would show") && !run.stderr.contains("secret@"), "{}", run.stderr);
    let run = people.run(&["config", "--offline", "--index", "https://h.example/r.json", "zed", "of-npm"]);
    assert_eq!((run.code, run.stdout.as_str()), (3, ""), "{}", run.stderr);
}

#[test]
fn a_name_in_the_path_is_printed_rather_than_what_it_is_a_link_to() {
    let people = people(&["acp"]);
    let folder = people.env.path("links");
    fs::create_dir(&folder).unwrap();
    let link = folder.join("acp-registry");
    std::os::unix::fs::symlink(crate::support::PROGRAM, &link).unwrap();
    let mut command = people.command(&["config", "cli", "own", "--json"]);
    let run = Run::of(command.env("PATH", &folder));
    let document: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(document["program"].as_str(), link.to_str(), "{}", run.stderr);
    // Another program with that name is not used.
    fs::remove_file(&link).unwrap();
    fs::copy("/bin/sh", &link).unwrap();
    let run = Run::of(&mut command);
    let document: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(document["program"].as_str(), Some(crate::support::PROGRAM), "{}", run.stderr);
}

#[test]
fn what_was_printed_directly_survives_updates_and_the_garbage() {
    let people = People::new();
    people.publish(&[people.agent("a", "1.0.0")]);
    assert_eq!(people.run(&["install", "a"]).code, 0);
    let (_, document) = people.json(&["config", "zed", "a", "--direct"]);
    assert_eq!(document["starts"], "program");
    let program = std::path::PathBuf::from(document["program"].as_str().unwrap());
    for version in ["1.1.0", "1.2.0"] {
        people.publish(&[people.agent("a", version)]);
        assert_eq!(people.run(&["update", "--refresh"]).code, 0);
    }
    let (code, freed) = people.json(&["gc"]);
    assert_eq!(
        (code, &freed["removed"][0]["version"], freed["removed"].as_array().unwrap().len()),
        (0, &json!("1.1.0"), 1)
    );
    assert_eq!((&freed["named"][0]["version"], &freed["named"][0]["clients"]), (&json!("1.0.0"), &json!(["zed"])));
    assert!(program.is_file());
    let text = people.run(&["gc"]).stdout;
    assert!(text.contains("kept a 1.0.0, which settings name (zed); `gc --direct` removes it"), "{text}");
    let (_, freed) = people.json(&["gc", "--direct"]);
    assert_eq!(
        (&freed["removed"][0]["version"], &freed["still_named"][0]["version"]),
        (&json!("1.0.0"), &json!("1.0.0"))
    );
    assert!(!program.exists());

    // A repair keeps the record of settings that name the program.
    assert_eq!(people.run(&["config", "zed", "a", "--direct"]).code, 0);
    let latest = people.run(&["config", "zed", "a@latest", "--direct"]);
    assert!(latest.code == 0 && latest.stderr.contains("this starts a 1.2.0 whatever"), "{}", latest.stderr);
    fs::write(people.json(&["which", "a"]).1["program"].as_str().unwrap(), "broken").unwrap();
    assert_eq!(people.run(&["install", "a"]).code, 0);
    people.publish(&[people.agent("a", "1.3.0")]);
    assert_eq!(people.run(&["update", "--refresh"]).code, 0);
    assert_eq!(people.json(&["gc"]).1["named"][0]["version"], "1.2.0");

    // `uninstall` warns about the settings that break.
    let warning = "settings of zed were printed for the program of a 1.2.0: if they are still in use, they start nothing once it is removed";
    for arguments in [&["uninstall", "a", "--dry-run"][..], &["uninstall", "a"]] {
        let run = people.run(&[arguments, &["--json"]].concat());
        let document: Value = serde_json::from_str(&run.stdout).unwrap();
        assert!(run.code == 0 && run.stderr.contains(warning), "{}", run.stderr);
        assert!(run.stderr.contains("`acp-registry config zed a`"), "{}", run.stderr);
        let named = &document["still_named"];
        assert_eq!(
            (&named[0]["version"], &named[0]["clients"], &named[1]),
            (&json!("1.2.0"), &json!(["zed"]), &json!(null))
        );
    }
}
