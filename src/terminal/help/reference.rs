//! Generates one page of Markdown per command from its help, so that flags are described in one place.

use std::fmt::Write as _;

use clap::{Arg, Command};

/// Renders the page of a command. `name` is the full command line, such as `acp-registry publish prune`.
pub(crate) fn page(name: &str, command: &Command) -> String {
    let mut text = format!("# {name}\n\n{}\n\n", about(command));
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ");
    let usage = usage.strip_prefix(command.get_name()).map_or(usage.to_owned(), |rest| format!("{name}{rest}"));
    let usage = usage.lines().map(str::trim).collect::<Vec<_>>().join("\n");
    let _ = writeln!(text, "```text\n{usage}\n```");
    for (heading, arguments) in groups(command) {
        let _ = writeln!(text, "\n## {heading}\n\n| {} | meaning |\n|---|---|", column(&heading));
        for argument in arguments {
            let _ = writeln!(text, "| {} | {} |", form(argument), meaning(argument));
        }
    }
    if let Some(more) = command.get_after_long_help().or(command.get_after_help()) {
        let _ = writeln!(text, "\n## Examples and notes\n\n```text\n{}\n```", more.to_string().trim_end());
    }
    text
}

/// Renders the list of all pages.
pub(crate) fn contents<'a>(pages: impl Iterator<Item = (String, &'a Command)>) -> String {
    let mut text = "# Commands\n\n| command | what it does |\n|---|---|\n".to_owned();
    for (name, command) in pages {
        let aliases: String = command.get_visible_aliases().map(|alias| format!(", also `{alias}`")).collect();
        let _ = writeln!(text, "| [{name}]({}.md){aliases} | {} |", name.replace(' ', "-"), cell(&first(command)));
    }
    text
}

fn about(command: &Command) -> String {
    let about = command.get_long_about().or(command.get_about()).map(ToString::to_string).unwrap_or_default();
    about.split("\n\n").map(sentence).collect::<Vec<_>>().join("\n\n")
}

fn first(command: &Command) -> String {
    command.get_about().map(ToString::to_string).unwrap_or_default()
}

/// Adds the full stop that clap removes from the end of a paragraph.
fn sentence(text: &str) -> String {
    let text = text.trim_end();
    if text.is_empty() || text.ends_with(['.', '?', ':']) { text.to_owned() } else { format!("{text}.") }
}

/// Groups arguments and options by heading, in the order of the help.
fn groups(command: &Command) -> Vec<(String, Vec<&Arg>)> {
    let mut groups: Vec<(String, Vec<&Arg>)> = Vec::new();
    let shown = command.get_arguments().filter(|argument| !argument.is_hide_set() && !argument.is_hide_long_help_set());
    for argument in shown {
        let usual = if argument.is_positional() { "Arguments" } else { "Options" };
        let heading = argument.get_help_heading().unwrap_or(usual).to_owned();
        match groups.iter_mut().find(|(name, _)| *name == heading) {
            Some((_, arguments)) => arguments.push(argument),
            None => groups.push((heading, vec![argument])),
        }
    }
    let rank = |heading: &str| match heading {
        "Arguments" => 0,
        "Options" => 1,
        "Global options" => 3,
        _ => 2,
    };
    groups.sort_by_key(|(heading, _)| rank(heading));
    groups
}

fn column(heading: &str) -> &'static str {
    if heading == "Arguments" { "argument" } else { "flag" }
}

fn form(argument: &Arg) -> String {
    let value = || {
        let names: Vec<&str> =
            argument.get_value_names().unwrap_or_default().iter().map(clap::builder::Str::as_str).collect();
        names.join(" ")
    };
    let form = if argument.is_positional() {
        value()
    } else {
        let names = [
            argument.get_short().map(|short| format!("-{short}")),
            argument.get_long().map(|long| format!("--{long}")),
        ];
        let names: Vec<String> = names.into_iter().flatten().collect();
        let takes_value = argument.get_action().takes_values();
        if takes_value { format!("{} {}", names.join(", "), value()) } else { names.join(", ") }
    };
    format!("`{}`", cell(&form))
}

fn meaning(argument: &Arg) -> String {
    let help = argument.get_long_help().or(argument.get_help()).map(ToString::to_string).unwrap_or_default();
    // The first paragraph is the short help.
    let mut text = cell(&help.split("\n\n").map(|part| part.trim_end_matches('.')).collect::<Vec<_>>().join(". "));
    let values: Vec<String> = argument
        .get_possible_values()
        .iter()
        .filter(|value| !value.is_hide_set() && argument.get_action().takes_values())
        .map(|value| match value.get_help() {
            Some(help) => format!("`{}` ({})", value.get_name(), cell(&help.to_string())),
            None => format!("`{}`", value.get_name()),
        })
        .collect();
    if !values.is_empty() && !argument.is_hide_possible_values_set() {
        let _ = write!(text, "; one of {}", values.join(", "));
    }
    if let Some(aliases) = argument.get_visible_aliases().filter(|aliases| !aliases.is_empty()) {
        let aliases: Vec<String> = aliases.iter().map(|alias| format!("`--{alias}`")).collect();
        let _ = write!(text, "; also {}", aliases.join(", "));
    }
    if let [default] = argument.get_default_values()
        && argument.get_action().takes_values()
        && !argument.is_hide_default_value_set()
    {
        let _ = write!(text, " [default: `{}`]", default.to_string_lossy());
    }
    text
}

/// Escapes a text for a cell of a table, on one line.
fn cell(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_what_the_help_has() {
        let command = Command::new("prune")
            .about("Remove old snapshots")
            .arg(Arg::new("to").value_name("URL|DIR").required(true).help("Where"))
            .arg(
                Arg::new("form")
                    .long("form")
                    .short('f')
                    .value_name("X")
                    .value_parser(["a", "b"])
                    .default_value("a")
                    .help("A | b"),
            )
            .arg(
                Arg::new("quiet")
                    .long("quiet")
                    .action(clap::ArgAction::SetTrue)
                    .help_heading("Global options")
                    .help("Less"),
            )
            .arg(Arg::new("secret").long("secret").hide(true));
        let text = page("acp-registry publish prune", &command);
        for part in [
            "# acp-registry publish prune\n\nRemove old snapshots.\n",
            "acp-registry publish prune [OPTIONS] <URL|DIR>",
            "## Arguments\n\n| argument | meaning |\n|---|---|\n| `URL\\|DIR` | Where |",
            "| `-f, --form X` | A \\| b; one of `a`, `b` [default: `a`] |",
            "## Global options\n\n| flag | meaning |\n|---|---|\n| `--quiet` | Less |",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
        assert!(!text.contains("secret"), "{text}");
    }
}
