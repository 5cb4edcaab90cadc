//! `acp-registry run` and `acp-registry which`

use std::ffi::OsString;

use acp_registry::install::Kind;
use acp_registry::manifest::Platform;
use acp_registry::resolve::resolve;
use acp_registry::store::{Pin, Version};
use acp_registry::sys::start::{Ended, Program, replace_with};
use acp_registry::text::{printable, quote};

use super::candidates;
use super::exit::{Exit, Failure};
use super::global::{FormatArgs, Global};
use super::install::{Task, install_one};
use super::launch;
use super::place::{Dist, PlaceArgs, Session, host};
use super::progress::Installs;
use super::resolve::{Named, plan, wanted};
use super::signals;
use super::ui::Ui;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The agent
    #[arg(add = candidates::installed())]
    id: String,

    /// The kind of distribution, if it has yet to be installed
    #[arg(long, value_name = "KIND")]
    dist: Option<Dist>,

    #[command(flatten)]
    place: PlaceArgs,

    /// Arguments for the agent, behind those of its manifest
    #[arg(last = true, value_name = "ARG")]
    arguments: Vec<OsString>,
}

#[derive(Debug, clap::Args)]
pub(super) struct WhichArgs {
    /// The agent
    #[arg(add = candidates::installed())]
    id: String,

    #[command(flatten)]
    place: PlaceArgs,

    #[command(flatten)]
    pub(super) format: FormatArgs,
}

pub(super) fn run(args: &Args, global: &Global, ui: &Ui) -> Result<Exit, Failure> {
    let session = Session::new(&args.place, global.allowed_hosts()?, ui)?;
    if session.platform().is_some_and(|platform| Some(platform) != Platform::host()) {
        return Err(Failure::usage("an agent for another platform cannot be run here"));
    }
    // Twice: between the look and the mark, somebody may have removed the version.
    for _ in 0..2 {
        let version = match session.store.agent(&args.id)?.map(|agent| agent.current) {
            Some(version) if version.is_whole() => version,
            Some(version) => {
                ui.warning(&format!("{} is damaged, and is installed again", args.id));
                install(args, Some(&version), &session)?
            }
            None => install(args, None, &session)?,
        };
        let mark = version.mark_used();
        if version.is_whole() {
            session.store.vouch_for(&version)?;
            return start(args, &version, mark);
        }
    }
    Err(Failure::unable(format!("{} is being removed by somebody else", quote(&args.id))))
}

/// Installs what is to be run: the same again where there is something, whatever the index has now.
fn install(args: &Args, damaged: Option<&Version>, session: &Session<'_>) -> Result<Version, Failure> {
    let done = signals::run_with_threads(1, async {
        let mut named = Named { id: args.id.clone(), version: None };
        let mut kind = args.dist.map(Kind::from);
        let plan = match damaged.and_then(|version| Some((version, version.offer()?))) {
            Some((version, offer)) => {
                named.version = Some(version.receipt.version.clone());
                kind = version.receipt.kind();
                resolve(&[offer], &wanted(&named, kind, session), &host())?
            }
            None => plan(&named, kind, &session.catalog().await?, session)?,
        };
        session.ui().note(&format!("installing {} {}", plan.id, plan.version));
        let bars = Installs::new(session.ui());
        install_one(session, &Task { plan, pin: Pin::Keep }, &bars).await
    })??;
    Ok(done.version)
}

fn start(args: &Args, version: &Version, mark: Option<std::fs::File>) -> Result<Exit, Failure> {
    let launch = launch::of_version(version)?;
    let program = Program {
        path: launch.program.clone(),
        variables: launch::variables(&launch),
        arguments: launch.args.iter().map(OsString::from).chain(args.arguments.iter().cloned()).collect(),
        keep_open: mark,
    };
    match replace_with(program) {
        Ok(Ended::Code(code)) => Ok(Exit::Of(u8::try_from(code).unwrap_or(1))),
        Ok(Ended::Never(never)) => match never {},
        Err(error) => {
            let program = quote(&launch.program.display().to_string());
            Err(Failure::unable(format!("{} cannot be started: {program}: {error}", quote(&args.id))))
        }
    }
}

pub(super) fn which(args: &WhichArgs, global: &Global, ui: &Ui) -> Result<Exit, Failure> {
    let session = Session::new(&args.place, global.allowed_hosts()?, ui)?;
    let agent = session.agent(&args.id)?;
    if args.format.is_json() {
        let mut members = launch::installed(&agent.current)?;
        members.insert("pinned".to_owned(), agent.is_pinned.into());
        ui.result(&launch::document("which", members))?;
    } else {
        let launch = launch::of_version(&agent.current)?;
        ui.result(&format!("{}\n", printable(&launch::command_line(&launch))))?;
    }
    Ok(Exit::Success)
}
