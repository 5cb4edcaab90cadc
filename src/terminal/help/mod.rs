//! The layout of help: commands grouped by role, examples, exit codes, and only the flags that have an effect.

pub(crate) mod examples;
pub(crate) mod reference;
pub(crate) mod roff;

use std::ops::Deref;

use clap::builder::Resettable;
use clap::{Arg, ArgMatches, Args, Command, Error, FromArgMatches, Id};

use crate::terminal::layout::Look;

/// The largest width of help, in columns; also used without a terminal.
const WIDTH: usize = 100;

/// Commands grouped by role, in the order of the help.
const ROLES: [(&str, &[&str]); 4] = [
    (
        "Use agents",
        &[
            "search", "list", "info", "resolve", "install", "run", "serve-agent", "which", "update", "uninstall", "gc",
            "doctor", "login", "logout", "config", "rpc",
        ],
    ),
    ("Contribute an agent", &["new", "probe", "validate", "rules", "explain"]),
    ("Run a registry", &["init", "build", "serve", "publish", "diff", "verify", "bump", "report"]),
    ("Set up the shell", &["completions"]),
];

/// Global flags that have an effect on some commands only, with these commands.
const OF_REGISTRIES: [(&str, &[&str]); 2] = [
    ("registry_dir", &["new", "validate", "build", "serve", "verify", "bump", "publish", "report", "probe"]),
    ("config", &["new", "validate", "build", "serve", "verify", "bump", "probe"]),
];

/// Shared flags, with the commands that they have no effect on.
const IDLE: [(&str, &[&str]); 15] = [
    (
        "allow_host",
        &["rules", "explain", "completions", "which", "gc", "uninstall", "init", "report", "login", "logout"],
    ),
    // `which`, `login` and `logout` refuse what the registry of the index has recalled.
    ("index", &["uninstall", "gc"]),
    ("signer", &["uninstall", "gc"]),
    // Tries one list of arguments after the other.
    ("jobs", &["new"]),
    ("offline", &["which", "uninstall", "gc", "login", "logout"]),
    ("refresh", &READ_NO_INDEX),
    // `doctor` asks for the index in any case.
    ("refresh", &["doctor"]),
    ("platform", &READ_NO_INDEX),
    ("platform", &["list", "search", "info", "doctor", "serve-agent"]),
    ("wait", &["list", "search", "info", "resolve", "which", "login", "logout", "gc"]),
    ("allow_revoked", &["list", "search", "info", "uninstall", "gc"]),
    // A client gets everything, as messages.
    ("quiet", &["rpc"]),
    ("verbose", &["rpc"]),
    ("progress", &["rpc"]),
    ("trust_root", &["list", "search", "info", "resolve"]),
];

/// Commands that read the installed agents, and ask for no index.
const READ_NO_INDEX: [&str; 5] = ["which", "uninstall", "gc", "login", "logout"];

/// Other names of commands.
const ALIASES: [(&str, &str); 3] = [("list", "ls"), ("update", "upgrade"), ("uninstall", "rm")];

/// Adds the other names of commands. Completion offers those that are not shown only for a word that matches nothing else.
pub(crate) fn with_aliases(program: Command, are_shown: bool) -> Command {
    program.mut_subcommands(|command| match ALIASES.iter().find(|(name, _)| *name == command.get_name()) {
        Some((_, alias)) if are_shown => command.visible_alias(*alias),
        Some((_, alias)) => command.alias(*alias),
        None => command,
    })
}

/// Returns the commands with the same role as `name`, including `name`.
pub(crate) fn same_role(name: &str) -> &'static [&'static str] {
    ROLES.iter().find(|(_, names)| names.contains(&name)).map(|(_, names)| *names).unwrap_or_default()
}

/// The place of a command in the help of the program.
pub(crate) fn rank(name: &str) -> Option<usize> {
    ROLES.iter().flat_map(|(_, names)| *names).position(|known| *known == name)
}

/// The exit codes of the program, with their meaning.
pub(crate) const EXIT_CODES: [(&str, &str); 7] = [
    ("0", "done; no errors"),
    (
        "1",
        "findings that are errors; differences (`build --check`); an incomplete tree (`build --strict`); an agent that \
         fails (`verify`, `probe`, `login`, `logout`); something wrong (`doctor`); updates (`bump`, `update --dry-run`)",
    ),
    ("2", "wrong usage"),
    ("3", "failed: network, disk or package manager"),
    (
        "4",
        "integrity refused: digest mismatch, unsafe archive, a revoked version, a program for another machine, `--locked`",
    ),
    ("n", "`run`: the exit code of the agent"),
    ("130", "interrupted (143 by SIGTERM, 129 by SIGHUP); `serve` and `serve-agent` end with 0"),
];

/// Adds roles and exit codes to the help of the program.
pub(crate) fn shape(program: Command) -> Command {
    let look = look();
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{}{}\n{{options}}{{after-help}}",
        roles(&program, look),
        heading("Options", look)
    );
    let more = "Run `acp-registry COMMAND -h` for the options of a command, and `--help` for everything.";
    let program = program.help_template(template).after_help(more).after_long_help(exit_codes(look));
    program.term_width(look.width.unwrap_or(WIDTH))
}

/// The arguments of a command, with its examples, and without the flags that have no effect on it. The short help omits the
/// global flags.
#[derive(Debug)]
pub(crate) struct CommandArgs<A>(A);

