//! Reports usage errors of the parser: as text, as a JSON document, or as an event.

use std::ffi::OsString;
use std::io::{self, IsTerminal as _};
use std::process::ExitCode;

use acp_registry::settings;
use acp_registry::text::{printable, quote};
use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::documents::{Document, Event};
use crate::terminal::arguments::{color, find_command};
use crate::terminal::call;
use crate::terminal::call::EventSink;
use acp_registry::failure::{Exit, Failure};

/// Command names of other package managers, with the equivalent command, and the flag without which it would do more.
const OTHER_WORDS: [(&str, &str); 12] = [
    ("remove", "uninstall"),
    ("delete", "uninstall"),
    ("add", "install"),
    ("i", "install"),
    ("start", "run"),
    ("exec", "run"),
    ("show", "info"),
    ("find", "search"),
    ("check", "validate"),
    ("outdated", "update --dry-run"),
    ("clean", "gc"),
    ("prune", "gc"),
];

/// Handles the error that clap returns for invalid arguments, `--help` and `--version`.
pub(crate) fn answer(error: &clap::Error, arguments: &[OsString], program: &Command) -> ExitCode {
    let color = color(arguments);
    // Arguments after `--` belong to another program.
    let words = arguments.iter().skip(1).filter_map(|argument| argument.to_str()).take_while(|word| *word != "--");
    let words: Vec<&str> = words.collect();
    // clap does not escape what it quotes, but these are the caller's own arguments.
    let text = |is_terminal| {
        let text = error.render();
        if color.is_used(is_terminal) { text.ansi().to_string() } else { text.to_string() }
    };
    if !error.use_stderr() {
        let Err(failure) = call::write_result(&text(io::stdout().is_terminal())) else { return Exit::Success.into() };
        if has_value(&words, "--progress", "json") {
            EventSink::Stderr.send(&Event::Failed(failure.clone()));
        } else {
            call::write_stderr(&format!("error: {failure}\n"));
        }
        return failure.exit().into();
    }
    let command = find_command(&words, program);
    let swapped = swapped(error, &words, command);
    let failure = match &swapped {
        Some(right) => failure(error, command).suggest([]).help(format!("the client comes first: `{right}`")),
        None => failure(error, command),
    };
    if words.contains(&"--json") || has_value(&words, "--format", "json") {
        call::write_stdout(&Document::failed_command(command, failure.clone()).to_text());
    }
    if has_value(&words, "--progress", "json") {
        EventSink::Stderr.send(&Event::Failed(failure.clone()));
    } else if swapped.is_some()
        || unneeded(error, command).is_some()
        || misleads(error, command)
        || other_word(error).is_some()
    {
        let help = failure.advice().unwrap_or_default();
        call::write_stderr(&format!("error: {failure}\nhelp: {help}\n"));
    } else {
        call::write_stderr(&text(io::stderr().is_terminal()));
    }
    Exit::Usage.into()
}

fn has_value(words: &[&str], flag: &str, value: &str) -> bool {
    words.windows(2).any(|pair| pair == [flag, value])
        || words.iter().any(|word| word.strip_prefix(flag).and_then(|rest| rest.strip_prefix('=')) == Some(value))
}

/// The command name of another package manager that was given, and the equivalent command. clap's suggestions would mislead.
fn other_word(error: &clap::Error) -> Option<(&str, &'static str)> {
    match error.get(ContextKind::InvalidSubcommand)? {
        ContextValue::String(name) => Some((name.as_str(), OTHER_WORDS.iter().find(|(other, _)| other == name)?.1)),
        _ => None,
    }
}

/// What to do about a flag that the command does not have and does not need. The parser's tip would have it passed to another
/// program, or name a flag that weakens checks.
fn unneeded(error: &clap::Error, command: Option<&str>) -> Option<String> {
    let ContextValue::String(name) = error.get(ContextKind::InvalidArg)? else { return None };
    match (error.kind(), name.as_str(), command) {
        (ErrorKind::UnknownArgument, "--json", Some(command)) => {
            Some(format!("leave it out: `{command}` has no document in JSON"))
        }
        (ErrorKind::UnknownArgument, "--json", None) => Some("name a command before it".to_owned()),
        (ErrorKind::UnknownArgument, "--all", Some(command @ ("update" | "doctor"))) => {
            Some(format!("leave it out: without an agent, `{command}` takes all"))
        }
        _ => None,
    }
}

