//! Commands in remedies, with the flags that a person has given: otherwise, they would act on other agents or another registry.

use std::sync::OnceLock;

use clap::ArgMatches;
use serde::Serialize;
use serde_json::Value;
use url::Url;

use crate::terminal::arguments::words;

/// Commands that read an index or change installed agents.
const ON_AGENTS: [&str; 16] = [
    "config", "doctor", "gc", "info", "install", "list", "login", "logout", "resolve", "rpc", "run", "search",
    "serve-agent", "uninstall", "update", "which",
];

/// Commands that read a registry and its configuration.
const ON_REGISTRIES: [&str; 7] = ["build", "bump", "new", "probe", "serve", "validate", "verify"];

/// Commands that send requests and have no other flag here.
const ON_PUBLICATIONS: [&str; 2] = ["diff", "publish"];

/// Flags that are repeated, with their names in [`ArgMatches`] and the commands that they are for.
const FLAGS: [(&str, &str, &[&[&str]]); 6] = [
    ("root", "--root", &[&ON_AGENTS]),
    ("index", "--index", &[&ON_AGENTS]),
    ("signer", "--signer", &[&ON_AGENTS]),
    ("registry_dir", "--registry-dir", &[&ON_REGISTRIES]),
    ("config", "--config", &[&ON_REGISTRIES]),
    ("allow_host", "--allow-host", &[&ON_AGENTS, &ON_REGISTRIES, &ON_PUBLICATIONS]),
];

/// A flag with its values as they are written in a shell, and the commands that it is for.
type GivenFlag = (&'static str, String, &'static [&'static [&'static str]]);

/// The flags of this run.
static GIVEN: OnceLock<Vec<GivenFlag>> = OnceLock::new();

/// Remembers the flags of this run.
pub(crate) fn remember(matches: &ArgMatches) {
    let given = FLAGS.into_iter().filter_map(|(name, flag, commands)| {
        let values = matches.try_get_raw(name).ok()??;
        let given = values.flat_map(|value| [flag.to_owned(), without_user(&value.to_string_lossy())]);
        Some((flag, words(&given.collect::<Vec<_>>()), commands))
    });
    // There is one command in a process.
    let _ = GIVEN.set(given.collect());
}

/// An address without a name and a password, which remedies do not show: logs keep them. Another value is as it was given.
fn without_user(value: &str) -> String {
    match Url::parse(value) {
        Ok(mut url) if !url.username().is_empty() || url.password().is_some() => {
            // These cannot fail for an address with a user.
            let _ = (url.set_username(""), url.set_password(None));
            url.into()
        }
        _ => value.to_owned(),
    }
}

/// A remedy with the flags of this run in its commands, which are between backticks.
pub(crate) fn complete(remedy: &str) -> String {
    let given = GIVEN.get().map(Vec::as_slice).unwrap_or_default();
    remedy.split('`').map(|part| with_flags(part, given)).collect::<Vec<_>>().join("`")
}

fn with_flags(part: &str, given: &[GivenFlag]) -> String {
    let command = part.strip_prefix("acp-registry ").and_then(|rest| rest.split(' ').next()).unwrap_or_default();
    let wanted =
        given.iter().filter(|(flag, _, commands)| commands.concat().contains(&command) && !part.contains(flag));
    let flags: String = wanted.map(|(_, given, _)| format!(" {given}")).collect();
    // What follows is for an agent.
    let (own, rest) = part.split_at(part.find(" -- ").unwrap_or(part.len()));
    format!("{own}{flags}{rest}")
}

/// A document or an event, with the flags of this run in its remedies; `None` where there are no such flags.
pub(crate) fn complete_document(document: &impl Serialize) -> Option<Value> {
    GIVEN.get().filter(|given| !given.is_empty())?;
    let mut document = serde_json::to_value(document).ok()?;
    complete_members(&mut document, &complete);
    Some(document)
}

/// Completes what is a remedy: `help` beside the message of a problem. Variables of an agent may have any names.
fn complete_members(value: &mut Value, complete: &impl Fn(&str) -> String) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| complete_members(item, complete)),
        Value::Object(members) => {
            let is_problem = members.contains_key("message");
            for (name, value) in members.iter_mut().filter(|(name, _)| *name != "env") {
                match value {
                    Value::String(help) if is_problem && name == "help" => *help = complete(help),
                    value => complete_members(value, complete),
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn commands_get_the_flags_that_they_have() {
        let given: Vec<GivenFlag> = vec![
            ("--root", "--root 'a b'".to_owned(), &[&ON_AGENTS]),
            ("--config", "--config c".to_owned(), &[&ON_REGISTRIES]),
        ];
        for (part, expected) in [
            ("acp-registry gc", "acp-registry gc --root 'a b'"),
            ("acp-registry run a -- x", "acp-registry run a --root 'a b' -- x"),
            ("acp-registry gc --root b", "acp-registry gc --root b"),
            ("acp-registry verify a", "acp-registry verify a --config c"),
            ("acp-registry explain RULE", "acp-registry explain RULE"),
            (" removes them", " removes them"),
        ] {
            assert_eq!(with_flags(part, &given), expected);
        }
    }

    #[test]
    fn no_password_is_repeated() {
        for (given, shown) in [
            ("https://me:hunter2@h.example/r.json?x=1", "https://h.example/r.json?x=1"),
            ("https://token@h.example/r.json", "https://h.example/r.json"),
            ("https://h.example/a@b", "https://h.example/a@b"),
            ("me@h", "me@h"),
            ("a b/r.json", "a b/r.json"),
        ] {
            assert_eq!(without_user(given), shown);
        }
    }

    #[test]
    fn remedies_are_completed_and_nothing_else() {
        let mut document = json!({
            "error": { "message": "m", "help": "h" }, "checks": [{ "message": "m", "help": "h" }, { "help": "h" }],
            "env": { "message": "m", "help": "h" }, "help": "h",
        });
        complete_members(&mut document, &str::to_uppercase);
        let expected = json!({
            "error": { "message": "m", "help": "H" }, "checks": [{ "message": "m", "help": "H" }, { "help": "h" }],
            "env": { "message": "m", "help": "h" }, "help": "h",
        });
        assert_eq!(document, expected);
    }

    #[test]
    fn the_commands_have_the_flags() {
        let mut program = crate::commands::command();
        program.build();
        let has_root = |command: &&clap::Command| command.get_arguments().any(|one| one.get_long() == Some("root"));
        let mut names: Vec<&str> = program.get_subcommands().filter(has_root).map(clap::Command::get_name).collect();
        names.sort_unstable();
        assert_eq!(names, ON_AGENTS);
        assert!(ON_REGISTRIES.iter().all(|name| program.find_subcommand(name).is_some()));
    }
}
