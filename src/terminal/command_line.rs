//! Command lines that can be read, and pasted into a shell.

use acp_registry::install::Start;

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
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,\\".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}
