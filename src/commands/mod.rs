//! The commands. Only this program uses clap, reads the environment and prints.
//!
//! A file or folder for each command. A command consists of its flags and a function that calls the library and passes the
//! result to [`Ui`].

pub(crate) mod build;
pub(crate) mod bump;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod diff;
pub(crate) mod doctor;
pub(crate) mod elsewhere;
pub(crate) mod gc;
pub(crate) mod hint;
pub(crate) mod info;
pub(crate) mod init;
pub(crate) mod install;
pub(crate) mod leftovers;
pub(crate) mod list;
pub(crate) mod login;
pub(crate) mod man;
pub(crate) mod new;
pub(crate) mod probe;
pub(crate) mod publish;
pub(crate) mod report;
pub(crate) mod resolve;
pub(crate) mod rpc;
pub(crate) mod rules;
pub(crate) mod run;
pub(crate) mod search;
pub(crate) mod serve;
pub(crate) mod serve_agent;
pub(crate) mod uninstall;
pub(crate) mod update;
pub(crate) mod validate;
pub(crate) mod verifier;
pub(crate) mod verify;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{ArgMatches, Args as _, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::flags::global::Global;
use crate::flags::report::ReportArgs;
use crate::terminal::help::CommandArgs;
use crate::terminal::ui::Ui;
use crate::terminal::{arguments as command_line, help, remedy, signals, ui, usage};
use acp_registry::failure::Failure;

/// Validate, publish and use registries of Agent Client Protocol agents.
#[derive(Debug, Parser)]
#[command(name = "acp-registry", version)]
pub(crate) struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

/// The arguments of a command are described when it is named: to describe those of all takes milliseconds.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
enum Command {
    /// Create a new registry
    ///
    /// Writes `registry.toml`, workflows for GitHub, and the pages that contributors read. Files that exist stay as they
    /// are.
    Init(CommandArgs<init::Args>),
    /// Create an agent's folder from a package or from GitHub
    ///
    /// Asks npm, the Python package index or GitHub for version, description, licence and addresses, installs the agent in a temporary place, and finds
    /// out with which arguments it starts.
    New(CommandArgs<new::Args>),
    /// Check manifests and icons, and what they name
    ///
    /// Without flags, nothing is sent and nothing is started. `--urls`, `--archives` and `--handshake` check addresses and
    /// packages, archives, and whether agents start; `--all` is all three.
    Validate(CommandArgs<validate::Args>),
    /// Build the published tree and its catalog site
    ///
    /// Writes indexes, icons, schemas, checksums and the site. The directory is replaced as a whole, or stays as it was.
    Build(CommandArgs<build::Args>),
    /// Send a built tree to a directory or a bucket
    ///
    /// Files are sent before those that name them, so that readers never miss one.
    Publish(CommandArgs<publish::Args>),
    /// Compare two published trees
    Diff(CommandArgs<diff::Args>),
    /// Install and start agents, and check that they answer
    ///
    /// Every distribution that this machine can run is installed, started and spoken to as a client does; the result says
    /// what each agent can do.
    Verify(CommandArgs<verify::Args>),
    /// Turn JSON of `validate` or `verify` into a comment
    Report(CommandArgs<report::Args>),
    /// Find newer versions of agents
    ///
    /// Asks npm, the Python package index and GitHub, and works out the smallest change to each manifest. `--apply` writes
    /// it, `--pull-requests` proposes it.
    Bump(CommandArgs<bump::Args>),
    /// Serve the catalog site of a registry on this machine
    ///
    /// Prints the address. The site is built again when a file of the registry changes.
    Serve(CommandArgs<serve::Args>),
    /// Start an agent, and check that it answers
    ///
    /// Any command can be checked, before anything is published: `initialize` is sent as a client does, and the result says
    /// whether people can sign in.
    Probe(CommandArgs<probe::Args>),
    /// List the agents of a registry
    List(CommandArgs<list::Args>),
    /// Find agents by words
    ///
    /// Words for licences, systems and kinds, such as `open source`, `windows` and `npm`, select agents. Agents that match
    /// only in part come last.
    Search(CommandArgs<search::Args>),
    /// Show an agent and its installed versions
    Info(CommandArgs<info::Args>),
    /// Show what would be installed and how it starts
    Resolve(CommandArgs<resolve::Args>),
    /// Install agents
    ///
    /// Digests are compared with those that the index, GitHub or the package manager state; then the agent is started once to
    /// see whether it answers.
    Install(CommandArgs<install::Args>),
    /// Start an agent, and install it first if needed
    ///
    /// This is what an editor starts: the agent takes the place of this program. With --url, this program passes messages to
    /// an agent on a network instead.
    Run(CommandArgs<run::Args>),
    /// Serve an agent over HTTP and WebSocket
    ///
    /// Each connection starts the agent, and ends it. Clients connect to the address that is shown.
    ServeAgent(CommandArgs<serve_agent::Args>),
    /// Show the command line of an installed agent
    Which(CommandArgs<run::WhichArgs>),
    /// Install newer versions of installed agents
    Update(CommandArgs<update::Args>),
    /// Remove agents
    Uninstall(CommandArgs<uninstall::Args>),
    /// Remove unused versions
    ///
    /// Versions that are current, running or named in settings of `config` stay. The size of the caches is shown, and `--cache` empties them.
    Gc(CommandArgs<gc::Args>),
    /// Diagnose runtimes, the index and installed agents
    ///
    /// Agents that are named are also started. Nothing is changed without `--fix`.
    Doctor(CommandArgs<doctor::Args>),
    /// Sign in to an installed agent
    ///
    /// Uses one of the agent's own methods, and then checks whether a session opens.
    Login(CommandArgs<login::Args>),
    /// Sign out of an installed agent
    Logout(CommandArgs<login::LogoutArgs>),
    /// Serve a program over JSON-RPC
    ///
    /// Reads requests from stdin and writes answers to stdout, one message per line, until stdin ends. Programs in any
    /// language find, install and update agents this way.
    Rpc(CommandArgs<rpc::Args>),
    /// Print the settings that start an agent in an editor
    Config(CommandArgs<config::Args>),
    /// Print a completion script for a shell
    Completions(CommandArgs<completions::Args>),
    /// Write the manual pages
    #[command(hide = true)]
    Man(CommandArgs<man::Args>),
    /// List the rules of `validate`, or the checks of agents
    Rules(CommandArgs<rules::Args>),
    /// Explain a rule or a check, with examples
    Explain(CommandArgs<rules::ExplainArgs>),
}

/// Runs the program with the arguments of the process.
pub(crate) fn main() -> ExitCode {
    acp_registry::host::umask::tighten();
    #[cfg(unix)]
    signals::survive_file_limit();
    let program = help::with_aliases(Cli::command(), true);
    let arguments = command_line::move_behind_command(std::env::args_os().collect(), &program);
    if let Some(code) = completions::answer(&arguments) {
        return code;
    }
    let parse = |program: clap::Command| {
        let matches = program.try_get_matches_from(&arguments)?;
        Ok((Cli::from_arg_matches(&matches)?, matches))
    };
    // The other commands are needed for help and messages only: each would get a copy of all global flags.
    let parsed = parse(only_named(&program, &arguments)).or_else(|error: clap::Error| match error.kind() {
        ErrorKind::DisplayVersion => Err(error),
        _ => parse(command()),
    });
    match parsed {
        Ok((cli, matches)) => run(Box::leak(Box::new(cli)), &matches),
        Err(error) => usage::answer(&error, &arguments, &program),
    }
}

/// The program with those of its commands whose names are among the arguments, whatever these mean.
fn only_named(program: &clap::Command, arguments: &[OsString]) -> clap::Command {
    let is_named = |command: &&clap::Command| {
        let is_name = |word: &str| command.get_name() == word || command.get_all_aliases().any(|alias| alias == word);
        arguments.iter().skip(1).any(|word| word.to_str().is_some_and(is_name))
    };
    let empty = clap::Command::new(env!("CARGO_PKG_NAME")).version(env!("CARGO_PKG_VERSION"));
    Global::augment_args(empty).subcommands(program.get_subcommands().filter(is_named).cloned())
}

/// The command line, with the layout of its help.
pub(crate) fn command() -> clap::Command {
    help::shape(help::with_aliases(Cli::command(), true))
}

/// Runs a command. Its arguments are for good: a signal may end the program from another thread.
fn run(cli: &'static Cli, matches: &ArgMatches) -> ExitCode {
    let ui: &Ui = Box::leak(Box::new(Ui::new(&cli.global.output)));
    ui::start(ui);
    let name = matches.subcommand_name().unwrap_or_default().to_owned();
    let is_json = is_json(matches);
    let report = move |failure: &Failure| {
        if is_json {
            ui.failure_as_json(&name, failure);
        }
        if let Some(report) = cli.command.report() {
            report.write_failure(&name, failure);
        }
        ui.failure(failure);
    };
    let is_awaited = is_json || cli.command.report().is_some_and(ReportArgs::writes_json);
    signals::report_with(report.clone(), is_awaited);
    let matches = matches.subcommand().map_or(matches, |(_, matches)| matches);
    remedy::remember(matches);
    let result = match &cli.command {
        Command::Init(args) => init::run(args, ui),
        Command::New(args) => new::run(args, &cli.global, ui),
        Command::Validate(args) => validate::run(args, matches, &cli.global, ui),
        Command::Build(args) => build::run(args, &cli.global, ui),
        Command::Publish(args) => publish::run(args, &cli.global, ui),
        Command::Diff(args) => diff::run(args, &cli.global, ui),
        Command::Verify(args) => verify::run(args, &cli.global, ui),
        Command::Report(args) => report::run(args, &cli.global, ui),
        Command::Bump(args) => bump::run(args, &cli.global, ui),
        Command::Serve(args) => serve::run(args, &cli.global, ui),
        Command::ServeAgent(args) => serve_agent::run(args, &cli.global, ui),
        Command::Probe(args) => probe::run(args, &cli.global, ui),
        Command::List(args) => list::run(args, &cli.global, ui),
        Command::Search(args) => search::run(args, &cli.global, ui),
        Command::Info(args) => info::run(args, &cli.global, ui),
        Command::Resolve(args) => resolve::run(args, &cli.global, ui),
        Command::Install(args) => install::run(args, &cli.global, ui),
        Command::Run(args) => run::run(args, &cli.global, ui),
        Command::Which(args) => run::which(args, &cli.global, ui),
        Command::Update(args) => update::run(args, &cli.global, ui),
        Command::Uninstall(args) => uninstall::run(args, &cli.global, ui),
        Command::Gc(args) => gc::run(args, &cli.global, ui),
        Command::Doctor(args) => doctor::run(args, &cli.global, ui),
        Command::Login(args) => login::run(args, &cli.global, ui),
        Command::Logout(args) => login::log_out(args, &cli.global, ui),
        Command::Rpc(args) => rpc::run(args, &cli.global, ui),
        Command::Config(args) => config::run(args, &cli.global, ui),
        Command::Completions(args) => completions::run(args, ui),
        Command::Man(args) => man::run(args, command(), ui),
        Command::Rules(args) => rules::run(args, ui),
        Command::Explain(args) => rules::explain(args, ui),
    };
    match result {
        Ok(exit) => exit.into(),
        Err(failure) => {
            report(&failure);
            failure.exit().into()
        }
    }
}

/// Whether a JSON document is wanted, also if the command fails.
fn is_json(matches: &ArgMatches) -> bool {
    if let Some((_, matches)) = matches.subcommand() {
        return is_json(matches);
    }
    let format = matches.try_get_raw("format").ok().flatten().and_then(|mut values| values.next());
    format.is_some_and(|format| format == "json") || matches!(matches.try_get_one("json"), Ok(Some(true)))
}

impl Command {
    fn report(&self) -> Option<&ReportArgs> {
        match self {
            Self::Validate(args) => Some(&args.report),
            Self::Verify(args) => Some(&args.report),
            Self::Probe(args) => Some(&args.report),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commands_are_consistent() {
        command().debug_assert();
    }
}
