//! `acp-registry run` and `acp-registry which`

use std::env;
use std::ffi::{OsStr, OsString};
use std::io::{BufReader, IsTerminal as _};

use acp_registry::doctor;
use acp_registry::failure::{Code, Exit, Failure};
use acp_registry::host::start::{Program, replace_with};
use acp_registry::install::Kind;
use acp_registry::manifest::Platform;
use acp_registry::ops::{Locate, check_revoked_installed, install_to_run, locate, settle};
use acp_registry::remote::bridge;
use acp_registry::session::{self, AgentSpec, Session};
use acp_registry::store::Version;
use acp_registry::text::{printable, quote};
use clap::ArgGroup;

use crate::commands::elsewhere::{self, OnArgs, Wanted};
use crate::flags::global::{FormatArgs, Global};
use crate::flags::isolation::GrantArgs;
use crate::flags::network::RemoteArgs;
use crate::flags::session::{PackageArgs, SessionArgs, TermsArgs, open};
use crate::flags::{candidates, value};
use crate::terminal::arguments::command_line;
use crate::terminal::progress::events;
use crate::terminal::signals;
use crate::terminal::ui::Ui;

#[derive(Debug, clap::Args)]
// An agent on a network is neither found nor installed nor confined here.
#[command(group = ArgGroup::new("reach").arg("url").conflicts_with_all(["SessionArgs", "PackageArgs", "TermsArgs", "GrantArgs"]))]
pub(crate) struct Args {
    /// The agent
    ///
    /// With a version, that version is started; `run ID` starts the same version as before.
    #[arg(value_name = "ID[@VERSION]", add = candidates::installed(), required_unless_present = "url")]
    agent: Option<AgentSpec>,

    #[command(flatten)]
    remote: RemoteArgs,

    /// Hide secrets in messages, and answer no request in place of the agent: `probe` starts the program like this
    #[arg(long, hide = true, requires = "url")]
    examined: bool,

    /// The kind of distribution to install
    ///
    /// The default is as in `install`. An installed agent starts in the kind that it has, unless ID@VERSION is named.
    #[arg(long, value_name = "KIND", value_parser = value::kind(), conflicts_with = "url")]
    dist: Option<Kind>,

    /// Start it only if its archive or package has this digest
    ///
    /// The SHA-256 of an archive, or the integrity of a package of npm, as `sha512-BASE64`.
    #[arg(long, value_name = "DIGEST", conflicts_with = "url")]
    digest: Option<String>,

    #[command(flatten)]
    on: OnArgs,

    /// Start the agent by this command
    ///
    /// For a sandbox of your own, such as `--wrap 'firejail --quiet'`. The command is run without a shell; the agent's program
    /// and its arguments are its last arguments.
    #[arg(long, value_name = "COMMAND", conflicts_with_all = ["sandbox", "url"])]
    wrap: Option<String>,

    /// Let the agent change only the working directory and a home of its own (Linux)
    ///
    /// It cannot read the rest of your home: files with keys and tokens, shell profiles, settings of other agents. Its own home is
    /// `homes/ID` in the directory of agents; sign in there by its own command, as in `run --sandbox ID -- login`. Not
    /// covered are variables of the environment, sockets of other programs and, without `--network none`, the network.
    /// `info ID --permissions` lists what it may touch.
    #[arg(long, conflicts_with = "url")]
    sandbox: bool,

    #[command(flatten)]
    grants: GrantArgs,

    #[command(flatten)]
    terms: TermsArgs,

    #[command(flatten)]
    packages: PackageArgs,

    #[command(flatten)]
    place: SessionArgs,

