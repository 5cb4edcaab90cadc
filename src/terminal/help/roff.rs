//! Manual pages: the sections that `clap_mangen` generates, and the others.

use std::fmt::Write as _;

use clap::Command;
use clap_mangen::Man;

use crate::terminal::help::{self, examples};

/// Environment variables that commands read, with their meaning.
const VARIABLES: [(&str, &str); 23] = [
    ("ACP_REGISTRY_INDEX", "The registry index, where --index names none."),
    ("ACP_REGISTRY_ROOT", "Where agents are installed, where --root names no directory."),
    ("ACP_REGISTRY_NPM", "The base address of the npm registry, instead of the one that npm uses."),
    ("ACP_REGISTRY_PYPI", "The base address of the Python package index, instead of the one that uv and pip use."),
    (
        "ACP_REGISTRY_PATH",
        "Directories at the end of the PATH of agents, instead of the usual ones of the system and of the user.",
    ),
    ("ACP_REGISTRY_SIGNER", "The key that signs the registry, where --signer names none."),
    (
        "ACP_REGISTRY_SIGNING_KEY",
        "The secret key of minisign that publish signs with, where --sign-with names no command.",
    ),
    ("ACP_REGISTRY_TRUSTED_ROOT", "The trusted_root.json that attestations are verified with."),
    ("ACP_REGISTRY_LOG", "Which messages of the program's parts are logged, such as debug."),
    ("GITHUB_TOKEN", "Sent to GitHub and to no other host; raises its limit of requests."),
    ("GITHUB_API_URL", "The address of the GitHub API."),
    ("GITHUB_REPOSITORY", "The repository of pull requests, where bump --repository names none."),
    ("SOURCE_DATE_EPOCH", "The time of a build, in seconds since 1970, so that it can be repeated."),
    ("HTTPS_PROXY", "The proxy for https addresses."),
    ("HTTP_PROXY", "The proxy for http addresses."),
    ("ALL_PROXY", "The proxy for addresses that have no variable of their own."),
    ("NO_PROXY", "Hosts that are reached without a proxy."),
    ("SSL_CERT_FILE, SSL_CERT_DIR", "Certificate authorities that are trusted instead of those of the system."),
    (
        "NVM_DIR, FNM_DIR, VOLTA_HOME, MISE_DATA_DIR, ASDF_DATA_DIR, HOMEBREW_PREFIX",
        "Where a Node.js is searched that is not in PATH.",
    ),
    ("UV_PYTHON", "The Python that uv uses for agents of the Python package index."),
    ("NO_COLOR", "Any value turns colours off."),
    ("CI", "Any value turns colours and progress bars off."),
    (
        "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION, AWS_ENDPOINT_URL",
        "The bucket that publish sends to.",
    ),
];

/// Renders the page of a command.
pub(crate) fn page(program: &Command, command: &Command) -> std::io::Result<Vec<u8>> {
    let examples = examples::of(words(program, command));
    let notes = command.get_after_long_help().map(ToString::to_string).unwrap_or_default();
    let notes = examples::notes_before(&notes);
    let version = program.get_version().unwrap_or_default();
    let man = Man::new(command.clone().after_help(None::<&str>).after_long_help(None::<&str>));
    let title = man.get_filename();
    // The page has no date, so that the output is reproducible.
    let title = text(title.trim_end_matches(".1"));
    let source = format!("{} {version}", program.get_name());
    let mut page = format!(".TH \"{title}\" 1 \"\" \"{source}\" \"General Commands Manual\"\n").into_bytes();
    man.render_name_section(&mut page)?;
    page.extend_from_slice(synopsis(command).as_bytes());
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    let mut more = String::new();
    if !notes.is_empty() {
        let _ = write!(more, ".SH NOTES\n{}", literal(notes));
    }
    if !examples.is_empty() {
        more.push_str(".SH EXAMPLES\n");
        for (line, about) in examples {
            let _ = write!(more, ".PP\n{}:\n{}", text(about), literal(line));
        }
    }
    more.push_str(".SH ENVIRONMENT\n");
    for (name, meaning) in VARIABLES {
        let _ = write!(more, ".TP\n{}\n{}\n", text(name), text(meaning));
    }
    more.push_str(&exit_status());
    let pages: Vec<String> = related(program, command).iter().map(|name| format!("{}(1)", text(name))).collect();
    let _ = write!(more, ".SH SEE ALSO\n{}\n", pages.join(",\n"));
    page.extend_from_slice(more.as_bytes());
    Ok(page)
}