impl<A: Args> Args for CommandArgs<A> {
    fn augment_args(command: Command) -> Command {
        let name = command.get_name().to_owned();
        // Groups of flags have texts of their own.
        let [about, long] = [command.get_about(), command.get_long_about()].map(|text| Resettable::from(text.cloned()));
        let flags: Vec<Arg> = command.get_arguments().cloned().collect();
        let command = A::augment_args(command).about(about).long_about(long);
        shape_command(command, &name, &flags)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<A: Args> FromArgMatches for CommandArgs<A> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        A::from_arg_matches(matches).map(Self)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches(matches)
    }
}

impl<A> Deref for CommandArgs<A> {
    type Target = A;

    fn deref(&self) -> &A {
        &self.0
    }
}

/// The global flags, hidden where they have no effect on the command `name`.
fn command_flags(flags: &[Arg], name: &str) -> impl Iterator<Item = Arg> {
    flags.iter().map(move |flag| flag.clone().hide(!has_effect(flag.get_id().as_str(), name)).hide_short_help(true))
}

fn shape_command(command: Command, name: &str, flags: &[Arg]) -> Command {
    let below: Vec<String> = command.get_subcommands().map(|command| command.get_name().to_owned()).collect();
    let command = with_examples(command, name, &format!("acp-registry {name}"));
    let mut command = below.iter().fold(command, |command, below| {
        let name = format!("{name} {below}");
        let line = format!("acp-registry {name}");
        command.mut_subcommand(below, |command| with_examples(command, &name, &line).args(command_flags(flags, &name)))
    });
    let own: Vec<Id> = command.get_arguments().map(|argument| argument.get_id().clone()).collect();
    for flag in own.into_iter().filter(|flag| !has_effect(flag.as_str(), name)) {
        command = command.mut_arg(flag, |argument| argument.hide(true));
    }
    // Last, as in all other commands.
    command_flags(flags, name).fold(command, |command, flag| command.mut_arg(flag.get_id().clone(), |_| flag))
}

/// Adds examples to the short and the long help, and notes to the long help only.
fn with_examples(command: Command, name: &str, line: &str) -> Command {
    let examples = examples::of(name);
    if examples.is_empty() {
        return command;
    }
    let note = command.get_after_help().map_or_else(String::new, |note| format!("{note}\n\n"));
    let examples = examples::shown(&examples);
    let more = format!("Run `{line} --help` for all options.");
    command.after_help(format!("{examples}\n\n{more}")).after_long_help(note + &examples)
}

/// The width and colours of help. clap computes the width in the same way, and removes the colours if they are off.
fn look() -> Look {
    let terminal = terminal_size::terminal_size().map(|(terminal_size::Width(columns), _)| usize::from(columns));
    let named = || std::env::var("COLUMNS").ok()?.parse().ok();
    Look { color: true, width: Some(terminal.or_else(named).unwrap_or(WIDTH).min(WIDTH)) }
}

fn heading(text: &str, look: Look) -> String {
    look.paint("1;4", &format!("{text}:"))
}

/// Whether a flag has an effect on a command.
fn has_effect(flag: &str, command: &str) -> bool {
    let is_idle = IDLE.iter().any(|(idle, commands)| *idle == flag && commands.contains(&command));
    !is_idle && OF_REGISTRIES.iter().all(|(known, commands)| *known != flag || commands.contains(&command))
}

fn roles(program: &Command, look: Look) -> String {
    let width = program.get_subcommands().map(|command| command.get_name().len()).max().unwrap_or_default();
    let line = |name: &&str| {
        let command = program.find_subcommand(name)?;
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        let aliases: Vec<&str> = command.get_visible_aliases().collect();
        let alias = if aliases.is_empty() { String::new() } else { format!(" [alias: {}]", aliases.join(", ")) };
        let gap = " ".repeat(width - name.len());
        Some(look.wrap(&format!("  {}{gap}  {about}{alias}", look.paint("1", name)), width + 4))
    };
    let role = |(role, names): &(&str, &[&str])| {
        format!("{}\n{}\n", heading(role, look), names.iter().filter_map(line).collect::<String>())
    };
    ROLES.iter().map(role).collect()
}

fn exit_codes(look: Look) -> String {
    let width = EXIT_CODES.iter().map(|(code, _)| code.len()).max().unwrap_or_default();
    let line = |(code, meaning): &(&str, &str)| look.wrap(&format!("  {code:width$}  {meaning}"), width + 4);
    let lines: String = EXIT_CODES.iter().map(line).collect();
    format!("{}\n{}", heading("Exit codes", look), lines.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_role() {
        let program = crate::commands::command();
        let shown = program.get_subcommands().filter(|command| !command.is_hide_set());
        for name in shown.map(Command::get_name) {
            assert_eq!(ROLES.iter().filter(|(_, names)| names.contains(&name)).count(), 1, "{name}");
        }
    }

    #[test]
    fn the_list_of_commands_fits() {
        let program = crate::commands::command();
        for width in [60, 80, 100] {
            let text = roles(&program, Look { color: false, width: Some(width) });
            assert!(text.lines().all(|line| line.len() <= width), "{width}: {text}");
            let names = text.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   ")).count();
            assert_eq!(names, program.get_subcommands().filter(|command| !command.is_hide_set()).count());
            // One line per command, if the terminal is wide enough.
            assert!(width < 80 || text.lines().all(|line| !line.starts_with("   ")), "{width}: {text}");
        }
    }
}
