//! Runs every command in the README and the guides, and checks that it does what the text says.
//!
//! Each document is one scenario. Its `sh` and `console` blocks run in order, as in one shell, with an index, package
//! registries and GitHub on loopback. The words after the kind of a block are a file to write (`toml registry.toml`) or
//! the exit code of the last command (`sh exit-1`). Linux only, since `timeout` ends commands that would not end.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use pulldown_cmark::{Event, Options, Parser};
use serde_json::{Value, json};

use crate::docs::COMMANDS;
use crate::guides_world::{Block, World, blocks, document};
use crate::support::{Env, ICON, PROGRAM, Run, manifest};

const GUIDES: [&str; 5] = [
    "README.md", "docs/guides/user.md", "docs/guides/contributor.md", "docs/guides/maintainer.md",
    "docs/guides/client-author.md",
];

/// The reference pages, which form one scenario.
const REFERENCE: [&str; 9] = [
    "docs/registries.md", "docs/checking.md", "docs/publishing.md", "docs/verifying.md", "docs/examining.md",
    "docs/installing.md", "docs/bumping.md", "docs/configuration.md", "docs/rpc.md",
];

pub(crate) fn documents() -> impl Iterator<Item = &'static str> {
    GUIDES.into_iter().chain(REFERENCE)
}

/// Prefixes of lines that are not run, with the reason.
pub(crate) const NOT_RUN: [(&str, &str); 1] =
    [("make ", "recipes of this repository: another test looks for them, and CI runs them")];

/// An icon with a finding.
fn orange() -> String {
    ICON.replace("currentColor", "#f50")
}

#[test]
fn the_guide_for_users_is_true() {
    let mut world = World::new("users");
    world.follow("docs/guides/user.md", |world, block| {
        if block.section == "Update or pin" && block.exit() == 1 {
            world.publish("1.3.0");
            // The cached index would count as fresh for five minutes.
            let _ = fs::remove_dir_all(world.people.env.path("home/.cache"));
        }
    });
    assert!(!world.people.env.path("home/.local/share/acp-registry").exists(), "everything was to be removed");
}

#[test]
fn the_guide_for_contributors_is_true() {
    let mut world = World::new("contributors");
    world.write("README.md", "a registry");
    world.follow("docs/guides/contributor.md", |world, block| match block.section.as_str() {
        "Check it" => world.write("gemini/icon.svg", &if block.exit() == 1 { orange() } else { ICON.to_owned() }),
        "Later versions" if block.exit() == 1 => world.release("1.3.0"),
        _ => (),
    });
    let manifest: Value =
        serde_json::from_str(&fs::read_to_string(world.folder().join("gemini/agent.json")).unwrap()).unwrap();
    assert_eq!(manifest["version"], "1.3.0");
}

#[test]
fn the_guide_for_maintainers_is_true() {
    let mut world = World::new("maintainers");
    world.follow("docs/guides/maintainer.md", |world, block| match block.section.as_str() {
        "See whether agents work" => {
            world.write("otheragent/agent.json", &manifest("otheragent"));
            world.write("otheragent/icon.svg", ICON);
        }
        "Keep versions up to date" if block.exit() == 1 => world.release("1.3.0"),
        _ => (),
    });
    let published = fs::read_to_string(world.people.env.path("srv/registry/latest/registry.json")).unwrap();
    assert!(published.contains("\"otheragent\"") && published.contains("\"1.2.0\""));
}

#[test]
fn the_guide_for_authors_of_clients_is_true() {
    let mut world = World::new("authors");
    world.follow("docs/guides/client-author.md", |world, block| match block.section.as_str() {
        "Ask for the command line" if block.text.contains("resolve") => {
            world.prepare("acp-registry uninstall gemini");
        }
        "Show a choice" if block.exit() == 1 => {
            world.publish("1.3.0");
            let _ = fs::remove_dir_all(world.people.env.path("home/.cache"));
        }
        _ => (),
    });
}

#[test]
fn the_readme_is_true() {
    World::new("readme").follow("README.md", |_, _| ());
}

#[test]
fn the_reference_is_true() {
    let mut world = World::new("reference");
    let before = |world: &mut World, block: &Block| match block.section.as_str() {
        "Add an agent" => world.prepare("cd my-registry"),
        "Check a registry" => world.write("someagent/icon.svg", &orange()),
        "Check over the network" => world.write("someagent/icon.svg", ICON),
        "All agents of a registry" => {
            let mut other: Value = serde_json::from_str(&manifest("other")).unwrap();
            other["distribution"] = json!({ "uvx": { "package": "other==1.0.0" } });
            world.write("other/agent.json", &other.to_string());
        }
        "Update a registry" => world.release("1.3.0"),
        _ => (),
    };
    let seen: usize = REFERENCE.iter().map(|path| world.run_blocks(path, &before)).sum();
    assert!(seen >= 12, "only {seen} blocks");
}

#[test]
fn what_is_not_run_stands_in_a_document() {
    let all: Vec<String> =
        documents().flat_map(|path| blocks(&document(path))).map(|block| block.commands().join("\n")).collect();
    for (start, why) in NOT_RUN {
        let stands = all.iter().flat_map(|text| text.lines()).any(|line| line.starts_with(start));
        assert!(stands && !why.is_empty(), "no document has a line that begins with `{start}`");
    }
}

/// The code spans of the text and of tables.
fn spans(path: &str) -> Vec<String> {
    let text = document(path);
    let spans = Parser::new_ext(&text, Options::ENABLE_TABLES).filter_map(|event| match event {
        Event::Code(text) => Some(text.to_string()),
        _ => None,
    });
    spans.collect()
}

#[test]
fn every_command_in_a_sentence_is_one() {
    let env = Env::empty();
    let help: String = COMMANDS
        .iter()
        .map(|command| env.run(&[&command.split(' ').collect::<Vec<_>>()[..], &["--help"]].concat()).stdout)
        .collect();
    let flags: BTreeSet<&str> = help
        .split([' ', '\n', '`', ',', '|', '<', '=', ';', ')', '(', '.'])
        .filter(|word| word.starts_with("--"))
        .collect();
    let mut seen = 0;
    for path in documents() {
        for span in spans(path) {
            let first = span.split(' ').next().unwrap();
            let is_part = COMMANDS.contains(&first) && span.contains(" --");
            if span.starts_with("acp-registry ") || is_part {
                let command = span.strip_prefix("acp-registry ").unwrap_or(&span);
                // The arguments are split by the shell; `--help` comes last, after any invalid argument.
                let (own, _) = command.split_once(" -- ").unwrap_or((command, ""));
                let script = format!("\"$PROGRAM\" {} --help", own.replace("$(", "\\$("));
                let mut bash = Command::new("bash");
                bash.args(["-euc", &script]).env("PROGRAM", PROGRAM).current_dir(env.path(""));
                let run = Run::of(&mut bash);
                assert_eq!(run.code, 0, "{path}: {span}\n{}", run.stderr);
                seen += 1;
            } else if first.starts_with("--") {
                assert!(flags.contains(first), "{path}: {span}");
                seen += 1;
            }
        }
    }
    assert!(seen > 60, "only {seen}");
}