/// The names of related pages: those of the program and of commands with the same role.
fn related(program: &Command, command: &Command) -> Vec<String> {
    let name = program.get_name();
    let page = |command: &str| format!("{name}-{command}");
    if command.get_name() == name {
        let shown = program.get_subcommands().filter(|command| !command.is_hide_set());
        return shown.map(|command| page(command.get_name())).collect();
    }
    let own = command.get_name();
    // A subcommand has no role of its own.
    let others: Vec<String> = match words(program, command).split_once(' ') {
        Some((above, _)) => vec![page(above)],
        None => help::same_role(own).iter().filter(|other| **other != own).map(|other| page(other)).collect(),
    };
    let below = command.get_subcommands().filter(|below| !below.is_hide_set());
    let below = below.map(|below| page(&format!("{own}-{}", below.get_name())));
    std::iter::once(name.to_owned()).chain(below).chain(others).collect()
}

/// The words of a command after the program's name, such as `publish prune`.
fn words<'a>(program: &Command, command: &'a Command) -> &'a str {
    let line = command.get_bin_name().unwrap_or(command.get_name());
    line.strip_prefix(program.get_name()).map_or(line, str::trim_start)
}

/// The synopsis of a command and its subcommands.
fn synopsis(command: &Command) -> String {
    let below = command.get_subcommands().filter(|below| !below.is_hide_set());
    let mut out = ".SH SYNOPSIS\n".to_owned();
    for (at, one) in std::iter::once(command).chain(below).enumerate() {
        let usage = one.clone().render_usage().to_string();
        for (number, line) in usage.trim_start_matches("Usage: ").lines().map(str::trim).enumerate() {
            let name = one.get_bin_name().unwrap_or(one.get_name());
            let rest = line.strip_prefix(name).unwrap_or(line);
            let separator = if at + number > 0 { ".br\n" } else { "" };
            let _ = writeln!(out, "{separator}\\fB{}\\fR{}", text(name), text(rest));
        }
    }
    out
}

/// The section with the exit codes.
fn exit_status() -> String {
    let codes = help::EXIT_CODES.iter().map(|(code, meaning)| format!(".TP\n{code}\n{}\n", marked(meaning)));
    std::iter::once(".SH \"EXIT STATUS\"\n".to_owned()).chain(codes).collect()
}

/// Renders lines verbatim.
fn literal(lines: &str) -> String {
    let lines: String = lines.lines().map(|line| text(line) + "\n").collect();
    format!(".PP\n.RS 4\n.nf\n{lines}.fi\n.RE\n")
}

/// Escapes a line for roff. A plain hyphen could be typeset as another character, and would then break copied commands.
fn text(line: &str) -> String {
    let line = line.replace('\\', "\\e").replace('-', "\\-");
    if line.starts_with(['.', '\'']) { format!("\\&{line}") } else { line }
}

/// Escapes a line, and sets text between backticks in bold.
fn marked(line: &str) -> String {
    let parts = line.split('`').enumerate();
    let shown = parts.map(|(at, part)| if at % 2 == 1 { format!("\\fB{}\\fR", text(part)) } else { text(part) });
    shown.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_line_is_a_request() {
        assert_eq!(text(".x --y \\n"), "\\&.x \\-\\-y \\en");
        assert_eq!(marked("for `run -x` only"), "for \\fBrun \\-x\\fR only");
        assert_eq!(literal("a\n'b"), ".PP\n.RS 4\n.nf\na\n\\&'b\n.fi\n.RE\n");
    }
}
