//! Damaged receipts and other records of the store.

use std::fs;

use serde_json::{Value, json};

use crate::archives::sha256;
use crate::people::{People, archive, host};

use crate::damage::installed;

#[test]
fn damaged_records_are_repaired_by_an_installation() {
    let (people, folder) = installed();
    let agent = folder.parent().unwrap();
    for file in [folder.join("receipt.json"), agent.join("current"), folder.join("files.json")] {
        for text in ["", "{", "[]", r#"{"schema":9}"#] {
            fs::write(&file, text).unwrap();
            let name = file.file_name().unwrap().to_str().unwrap();
            if name != "files.json" {
                let run = people.run(&["run", "a"]);
                assert_eq!(run.code, 3, "{name} {text}: {}", run.stdout);
                assert!(run.stderr.contains(name) && run.stderr.contains("`acp-registry doctor --fix a` repairs it"));
            }
            let run = people.run(&["install", "a"]);
            assert_eq!(run.code, 0, "{name} {text}: {}", run.stderr);
            assert_eq!(people.run(&["run", "a"]).stdout, "a-1.0.0 acp\n");
        }
    }
    let (version, current) = (folder.clone(), agent.join("current"));
    let harms: [(&str, &dyn Fn()); 3] = [
        ("is gone", &|| fs::remove_dir_all(&version).unwrap()),
        ("has no receipt", &|| fs::remove_file(version.join("receipt.json")).unwrap()),
        ("current is damaged (it is missing)", &|| fs::remove_file(&current).unwrap()),
    ];
    for (part, harm) in harms {
        harm();
        for (arguments, code) in [(&["update"][..], 3), (&["update", "--dry-run"], 3), (&["list", "--installed"], 0)] {
            let run = people.run(arguments);
            assert_eq!(run.code, code, "{part}: {} {}", run.stdout, run.stderr);
            let is_told = run.stderr.contains(part) && run.stderr.contains("`acp-registry doctor --fix a` repairs it");
            assert!(is_told && !run.stdout.contains("up to date"), "{part}: {} {}", run.stdout, run.stderr);
        }
        assert_eq!(people.run(&["install", "a"]).code, 0);
        assert_eq!(people.run(&["update"]).code, 0);
    }
}

#[test]
fn a_directory_in_the_place_of_a_record_is_to_be_removed() {
    let (people, folder) = installed();
    let current = folder.with_file_name("current");
    let record = fs::read(&current).unwrap();
    fs::remove_file(&current).unwrap();
    fs::create_dir_all(current.join("x")).unwrap();
    let before = people.left();
    let told = format!("{}: it is a directory", current.display());
    for arguments in [
        &["uninstall", "a"][..],
        &["uninstall", "a", "--dry-run"],
        &["doctor", "--fix", "a"],
        &["install", "a"],
        &["gc"],
    ] {
        let run = people.run(arguments);
        assert!(run.code != 0 && run.stderr.contains(&told), "{arguments:?}: {}{}", run.stdout, run.stderr);
        assert!(run.stderr.contains("help: remove it"), "{arguments:?}: {}", run.stderr);
    }
    let (_, document) = people.json(&["doctor", "a"]);
    let checks = document["agents"][0]["checks"].as_array().unwrap();
    let current_check = checks.iter().find(|check| check["name"] == "current").unwrap();
    assert!(current_check["help"].as_str().unwrap().starts_with("remove it"), "{document}");
    assert!(!checks.iter().any(|check| check["name"] == "foreign"), "{document}");
    assert_eq!(people.left(), before);
    fs::remove_dir_all(&current).unwrap();
    fs::write(&current, record).unwrap();

    let lock = people.root().join("agents/.a.lock");
    fs::remove_file(&lock).unwrap();
    fs::create_dir(&lock).unwrap();
    let run = people.run(&["uninstall", "a"]);
    assert!(run.code == 3 && run.stderr.contains(".a.lock: it is a directory"), "{}", run.stderr);
    assert!(run.stderr.contains("help: remove it") && folder.exists(), "{}", run.stderr);
}

