//! Completion in real shells: the candidates, without requests and without messages.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::people::{People, entry};
use crate::support::{PROGRAM, Run, skipped};

const SHELLS: [&str; 3] = ["bash", "zsh", "fish"];

/// Returns the candidates that a shell offers for the last word; `None` if the shell is not installed.
fn offers(people: &People, shell: &str, words: &[&str]) -> Option<Vec<String>> {
    let script = people.run(&["completions", shell]).stdout;
    people.env.write("completions", &script);
    // The variables that the shell sets when the completion key is pressed.
    let ask = match shell {
        "bash" => {
            "source ./completions\nf=$(complete -p acp-registry); f=${f##*-F }; f=${f%% *}\n\
             COMP_WORDS=(\"$@\"); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMP_TYPE=9\n\
             $f \"$1\" \"${COMP_WORDS[COMP_CWORD]}\"\nprintf '%s\\n' \"${COMPREPLY[@]}\""
        }
        "zsh" => {
            "compdef() { f=$1 }; _describe() { print -l -- ${${(P)argv[-1]}%%:*} }\nsource ./completions\n\
             words=(\"$@\"); CURRENT=$#; $f; true"
        }
        "fish" => "source ./completions; complete -C \"$argv[2..]\" | string split -f1 \\t; true",
        _ => unreachable!(),
    };
    let mut command = if shell == "fish" { fish(ask, words) } else { sh(shell, ask, words) };
    let known = people.command(&[]);
    command.envs(known.get_envs().filter_map(|(name, value)| Some((name, value?)))).current_dir(people.env.path(""));
    let mut path = OsString::from(Path::new(PROGRAM).parent().unwrap());
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap());
    command.env("PATH", path);
    let Ok(run) = Run::try_of(&mut command) else {
        skipped("completions", &format!("{shell} is not installed"));
        return None;
    };
    assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{shell}: {}", run.stdout);
    Some(run.stdout.lines().filter(|line| !line.is_empty()).map(ToOwned::to_owned).collect())
}

fn sh(shell: &str, ask: &str, words: &[&str]) -> Command {
    let mut command = Command::new(shell);
    let flags: &[&str] = if shell == "bash" { &["--norc", "--noprofile"] } else { &["-f"] };
    command.env_clear().args(flags).args(["-c", ask, shell]).args(words);
    command
}

fn fish(ask: &str, words: &[&str]) -> Command {
    let mut command = Command::new("fish");
    // Passed as one command line.
    command.env_clear().args(["--no-config", "-c", ask, "--", "fish", &words.join(" ")]);
    command
}

fn people() -> People {
    let people = People::new();
    people.publish(&[
        people.agent("someagent", "1.0.0"),
        entry("other", "1.0.0", &json!({ "npx": { "package": "o@1.0.0" } })),
    ]);
    people
}

#[test]
fn agents_are_those_of_the_index_and_those_that_are_installed() {
    let people = people();
    assert_eq!(people.run(&["install", "someagent"]).code, 0);
    let asked = people.server.asked().len();
    // A pull request may contain folders with any name.
    people.env.write("registry/mine/agent.json", "{}");
    people.env.write("registry/m$(touch pwned)/agent.json", "{}");
    for shell in SHELLS {
        for (words, expected) in [
            (&["acp-registry", "info", "o"][..], &["other"][..]),
            (&["acp-registry", "install", "other", "some"], &["someagent"]),
            (&["acp-registry", "--quiet", "resolve", "ot"], &["other"]),
            (&["acp-registry", "config", "zed", "o"], &["other"]),
            (&["acp-registry", "config", "cod"], &["codecompanion"]),
            (&["acp-registry", "run", "s"], &["someagent"]),
            (&["acp-registry", "run", "o"], &[]),
            (&["acp-registry", "which", "s"], &["someagent"]),
            (&["acp-registry", "update", "o"], &[]),
            (&["acp-registry", "uninstall", "s"], &["someagent"]),
            (&["acp-registry", "validate", "m"], &["mine"]),
            (&["acp-registry", "explain", "icon/si"], &["icon/size"]),
            (&["acp-registry", "validate", "--allow", "icon/si"], &["icon/size"]),
            (&["acp-registry", "list", "--platform", "linux-x"], &["linux-x86_64"]),
            (&["acp-registry", "completions", "po"], &["powershell"]),
            (&["acp-registry", "uninst"], &["uninstall"]),
            (&["acp-registry", "upg"], &["upgrade"]),
            (&["acp-registry", "rm", "s"], &["someagent"]),
            (&["acp-registry", "run", "someagent", "--", "x"], &[]),
        ] {
            if let Some(offers) = offers(&people, shell, words) {
                assert_eq!(offers, expected, "{shell}: {words:?}");
            }
        }
    }
    for shell in SHELLS {
        let Some(offers) = offers(&people, shell, &["acp-registry", ""]) else { continue };
        let has = |name: &str| offers.iter().any(|offer| offer == name);
        assert!(["list", "update", "uninstall"].iter().all(|name| has(name)), "{shell}: {offers:?}");
        assert!(!["ls", "upgrade", "rm"].iter().any(|name| has(name)), "{shell}: {offers:?}");
        let of_alias = self::offers(&people, shell, &["acp-registry", "rm", ""]).unwrap();
        assert!(of_alias.contains(&"someagent".to_owned()), "{shell}: {of_alias:?}");
    }
    assert_eq!(people.server.asked().len(), asked, "completion sends no request");
}

#[cfg(unix)]
#[test]
fn without_anything_to_offer_nothing_is_said() {
    let people = people();
    for shell in SHELLS {
        assert_eq!(offers(&people, shell, &["acp-registry", "info", "o"]).unwrap_or_default(), [] as [String; 0]);
        assert_eq!(offers(&people, shell, &["acp-registry", "nothing", "x"]).unwrap_or_default(), [] as [String; 0]);
    }
    assert_eq!(people.server.asked(), [] as [String; 0]);
    // A damaged copy, a file that is not an index, and a root that is a file.
    assert_eq!(people.run(&["list"]).code, 0);
    let copies = people.env.path("home/.cache/acp-registry/indexes");
    for file in std::fs::read_dir(copies).unwrap() {
        std::fs::write(file.unwrap().path(), "{}\n<html>").unwrap();
    }
    people.env.write("data", "");
    for shell in SHELLS {
        for command in ["info", "run"] {
            let words = ["acp-registry", command, "o"];
            assert_eq!(offers(&people, shell, &words).unwrap_or_default(), [] as [String; 0]);
        }
    }
}

#[test]
fn scripts_are_for_known_shells_and_belong_to_this_program() {
    let people = people();
    for shell in ["bash", "zsh", "fish", "powershell", "pwsh"] {
        let run = people.run(&["completions", shell]);
        assert_eq!((run.code, run.stderr.as_str()), (0, ""));
        assert!(run.stdout.contains("ACP_REGISTRY_COMPLETE") && !run.stdout.contains(PROGRAM), "{}", run.stdout);
    }
    let run = people.run(&["completions", "csh"]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""));
    // With the variable alone, and an unknown shell, nothing is printed.
    let run = Run::of(people.command(&["list"]).env("ACP_REGISTRY_COMPLETE", "tcsh"));
    assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), (3, "", ""));
}