/// Whether the parser's tip is to pass a flag on as a value, to a command that passes none on.
fn misleads(error: &clap::Error, command: Option<&str>) -> bool {
    let (_, tip) = split_message(&error.to_string());
    tip.is_some_and(|tip| tip.starts_with("to pass "))
        && !command.is_some_and(|command| ["run", "probe", "serve-agent"].contains(&command))
}

/// The command that was probably meant where the agent and the client of `config` are in the wrong order.
fn swapped(error: &clap::Error, words: &[&str], command: Option<&str>) -> Option<String> {
    let ContextValue::String(agent) = error.get(ContextKind::InvalidValue)? else { return None };
    let mut named = words.iter().skip_while(|word| **word != agent).skip(1);
    let client = named.find(|word| !word.starts_with('-')).and_then(|word| settings::find(word))?;
    (command == Some("config")).then(|| format!("acp-registry config {} {}", client.id, printable(agent)))
}

/// Converts the error into a failure, like those of commands.
fn failure(error: &clap::Error, command: Option<&str>) -> Failure {
    let of_command = command.map_or_else(String::new, |command| format!(" {command}"));
    let more = format!("run `acp-registry{of_command} --help`");
    if let Some((name, command)) = other_word(error) {
        let failure = Failure::usage(format!("unrecognized subcommand {}", quote(name))).suggest([command]);
        return failure.help(format!("the command is `acp-registry {command}`"));
    }
    if matches!(error.kind(), ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand) {
        return Failure::usage("no command is named").help(more);
    }
    let (message, tip) = split_message(&error.to_string());
    let suggestions = suggestions(error);
    let failure = Failure::usage(printable(&message));
    if let Some(help) = unneeded(error, command) {
        return failure.help(help);
    }
    match tip {
        // The suggested name replaces the help.
        _ if !suggestions.is_empty() => failure.suggest(suggestions),
        Some(tip) if !misleads(error, command) => failure.help(printable(&tip)),
        _ => failure.help(more),
    }
}

/// Names similar to the wrong one, the most similar first. clap lists them in the opposite order.
fn suggestions(error: &clap::Error) -> Vec<&str> {
    let kinds = [ContextKind::SuggestedSubcommand, ContextKind::SuggestedArg, ContextKind::SuggestedValue];
    let names = kinds.into_iter().filter_map(|kind| error.get(kind)).flat_map(|value| match value {
        ContextValue::String(name) => std::slice::from_ref(name),
        ContextValue::Strings(names) => names,
        _ => &[],
    });
    let mut names: Vec<&str> = names.map(String::as_str).collect();
    names.reverse();
    names
}