#[test]
fn a_version_whose_receipt_is_lost_is_installed_again_and_no_other() {
    for name in ["a", "a@1.0.0"] {
        let (people, folder) = installed();
        assert_eq!(people.run(&["install", name]).code, 0);
        let pinned = json!(name != "a");
        people.publish(&[people.agent("a", "2.0.0")]);
        assert_eq!(people.run(&["list", "--refresh"]).code, 0);
        let harms: [&dyn Fn(); 2] =
            [&|| fs::write(folder.join("receipt.json"), "").unwrap(), &|| fs::remove_dir_all(&folder).unwrap()];
        for (harm, run) in harms.into_iter().zip([&["doctor", "--fix", "a"][..], &["run", "a"]]) {
            // It cannot be had: nothing takes its place.
            people.publish(&[people.agent("a", "2.0.0")]);
            assert_eq!(people.run(&["list", "--refresh"]).code, 0);
            harm();
            let refused = people.run(run);
            let told = "`a` 1.0.0 is lost, and cannot be installed again: ";
            let code = if run[0] == "run" { 2 } else { 1 };
            assert!(refused.code == code && refused.stderr.contains(told), "{run:?}: {}", refused.stderr);
            assert!(refused.stderr.contains("run `acp-registry install a@latest"), "{run:?}: {}", refused.stderr);
            assert!(!people.left().iter().any(|name| name.contains("2.0.0")), "{run:?}");
            // It can.
            people.publish(&[people.agent("a", "1.0.0")]);
            assert_eq!(people.run(&["list", "--refresh"]).code, 0);
            let repaired = people.run(run);
            assert!(folder.join("receipt.json").exists(), "{run:?}: {}", repaired.stderr);
            let (_, found) = people.json(&["which", "a"]);
            assert_eq!((&found["version"], &found["pinned"]), (&json!("1.0.0"), &pinned), "{run:?}");
        }
        // The remedy helps.
        people.publish(&[people.agent("a", "2.0.0")]);
        fs::write(folder.join("receipt.json"), "").unwrap();
        assert_eq!(people.run(&["install", "a@latest", "--refresh"]).code, 0);
        assert_eq!(people.run(&["run", "a"]).stdout, "a-2.0.0 acp\n");
    }
}

#[test]
fn a_version_whose_receipt_is_lost_is_not_removed_with_another_one() {
    let (people, _) = installed();
    people.publish(&[people.agent("a", "2.0.0")]);
    assert_eq!(people.run(&["update", "--refresh"]).code, 0);
    let (_, found) = people.json(&["which", "a"]);
    let folder = std::path::PathBuf::from(found["install_dir"].as_str().unwrap());
    fs::write(folder.join("receipt.json"), "").unwrap();
    let run = people.run(&["uninstall", "a@1.0.0"]);
    assert!(run.code == 2 && run.stderr.contains("`2.0.0` is installed as well"), "{}", run.stderr);
    assert!(folder.exists());
}

#[test]
fn a_version_whose_receipt_is_lost_is_not_replaced_by_other_bytes_of_its_number() {
    for name in ["a", "a@1.0.0"] {
        let (people, folder) = installed();
        assert_eq!(people.run(&["install", name]).code, 0);
        let own = people.agent("a", "1.0.0");
        let mut other = people.agent_of("a", "1.0.0-other", &archive("other"), None);
        other["version"] = "1.0.0".into();
        people.publish(&[other]);
        fs::remove_file(folder.join("receipt.json")).unwrap();
        for run in [&["doctor", "--fix", "a"][..], &["run", "a"], &["install", "a", "--refresh"], &["install", name]] {
            let refused = people.run(run);
            let told = "its record is lost, and what is offered as this version is from another place";
            assert!(refused.stderr.contains(told) || refused.stdout.contains(told), "{run:?}: {}", refused.stderr);
            assert!(refused.code == 4 || run[0] == "doctor", "{run:?}: {}", refused.stderr);
            assert!(!folder.join("receipt.json").exists(), "{run:?}");
        }
        // The same bytes are.
        people.publish(&[own]);
        let run = people.run(&["install", "a", "--refresh"]);
        assert!(run.code == 0 && folder.join("receipt.json").exists(), "{}", run.stderr);
        // A person may want the others.
        fs::remove_file(folder.join("receipt.json")).unwrap();
        let mut other = people.agent_of("a", "1.0.0-other", &archive("other"), None);
        other["version"] = "1.0.0".into();
        people.publish(&[other]);
        assert_eq!(people.run(&["uninstall", "a"]).code, 0);
        assert_eq!(people.run(&["install", "a", "--refresh"]).code, 0);
        assert_eq!(people.run(&["run", "a"]).stdout, "other acp\n");
    }
}

#[cfg(unix)]
#[test]
fn one_damaged_agent_keeps_no_other_from_its_turn() {
    let (people, folder) = installed();
    people.publish(&[people.agent("a", "2.0.0"), people.agent("b", "1.0.0")]);
    assert_eq!(people.run(&["install", "b", "--refresh"]).code, 0);
    people.publish(&[people.agent("a", "2.0.0"), people.agent("b", "2.0.0")]);
    fs::write(folder.parent().unwrap().join("current"), "{").unwrap();

    let (code, document) = people.json(&["list", "--installed"]);
    assert_eq!((code, &document["agents"][0]["id"], &document["errors"][0]["id"]), (0, &json!("b"), &json!("a")));
    let (code, document) = people.json(&["update", "--refresh"]);
    assert_eq!((code, &document["updates"][0]["id"], &document["errors"][0]["id"]), (3, &json!("b"), &json!("a")));
    assert_eq!(document["error"]["exit_code"], 3);
    let run = people.run(&["update", "a"]);
    assert_eq!(run.code, 3, "{}", run.stdout);
    assert!(
        run.stderr.contains("current") && run.stderr.contains("`acp-registry doctor --fix a` repairs it"),
        "{}",
        run.stderr
    );
    let (code, document) = people.json(&["gc"]);
    assert_eq!((code, &document["removed"][0]["id"], &document["errors"][0]["id"]), (3, &json!("b"), &json!("a")));

    let lock = people.root().join("agents/.b.lock");
    let elsewhere = people.env.path("elsewhere");
    fs::write(&elsewhere, "mine").unwrap();
    fs::remove_file(&lock).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &lock).unwrap();
    let (code, document) = people.json(&["uninstall", "--all"]);
    assert_eq!((code, &document["ids"], &document["errors"][0]["id"]), (3, &json!(["a"]), &json!("b")), "{document}");
    assert!(document["error"]["message"].as_str().unwrap().contains("is a link"), "{document}");
    assert_eq!(fs::read_to_string(elsewhere).unwrap(), "mine");
}

