//! The command line: the only layer that knows clap, reads the environment and prints.
//!
//! One file a command. A command has its flags and one function that calls the library and hands the result to [`Ui`].

mod abandoned;
mod answer;
mod build;
mod bump;
mod candidates;
mod choose;
mod code;
mod completions;
mod config;
mod diff;
mod doctor;
mod duration;
mod early;
mod exit;
mod explain;
mod fix;
mod global;
mod help;
mod info;
mod init;
mod install;
mod launch;
mod list;
mod live;
mod lock;
mod log;
mod login;
mod man;
mod merge;
mod network;
mod new;
mod place;
mod previous;
mod probe;
mod progress;
mod propose;
mod publish;
mod reference;
mod relay;
mod repair;
mod report;
mod resolve;
mod roff;
mod rules;
mod run;
mod serve;
mod signals;
mod signing;
mod survey;
mod ui;
mod uninstall;
mod update;
mod validate;
mod verify;
mod versions;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue};
use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};
use serde_json::json;

use self::exit::{Exit, Failure};
use self::global::Global;
use self::ui::Ui;

/// Validate, publish and use registries of Agent Client Protocol agents.
#[derive(Debug, Parser)]
#[command(name = "acp-registry", version, max_term_width = 100, after_help = EXIT_CODES)]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str = "\
Exit codes:
  0  done; no errors
  1  findings that are errors; differences (`build --check`); an agent that fails (`verify`, `probe`,
     `login`, `logout`); something wrong (`doctor`); updates (`bump`, `update --dry-run`)
  2  wrong usage
  3  the work could not be done: network, disk, package managers
  4  integrity refused: digest mismatch, unsafe archive, a program for another machine, `--locked`
  n  `run`: the agent's own
  130  interrupted (143 by SIGTERM, 129 by SIGHUP)";

#[derive(Debug, Subcommand)]
enum Command {
    /// Lay out a new registry: configuration, workflows, and what contributors read
    Init(init::Args),
    /// Make the folder of a new agent, from what npm, the Python package index or GitHub says of it
    New(new::Args),
    /// Check a registry: manifests and icons, and on demand addresses, packages, archives and agents
    Validate(validate::Args),
    /// Build the published tree: indexes, icons, schemas, checksums
    Build(build::Args),
    /// Send a built tree to a directory or a bucket; readers never miss a file
    Publish(publish::Args),
    /// Tell what has changed from one published tree or index to another
    Diff(diff::Args),
    /// Install and start the agents of a registry, speak ACP to them, and tell what they can do
    Verify(verify::Args),
    /// Render the JSON documents of `validate` and `verify` as a comment or as SARIF
    Report(report::Args),
    /// Find newer versions of agents, and write them into the manifests
    Bump(bump::Args),
    /// Show the catalog site of a registry in a browser, and follow changes
    Serve(serve::Args),
    /// Start an agent, speak ACP to it, and tell whether a person can sign in
    Probe(probe::Args),
    /// List the agents of a registry index
    #[command(visible_alias = "ls")]
    List(list::Args),
    /// Find agents by words
    Search(list::SearchArgs),
    /// Show what the index says of an agent, and what of it is installed
    Info(info::Args),
    /// Show what would be installed, and how it is started
    Resolve(resolve::Args),
    /// Install agents
    Install(install::Args),
    /// Start an agent, which is installed if need be
    Run(run::Args),
    /// Show the command line of an installed agent
    Which(run::WhichArgs),
    /// Install newer versions of installed agents
    #[command(visible_alias = "upgrade")]
    Update(update::Args),
    /// Remove agents
    #[command(visible_alias = "rm")]
    Uninstall(uninstall::Args),
    /// Remove versions that are neither current nor running
    Gc(uninstall::GcArgs),
    /// Find out what is wrong with the runtimes and with installed agents, and what helps
    Doctor(doctor::Args),
    /// Sign in to an installed agent by one of its own methods, and see whether that has worked
    Login(login::Args),
    /// Sign out of an installed agent
    Logout(login::LogoutArgs),
    /// Print the settings by which an editor or another client starts an agent
    Config(config::Args),
    /// Print a script that completes commands, flags and agents in a shell
    Completions(completions::Args),
    /// Write the manual pages
    #[command(hide = true)]
    Man(man::Args),
    /// List every rule with its default level
    Rules(rules::Args),
    /// Explain a rule, with examples
    Explain(explain::Args),
}

/// Runs the program on the process's arguments.
pub(crate) fn main() -> ExitCode {
    acp_registry::sys::umask::tighten();
    let arguments = early::behind_the_command(std::env::args_os().collect(), &command());
    if let Some(code) = completions::answer(command, &arguments) {
        return code;
    }
    let matches = match command().try_get_matches_from(&arguments) {
        Ok(matches) => matches,
        Err(error) => return usage(&error, &arguments),
    };
    match Cli::from_arg_matches(&matches) {
        Ok(cli) => run(&cli, &matches),
        Err(error) => usage(&error, &arguments),
    }
}

/// The command line with its help.
fn command() -> clap::Command {
    help::shape(Cli::command())
}

