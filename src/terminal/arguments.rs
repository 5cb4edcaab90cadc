//! Reads the arguments before clap parses them: for flags of a command that precede its name, as in `acp-registry --root
//! DIR install ID`, and for the colours of help and usage errors.

use std::ffi::OsString;

use acp_registry::install::Start;
use clap::Command;

use crate::terminal::layout::ColorChoice;

/// Flags that may precede the command, and whether they take a value.
const FLAGS: [(&str, bool); 9] = [
    ("--index", true),
    ("--root", true),
    ("--platform", true),
    ("--wait", true),
    ("--offline", false),
    ("--trust-root", false),
    ("--refresh", false),
    ("--format", true),
    ("--json", false),
];

/// Moves these flags after the name of the command. Whether the command accepts them is left to the parser.
pub(crate) fn move_behind_command(arguments: Vec<OsString>, program: &Command) -> Vec<OsString> {
    let is_command = |word: &str| program.find_subcommand(word).is_some();
    let (mut before, mut moved) = (Vec::new(), Vec::new());
    let mut words = arguments.into_iter();
    before.extend(words.next());
    while let Some(word) = words.next() {
        let text = word.to_str().unwrap_or_default();
        if is_command(text) {
            before.push(word);
            before.append(&mut moved);
            break;
        }
        let name = text.split_once('=').map_or(text, |(name, _)| name);
        let Some((_, has_value)) = FLAGS.iter().find(|(flag, _)| *flag == name) else {
            let is_global_with_value = takes_value(program, text);
            before.push(word);
            if is_global_with_value {
                before.extend(words.next());
            }
            continue;
        };
        let needs_value = *has_value && !text.contains('=');
        moved.push(word);
        if needs_value {
            moved.extend(words.next());
        }
    }
    // Without a command, the arguments stay as they are, and the parser reports the missing command.
    before.append(&mut moved);
    before.extend(words);
    before
}

/// The value of `--color`.
pub(crate) fn color(arguments: &[OsString]) -> ColorChoice {
    let words = arguments.iter().map(|word| word.to_str().unwrap_or_default()).take_while(|word| *word != "--");
    let words: Vec<&str> = words.collect();
    let behind = words.windows(2).filter(|pair| pair[0] == "--color").map(|pair| pair[1]);
    let named = behind.chain(words.iter().filter_map(|word| word.strip_prefix("--color="))).last();
    match named {
        Some("always") => ColorChoice::Always,
        Some("never") => ColorChoice::Never,
        _ => ColorChoice::Auto,
    }
}

/// Whether a global flag takes a value, which could be equal to the name of a command.
fn takes_value(program: &Command, word: &str) -> bool {
    let flag = |long: &str| program.get_arguments().find(|argument| argument.get_long() == Some(long));
    word.strip_prefix("--").and_then(flag).is_some_and(|argument| argument.get_action().takes_values())
}

/// The name of the command among the words of a command line.
pub(crate) fn find_command<'a>(words: &[&str], program: &'a Command) -> Option<&'a str> {
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if let Some(command) = program.find_subcommand(word) {
            return Some(command.get_name());
        }
        if takes_value(program, word) {
            words.next();
        }
    }
    None
}

/// A command line that can be read, and pasted into a shell.
pub(crate) fn command_line(start: &Start) -> String {
    let variables = start.env.iter().map(|(name, value)| format!("{name}={}", quoted(value)));
    let program = quoted(&start.program.to_string_lossy());
    variables.chain([program, words(&start.args)]).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Arguments as they are written in a shell.
pub(crate) fn words(arguments: &[String]) -> String {
    arguments.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    // Shells of Windows take a backslash as it is.
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c) || (cfg!(windows) && c == '\\');
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[expect(clippy::disallowed_methods, reason = "it is the reader of what is tested")]
    #[test]
    fn a_shell_reads_words_as_they_were() {
        let odd = ["a", "a b", "", "\\", "\\n", "a\\", "it's", "$HOME", "`id`", "*", "~", "a\nb"].map(str::to_owned);
        let line = format!("printf '%s\\0' {}", words(&odd));
        let shell = std::process::Command::new("sh").args(["-c", &line]).output().unwrap();
        let read: Vec<&str> = std::str::from_utf8(&shell.stdout).unwrap().split_terminator('\0').collect();
        assert_eq!(read, odd);
    }

    #[test]
    fn help_and_mistakes_have_the_colours_that_are_wanted() {
        for (line, color) in
            [("p --color never list", ColorChoice::Never), ("p list --color=always", ColorChoice::Always)]
        {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            assert_eq!(super::color(&words), color, "{line}");
        }
    }

    #[test]
    fn flags_before_the_command_are_moved_behind_it() {
        let program = crate::commands::command();
        for (before, after) in [
            ("p --root r list", "p list --root r"),
            ("p --index=i -q --offline list --json", "p -q list --index=i --offline --json"),
            ("p --json --format json list", "p list --json --format json"),
            // Values are not taken for commands, and arguments after the command stay in place.
            ("p --root list install a", "p install --root list a"),
            ("p --config list validate --root x", "p --config list validate --root x"),
            ("p run a -- --root x", "p run a -- --root x"),
            ("p --root r", "p --root r"),
            ("p", "p"),
        ] {
            let words = before.split(' ').map(OsString::from).collect();
            let moved = move_behind_command(words, &program);
            let moved: Vec<&str> = moved.iter().filter_map(|word| word.to_str()).collect();
            assert_eq!(moved.join(" "), after);
        }
    }
}