#[test]
fn a_receipt_that_this_program_would_not_write_is_damaged() {
    let (people, folder) = installed();
    let path = folder.join("receipt.json");
    let good: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let env = "/source/binary/env";
    let interpreter =
        |name: &str, program: &str, flag: &str| json!({ "name": name, "program": program, "flags": [flag] });
    for (member, value, part) in [
        (
            env,
            json!({ "EXAMPLE": "1", "LD_PRELOAD": "/x" }),
            "sets the environment variable `LD_PRELOAD`, which belongs to",
        ),
        (env, json!({ "node_options": "--require /x" }), "sets the environment variable `node_options`"),
        (env, json!({ "A=B": "" }), "`A=B`, which is not a name of an environment variable"),
        (env, json!({ "EXAMPLE": "\u{1b}[2J" }), "control characters in `env`: `\\u{1b}[2J`"),
        ("/id", json!("b"), "it is of another agent, `b`"),
        ("/version", json!("1.0.0\u{1b}[2J"), "control characters in `version`: `1.0.0\\u{1b}[2J`"),
        ("/proof/integrity", json!("sha512-x\r"), "control characters in `integrity`"),
        ("/proof/verified", json!("told"), "unknown variant `told`"),
        ("/source/binary/archive", json!("https://h.example/\n"), "control characters in `archive`"),
        ("/program", json!("files/bin/agent\u{7}"), "control characters in `program`"),
        ("/source/binary/args", json!(["acp", "a\0b"]), "control characters in `args`: `a\\u{0}b`"),
        ("/interpreter", interpreter("node\t", "/bin/sh", ""), "control characters in `name`"),
        ("/interpreter", interpreter("node", "/bin/sh\u{9b}", ""), "control characters in `program`"),
        ("/interpreter", interpreter("node", "/bin/sh", "\u{8}"), "control characters in `flags`"),
    ] {
        let mut receipt = good.clone();
        *receipt.pointer_mut(member).unwrap() = value;
        fs::write(&path, receipt.to_string()).unwrap();
        for arguments in [["run", "a"], ["which", "a"], ["login", "a"]] {
            let run = people.run(&arguments);
            assert_eq!((run.code, run.stdout.as_str()), (3, ""), "{arguments:?} {receipt}");
            assert!(run.stderr.contains(part) && run.stderr.contains("receipt.json is damaged ("), "{}", run.stderr);
            assert!(run.stderr.contains("`acp-registry doctor --fix a` repairs it"), "{}", run.stderr);
            assert!(!run.stderr.contains(['\u{1b}', '\u{9b}', '\u{7}', '\r']), "{:?}", run.stderr);
        }
        let run = people.run(&["install", "a"]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert_eq!(serde_json::from_slice::<Value>(&fs::read(&path).unwrap()).unwrap()["source"], good["source"]);
        assert_eq!(people.run(&["run", "a"]).stdout, "a-1.0.0 acp\n");
    }
    // Line breaks in an argument are allowed, but not for batch files, as the agent is one on Windows.
    if cfg!(windows) {
        return;
    }
    let mut receipt = good;
    receipt["source"]["binary"]["args"] = json!(["one\n\ttwo"]);
    fs::write(&path, receipt.to_string()).unwrap();
    assert_eq!(people.run(&["run", "a"]).stdout, "a-1.0.0 one\n\ttwo\n");
}

#[test]
fn what_could_not_be_believed_afterwards_is_not_installed() {
    let people = People::new();
    let bytes = archive("a");
    let mut agent = people.agent_of("a", "1.0.0", &bytes, Some(&sha256(&bytes)));
    agent["distribution"]["binary"][host()]["args"] = json!(["\u{1b}[2J"]);
    people.publish(&[agent]);
    let run = people.run(&["install", "a"]);
    assert_eq!((run.code, run.stdout.as_str()), (4, ""));
    assert!(
        run.stderr.contains("`a` is refused: there are control characters in `args`: `\\u{1b}[2J`"),
        "{}",
        run.stderr
    );
    assert_eq!(people.left(), [] as [&str; 0]);
}
