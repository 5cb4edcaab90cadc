//! `acp-registry run` and `acp-registry which`

use std::ffi::OsString;
use std::io::IsTerminal as _;

use acp_registry::doctor;
use acp_registry::host::start::{Ended, Program, replace_with};
use acp_registry::install::Kind;
use acp_registry::manifest::Platform;
use acp_registry::session::{AgentSpec, InstallRequest};
use acp_registry::store::{Start, Version};
use acp_registry::text::{printable, quote};

use crate::commands::doctor::repair;
use crate::commands::install::{explain, install_one};
use crate::commands::resolve::{launch, plan};
use crate::documents::{Document, Which};
use crate::flags::global::{FormatArgs, Global};
use crate::flags::network::environment;
use crate::flags::session::{CommandSession, SessionArgs, kind};
use crate::flags::{candidates, installed_version};
use crate::terminal::progress::Installs;
use crate::terminal::signals;
use crate::terminal::ui::Ui;
use acp_registry::failure::{Exit, Failure};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The agent
    ///
    /// One with a version is started in that version; what `run ID` starts stays as it is.
    #[arg(value_name = "ID[@VERSION]", add = candidates::installed())]
    agent: AgentSpec,

    /// The kind of distribution to install
    #[arg(long, value_name = "KIND", value_parser = kind())]
    dist: Option<Kind>,

    #[command(flatten)]
    place: SessionArgs,

    /// More arguments for the agent
    #[arg(last = true, value_name = "ARG")]
    arguments: Vec<OsString>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct WhichArgs {
    /// The agent
    #[arg(value_name = "ID[@VERSION]", add = candidates::installed())]
    pub(crate) agent: AgentSpec,

    #[command(flatten)]
    pub(crate) place: SessionArgs,

    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

pub(crate) fn run(args: &Args, global: &Global, ui: &Ui) -> Result<Exit, Failure> {
    let session = CommandSession::new(&args.place, global.allowed_hosts()?, ui)?;
    if session.platform().is_some_and(|platform| Some(platform) != Platform::host()) {
        return Err(Failure::usage("an agent for another platform cannot be run here"));
    }
    // Tried twice: another process may remove the version after it was found and before it is marked as running.
    for _ in 0..2 {
        let mut found = session.find_version(&args.agent, args.dist)?;
        if found.is_none() && !args.agent.is_latest && signals::run(ui, session.settle(&args.agent.id))?? {
            found = session.find_version(&args.agent, args.dist)?;
        }
        let version = match found {
            Some(version) if version.is_whole() => version,
            Some(version) => {
                if !session.options().is_offline {
                    ui.warning(&format!("{} is damaged, and will be installed again", args.agent));
                }
                install(args, Some(&version), &session)?
            }
            None => install(args, None, &session)?,
        };
        let mark = version.mark_used();
        if version.is_whole() {
            session.store.vouch_for(&version)?;
            return start(args, &version, mark, &session);
        }
    }
    Err(Failure::unable(format!("{} is being removed by another process", quote(&args.agent.id))))
}

/// Installs the version to run. A damaged version is reinstalled, even if the index has a newer one.
fn install(args: &Args, damaged: Option<&Version>, session: &CommandSession<'_>) -> Result<Version, Failure> {
    let done = signals::run_with_threads(session.ui(), 1, async {
        // A version that is requested by name does not become the current version.
        let start = if args.agent.has_version() { Start::Earlier } else { Start::This };
        damaged.map_or(Ok(()), repair::refuse_locked)?;
        let again = damaged.map(|version| session.plan_again(version)).transpose()?.flatten();
        let (plan, index) = if let Some(plan) = again {
            (plan, None)
        } else {
            let index = session.load_index(&[&args.agent.id]).await?;
            (plan(&args.agent, args.dist, &index, session)?, Some(index))
        };
        // An installed version is not installed again.
        if let Some(version) = session.store.installed(&plan)? {
            session.store.refuse_changed(&plan)?;
            return Ok(version);
        }
        if !session.options().is_offline {
            session.ui().note(&format!("installing {} {}", plan.id, plan.version));
        }
        let bars = Installs::new(session.ui());
        let mut request = InstallRequest::new(plan);
        request.start = start;
        let mut done = install_one(session, &request, &bars).await;
        if let (Err(failure), Some(index)) = (&mut done, &index) {
            explain(failure, &request.plan, &args.agent, index, "run");
        }
        let done = done.map_err(|failure| match damaged {
            Some(version) => repair::instead(failure, version, session),
            None => failure,
        });
        Ok::<_, Failure>(done?.version)
    })??;
    Ok(done)
}

fn start(
    args: &Args,
    version: &Version,
    mark: Option<std::fs::File>,
    session: &CommandSession<'_>,
) -> Result<Exit, Failure> {
    let id = &args.agent.id;
    // With arguments from the user, the agent may do something else than speak the protocol.
    if args.arguments.is_empty() && std::io::stdin().is_terminal() {
        session.ui().note(&format!(
            "{id} speaks the Agent Client Protocol on stdin; an editor starts it: `acp-registry config CLIENT {id}`"
        ));
    }
    let launch = session.launch(version)?;
    let program = Program {
        path: launch.program.clone(),
        variables: session.variables(&launch),
        arguments: launch.args.iter().map(OsString::from).chain(args.arguments.iter().cloned()).collect(),
        keep_open: mark,
    };
    match replace_with(program) {
        Ok(Ended::Code(code)) => Ok(Exit::Other(u8::try_from(code).unwrap_or(1))),
        Ok(Ended::Never(never)) => match never {},
        Err(error) => {
            let obstacle = doctor::obstacle(version, &environment());
            let (message, remedy) = obstacle.map_or_else(
                || (format!("{}: {error}", quote(&launch.program.display().to_string())), None),
                |(message, remedy)| (format!("{message} ({error})"), Some(remedy)),
            );
            let failure = Failure::unable(format!("{} cannot be started: {message}", quote(id)));
            Err(failure.help_if(remedy))
        }
    }
}

pub(crate) fn which(args: &WhichArgs, global: &Global, ui: &Ui) -> Result<Exit, Failure> {
    let session = CommandSession::new(&args.place, global.allowed_hosts()?, ui)?;
    let (version, is_pinned) = installed_version::whole(&args.agent, &session)?;
    if args.format.is_json() {
        let members = Which { launch: launch::installed(&version, &session)?, pinned: is_pinned };
        ui.document(&Document::new("which", members))?;
    } else {
        let launch = session.launch(&version)?;
        ui.result(&format!("{}\n", printable(&launch::command_line(&launch))))?;
    }
    Ok(Exit::Success)
}