fn run(cli: &Cli, matches: &ArgMatches) -> ExitCode {
    let ui = Ui::new(&cli.global);
    log::start(&ui);
    let name = matches.subcommand_name().unwrap_or_default();
    let matches = matches.subcommand().map_or(matches, |(_, matches)| matches);
    let (result, is_json) = match &cli.command {
        Command::Init(args) => (init::run(args, &ui), args.format.is_json()),
        Command::New(args) => (new::run(args, &cli.global, &ui), args.format.is_json()),
        Command::Validate(args) => (validate::run(args, matches, &cli.global, &ui), args.is_json()),
        Command::Build(args) => (build::run(args, &cli.global, &ui), args.format.is_json()),
        Command::Publish(args) => (publish::run(args, &cli.global, &ui), args.is_json()),
        Command::Diff(args) => (diff::run(args, &cli.global, &ui), args.is_json()),
        Command::Verify(args) => (verify::run(args, &cli.global, &ui), args.is_json()),
        Command::Report(args) => (report::run(args, &cli.global, &ui), false),
        Command::Bump(args) => (bump::run(args, &cli.global, &ui), args.is_json()),
        Command::Serve(args) => (serve::run(args, &cli.global, &ui), false),
        Command::Probe(args) => (probe::run(args, &ui), args.format.is_json()),
        Command::List(args) => (list::run(args, &cli.global, &ui), args.format.is_json()),
        Command::Search(args) => (list::search(args, &cli.global, &ui), args.format.is_json()),
        Command::Info(args) => (info::run(args, &cli.global, &ui), args.format.is_json()),
        Command::Resolve(args) => (resolve::run(args, &cli.global, &ui), args.format.is_json()),
        Command::Install(args) => (install::run(args, &cli.global, &ui), args.format.is_json()),
        Command::Run(args) => (run::run(args, &cli.global, &ui), false),
        Command::Which(args) => (run::which(args, &cli.global, &ui), args.format.is_json()),
        Command::Update(args) => (update::run(args, &cli.global, &ui), args.format.is_json()),
        Command::Uninstall(args) => (uninstall::run(args, &cli.global, &ui), args.format.is_json()),
        Command::Gc(args) => (uninstall::gc(args, &cli.global, &ui), args.format.is_json()),
        Command::Doctor(args) => (doctor::run(args, &cli.global, &ui), args.format.is_json()),
        Command::Login(args) => (login::run(args, &cli.global, &ui), args.format.is_json()),
        Command::Logout(args) => (login::log_out(args, &cli.global, &ui), args.format.is_json()),
        Command::Config(args) => (config::run(args, &cli.global, &ui), args.format.is_json()),
        Command::Completions(args) => (completions::run(args, &ui), false),
        Command::Man(args) => (man::run(args, command(), EXIT_CODES, &ui), false),
        Command::Rules(args) => (rules::run(args, &ui), args.format.is_json()),
        Command::Explain(args) => (explain::run(args, &ui), args.format.is_json()),
    };
    match result {
        Ok(exit) => exit.into(),
        Err(failure) => {
            if is_json {
                ui.failure_as_json(name, &failure);
            }
            ui.failure(&failure);
            failure.exit.into()
        }
    }
}

/// Help, version, and mistakes in the arguments.
fn usage(error: &clap::Error, arguments: &[OsString]) -> ExitCode {
    let is_mistake = error.use_stderr();
    // What comes after `--` is for another program.
    let words = arguments.iter().filter_map(|argument| argument.to_str()).take_while(|word| *word != "--");
    let words: Vec<&str> = words.collect();
    let wants_json = words.contains(&"--json")
        || words.contains(&"--format=json")
        || words.windows(2).any(|pair| pair == ["--format", "json"]);
    if is_mistake && wants_json {
        let names = command();
        let known = |word: &&&str| names.get_subcommands().any(|command| command.get_name() == **word);
        ui::write_stdout(&acp_registry::json::to_string(&json!({
            "schema": 1,
            "command": words.iter().find(known),
            "error": of_clap(error).document(),
        })));
    }
    // What clap finds similar to the word of another package manager is not what is meant.
    if let Some(ContextValue::String(name)) = error.get(ContextKind::InvalidSubcommand)
        && let Some(command) = help::other_word(name)
    {
        let name = acp_registry::text::quote(name);
        ui::write_stderr(&format!(
            "error: unrecognized subcommand {name}\nhelp: the command is `acp-registry {command}`\n"
        ));
        return Exit::Usage.into();
    }
    // clap escapes nothing, but what it quotes is what the caller has typed.
    let _ = error.print();
    if is_mistake { Exit::Usage.into() } else { Exit::Success.into() }
}

/// The same mistake as the other commands' failures, with what clap suggests.
fn of_clap(error: &clap::Error) -> Failure {
    let text = error.to_string();
    let message = text.strip_prefix("error: ").unwrap_or(&text).lines().next().unwrap_or_default();
    let suggested = [ContextKind::SuggestedSubcommand, ContextKind::SuggestedArg, ContextKind::SuggestedValue];
    let other = error.get(ContextKind::InvalidSubcommand).and_then(|value| match value {
        ContextValue::String(name) => help::other_word(name),
        _ => None,
    });
    let suggestions: Vec<&str> = suggested
        .iter()
        .filter_map(|kind| error.get(*kind))
        .flat_map(|value| match value {
            ContextValue::String(name) => vec![name.as_str()],
            ContextValue::Strings(names) => names.iter().map(String::as_str).collect(),
            _ => Vec::new(),
        })
        .collect();
    let suggestions = other.map_or(suggestions, |other| vec![other]);
    Failure::usage(acp_registry::text::printable(message)).suggest(suggestions)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commands_are_consistent() {
        command().debug_assert();
    }
}