    /// More arguments for the agent
    #[arg(last = true, value_name = "ARG", conflicts_with = "url")]
    arguments: Vec<OsString>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct WhichArgs {
    /// The agent
    #[arg(value_name = "ID[@VERSION]", add = candidates::installed())]
    agent: AgentSpec,

    #[command(flatten)]
    place: SessionArgs,

    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

pub(crate) fn run(args: &Args, global: &Global, ui: &Ui) -> Result<Exit, Failure> {
    let agent = match (&args.remote.url, &args.agent) {
        (Some(_), None) if args.on.machine().is_some() => {
            return Err(Failure::usage("--on starts an agent on another machine, and --url reaches one that runs"));
        }
        (Some(url), None) => return reach(url, args, global, ui),
        (None, Some(agent)) => agent,
        (Some(_), Some(_)) => {
            return Err(Failure::usage("--url names an agent, as does the argument").help("leave one of them out"));
        }
        (None, None) => return Err(Failure::usage("an agent is missing")),
    };
    if let Some(machine) = args.on.machine() {
        let wanted = Wanted { agent, dist: args.dist, flags: flags(args), arguments: &args.arguments };
        return elsewhere::run(machine, &args.on, &wanted, &args.place, global);
    }
    let session = open(&args.place, args.packages, global)?;
    if session.options().platform.is_some_and(|platform| Some(platform) != Platform::host()) {
        return Err(Failure::usage("an agent for another platform cannot be run here").help("leave `--platform` out"));
    }
    let terms = args.terms.terms();
    let events = events(ui);
    let install = |damaged: Option<&Version>| {
        signals::run_with_threads(ui, 1, install_to_run(&session, agent, args.dist, terms, damaged, &events))?
    };
    // Tried twice: another process may remove the version after it was found and before it is marked as running.
    for _ in 0..2 {
        let mut found = session.find_version(agent, args.dist)?;
        if found.is_none() && !agent.is_latest && signals::run(ui, settle(&session, &agent.id, &events))?? {
            found = session.find_version(agent, args.dist)?;
        }
        let version = match found {
            Some(version) if version.is_whole() && terms.are_met(&version) => version,
            Some(version) if version.is_whole() => install(None)?,
            Some(version) => {
                if !session.options().is_offline {
                    ui.warning(&format!("{agent} is damaged, and will be installed again"));
                }
                install(Some(&version))?
            }
            None => install(None)?,
        };
        let mark = version.mark_used();
        if version.is_whole() {
            check_revoked_installed(&session, &version, &events)?;
            session.store.vouch_for(&version)?;
            if let Some(digest) = args.digest.as_deref().filter(|digest| !version.receipt.proof.has_digest(digest)) {
                let message =
                    format!("{} {} has another digest than {}", agent.id, version.receipt.version, quote(digest));
                return Err(Failure::refused(message).code(Code::DigestMismatch));
            }
            return start(args, &agent.id, &version, mark, &session, ui);
        }
    }
    Err(Failure::unable(format!("{} is being removed by another process", quote(&agent.id))))
}

/// Passes messages between stdin, stdout and an agent on a network.
fn reach(url: &str, args: &Args, global: &Global, ui: &Ui) -> Result<Exit, Failure> {
    let endpoint = args.remote.endpoint(url, global)?;
    let (input, output) = (BufReader::with_capacity(64 << 10, std::io::stdin()), std::io::stdout());
    let note = |text: &str| ui.warning(text);
    let (endpoint, note, options) = (&endpoint, &note, args.remote.options(args.examined));
    let mut signal = None;
    let heard = &mut signal;
    // A thread may still wait for stdin.
    let done = signals::run_with_signals(1, |mut signals| {
        let stop = async move { *heard = signals.recv().await };
        bridge(endpoint, input, output, options, stop, note)
    })?;
    match signal {
        Some(signal) => Err(Failure::interrupted(signal)),
        None => Ok(done.map(|()| Exit::Success)?),
    }
}

/// The flags that are the same on another machine.
fn flags(args: &Args) -> Vec<OsString> {
    let mut flags = Vec::new();
    let mut add = |flag: &str, value: &OsStr| flags.extend([flag.into(), value.to_owned()]);
    let texts = [("--digest", &args.digest), ("--wrap", &args.wrap)];
    texts
        .iter()
        .filter_map(|(flag, value)| Some((flag, (*value).as_ref()?)))
        .for_each(|(flag, value)| add(flag, value.as_ref()));
    flags.extend(args.sandbox.then(|| "--sandbox".into()));
    flags.extend(args.grants.flags(|path| path.into()));
    flags.extend(args.terms.flags().into_iter().chain(args.packages.flags()).map(OsString::from));
    flags
}

fn start(
    args: &Args,
    id: &str,
    version: &Version,
    mark: Option<std::fs::File>,
    session: &Session,
    ui: &Ui,
) -> Result<Exit, Failure> {
    // With arguments from the user, the agent may do something else than speak the protocol.
    if args.arguments.is_empty() && std::io::stdin().is_terminal() {
        ui.note(&format!(
            "{id} speaks the Agent Client Protocol on stdin; an editor starts it: `acp-registry config CLIENT {id}`"
        ));
    }
    let start = session.find_start(version)?;
    let mut program = Program {
        path: start.program.clone(),
        variables: session.variables(&start),
        arguments: start.args.iter().map(OsString::from).chain(args.arguments.iter().cloned()).collect(),
        hidden: Vec::new(),
        keep_open: mark,
    };
    if let Some(command) = &args.wrap {
        let mut words = command.split_whitespace();
        let path = words.next().and_then(|program| session.environment().find(program)).ok_or_else(|| {
            let failure = Failure::usage(format!("--wrap {}: there is no such program in PATH", quote(command)));
            failure.help("name a program that is installed, or its path")
        })?;
        let agent = std::mem::replace(&mut program.path, path).into_os_string();
        let words = words.map(OsString::from).chain([agent]);
        program.arguments = words.chain(program.arguments).collect();
    }
    if args.sandbox {
        let here = env::current_dir().map_err(|error| Failure::unable(format!("the working directory: {error}")))?;
        let mut confined = session.confine(version, &start, &here)?;
        let refused = |error| session::Error::Sandbox { id: id.to_owned(), error };
        args.grants.grant(&mut confined.sandbox)?;
        confined.enter().map_err(refused)?;
        program.variables.extend(confined.variables);
        program.hidden = confined.hidden;
    }
    signals::check_pending()?;
    match replace_with(program) {
        Ok(code) => Ok(Exit::Other(u8::try_from(code).unwrap_or(1))),
        Err(error) => {
            let obstacle = doctor::obstacle(version, &session.environment());
            let (message, remedy) = obstacle.map_or_else(
                || (format!("{}: {error}", quote(&start.program.display().to_string())), None),
                |(message, remedy)| (format!("{message} ({error})"), Some(remedy)),
            );
            let failure = Failure::unable(format!("{} cannot be started: {message}", quote(id)));
            Err(failure.help_if(remedy))
        }
    }
}

pub(crate) fn which(args: &WhichArgs, global: &Global, ui: &Ui) -> Result<Exit, Failure> {
    let session = open(&args.place, PackageArgs::default(), global)?;
    let events = events(ui);
    let report = locate(&session, &Locate { agent: args.agent.clone() }, &events)?;
    if args.format.is_json() {
        ui.report(&report)?;
    } else {
        ui.result(&format!("{}\n", printable(&command_line(&report.start))))?;
    }
    Ok(Exit::Success)
}