/// The error in clap's message, on one line, and the first tip. It consists of the error, a list below it, tips, the usage and a
/// pointer to `--help`.
fn split_message(text: &str) -> (String, Option<String>) {
    let body = text.strip_prefix("error: ").unwrap_or(text);
    let is_end = |paragraph: &str| paragraph.starts_with("Usage:") || paragraph.starts_with("For more information");
    let (mut lines, mut tip) = (Vec::new(), None);
    for paragraph in body.split("\n\n").take_while(|paragraph| !is_end(paragraph)) {
        match paragraph.trim_start().strip_prefix("tip: ") {
            Some(text) => tip = tip.or_else(|| text.lines().next().map(|line| line.trim().to_owned())),
            None => lines.extend(paragraph.lines().map(str::trim).filter(|line| !line.is_empty())),
        }
    }
    let message = match lines.as_slice() {
        [head, items @ ..] if head.ends_with(':') => format!("{head} {}", items.join(", ")),
        lines => lines.join(" "),
    };
    (message, tip)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(line: &str) -> (String, String, Vec<String>) {
        let program = crate::commands::command();
        let error = program.clone().try_get_matches_from(line.split(' ')).unwrap_err();
        let command = line.split(' ').skip(1).find_map(|word| program.find_subcommand(word)).map(Command::get_name);
        let failure = failure(&error, command);
        (failure.to_string(), failure.advice().unwrap_or_default(), failure.suggestions().to_vec())
    }

    #[test]
    fn a_mistake_is_reported_in_full() {
        for (line, message, help, suggestions) in [
            (
                "p info",
                "the following required arguments were not provided: <ID[@VERSION]>",
                "run `acp-registry info --help`",
                &[][..],
            ),
            (
                "p publish",
                "the following required arguments were not provided: --to <DIR|s3://BUCKET[/PREFIX]>",
                "run `acp-registry publish --help`",
                &[],
            ),
            (
                "p install a --dist deb",
                "invalid value 'deb' for '--dist <KIND>' [possible values: binary, npx, uvx]",
                "run `acp-registry install --help`",
                &[],
            ),
            (
                "p install a --dist npxx",
                "invalid value 'npxx' for '--dist <KIND>' [possible values: binary, npx, uvx]",
                "did you mean `npx`?",
                &["npx"],
            ),
            (
                "p config vscod a",
                "invalid value 'vscod' for '<CLIENT>' [possible values: zed, jetbrains, codecompanion, avante, emacs, vscode, obsidian, qtcreator, jupyter, acpx, cli]",
                "did you mean `vscode`?",
                &["vscode"],
            ),
            (
                "p serve --json",
                "unexpected argument '--json' found",
                "leave it out: `serve` has no document in JSON",
                &[],
            ),
            (
                "p update --all",
                "unexpected argument '--all' found",
                "leave it out: without an agent, `update` takes all",
                &[],
            ),
            ("p --json", "unexpected argument '--json' found", "name a command before it", &[]),
            ("p list --jsn", "unexpected argument '--jsn' found", "did you mean `--json`?", &["--json"]),
            (
                "p instal",
                "unrecognized subcommand 'instal'",
                "did you mean `install`?",
                &["install", "uninstall", "list", "init"],
            ),
            (
                "p outdated",
                "unrecognized subcommand `outdated`",
                "the command is `acp-registry update --dry-run`",
                &["update --dry-run"],
            ),
            ("p remove", "unrecognized subcommand `remove`", "the command is `acp-registry uninstall`", &["uninstall"]),
            ("p", "no command is named", "run `acp-registry --help`", &[]),
        ] {
            let (got, advice, names) = document(line);
            assert_eq!((got.as_str(), advice.as_str()), (message, help), "{line}");
            assert_eq!(names, suggestions, "{line}");
        }
    }

    /// The message quotes the value as typed, and the help shows the expected form.
    #[test]
    fn a_value_that_cannot_be_read_has_its_form_as_help() {
        for (line, forms) in [
            ("p new x --npm @", &["`NAME` or `@SCOPE/NAME`", "`@VERSION`"][..]),
            ("p new x --pypi @", &["`NAME`", "`==VERSION`"]),
            ("p new x --github @", &["`OWNER/REPO`", "`@TAG`"]),
            ("p init --program @", &["`OWNER/REPO`", "`@TAG`"]),
            ("p init --pages @", &["`OWNER/REPO`"]),
            ("p bump --pull-requests --repository @", &["`OWNER/REPO`"]),
            ("p verify --out x --merge @", &["`1/4=one.json`"]),
        ] {
            for value in ["../x", "https://h.example/x", "x y", "-x", ""] {
                let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
                let words = words.into_iter().map(|word| if word == "@" { value.to_owned() } else { word });
                // A value that begins with a hyphen would be read as a flag.
                let mut words: Vec<String> = words.collect();
                let (last, flag) = (words.pop().unwrap(), words.pop().unwrap());
                words.push(format!("{flag}={last}"));
                let error = crate::commands::command().try_get_matches_from(&words).unwrap_err();
                let Some(failure) = failure_of_value(&error) else { panic!("{words:?}: {error}") };
                let (message, help) = (failure.to_string(), failure.advice().unwrap_or_default());
                assert!(message.contains(&format!("'{value}'")) && message.contains(&flag), "{words:?}: {message}");
                assert!(!message.contains("OWNER/REPO is wanted"), "{message}");
                assert!(forms.iter().all(|form| help.contains(form)), "{words:?}: {help}");
            }
        }
        for line in
            ["p verify --jobs 0", "p verify --jobs x", "p serve --port 65536", "p probe --protocol-version=-1 -- x"]
        {
            let (message, ..) = document(line);
            assert!(message.contains("write a whole number from "), "{line}: {message}");
        }
    }

    fn failure_of_value(error: &clap::Error) -> Option<Failure> {
        [ErrorKind::ValueValidation, ErrorKind::InvalidValue].contains(&error.kind()).then(|| failure(error, None))
    }

    #[test]
    fn a_tip_of_the_parser_is_the_help() {
        let text = "error: unexpected argument '-x' found\n\n  tip: to pass '-x' as a value, use '-- -x'\n\nUsage: p\n\nFor more information, try '--help'.\n";
        let (message, tip) = split_message(text);
        assert_eq!(message, "unexpected argument '-x' found");
        assert_eq!(tip.as_deref(), Some("to pass '-x' as a value, use '-- -x'"));
    }
}
