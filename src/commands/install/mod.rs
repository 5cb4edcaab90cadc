//! `acp-registry install`

pub(crate) mod answer;
pub(crate) mod lock;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use acp_registry::host::process::Orphans;
use acp_registry::index::Index;
use acp_registry::install::Kind;
use acp_registry::install::remedy::newer;
use acp_registry::lockfile::NAME;
use acp_registry::manifest::AgentId;
use acp_registry::resolve::Plan;
use acp_registry::session::{AgentSpec, InstallEvent, InstallRequest};
use acp_registry::store::{InstallOutcome, Pin, StoredInterpreter};
use acp_registry::text::{printable, quote};
use futures_util::stream::{self, StreamExt as _};

use crate::commands::leftovers;
use crate::commands::resolve::{launch, plan};
use crate::documents::{Document, IndexOrigin, Install, Launch};
use crate::flags::global::{FormatArgs, Global};
use crate::flags::network::host;
use crate::flags::session::{CommandSession, PackageArgs, SessionArgs, kind};
use crate::flags::{candidates, installed_version};
use crate::terminal::progress::Installs;
use crate::terminal::signals;
use crate::terminal::table::bytes;
use crate::terminal::ui::Ui;
use acp_registry::failure::{Code, Exit, Failure};

/// The most agents that are installed at once.
const JOBS: usize = 4;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Agents
    ///
    /// One with a version stays at it until `update --unpin`.
    #[arg(value_name = "ID[@VERSION]", add = candidates::offered(), required_unless_present = "locked")]
    pub(crate) agents: Vec<AgentSpec>,

    /// The kind of distribution
    ///
    /// The default is the first that this machine can run: binary, npx, uvx.
    #[arg(long, value_name = "KIND", value_parser = kind())]
    pub(crate) dist: Option<Kind>,

    /// Write what is installed to this lock file
    ///
    /// With `--locked`, it is the file that is read, by default `acp-registry.lock`.
    #[arg(long, value_name = "FILE")]
    pub(crate) lock: Option<PathBuf>,

    /// Install exactly what the lock file records
    ///
    /// Without ids, all its agents. What differs from the file is refused with exit code 4.
    #[arg(long)]
    pub(crate) locked: bool,

    /// Change nothing; show what would be installed
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Do not start the agents to see if they answer
    #[arg(long)]
    pub(crate) no_check: bool,

    #[command(flatten)]
    pub(crate) packages: PackageArgs,

    #[command(flatten)]
    pub(crate) place: SessionArgs,

    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

/// The result for one agent.
pub(crate) struct AgentResult {
    pub(crate) id: AgentId,
    pub(crate) done: Result<InstallOutcome, Failure>,
    /// Whether the agent was pinned by this installation.
    is_pinned: bool,
}

pub(crate) fn run(args: &Args, global: &Global, ui: &Ui) -> Result<Exit, Failure> {
    let session = CommandSession::with_packages(&args.place, args.packages, global.allowed_hosts()?, ui)?;
    // Begins before the first child and ends after the last one, to kill processes that detached from their tree.
    let orphans = if args.no_check || args.dry_run { None } else { leftovers::adopt(ui) };
    let mut work = signals::run_with_threads(ui, JOBS, async {
        if args.locked {
            let path = args.lock.as_deref().unwrap_or(Path::new(NAME));
            let tasks = lock::tasks(path, &args.agents, args.dist, &session)?;
            if args.dry_run {
                return Ok(InstallResult::Planned(plans(&tasks), None));
            }
            return Ok(InstallResult::Done(install_all(&session, tasks).await, None));
        }
        if let Some(path) = args.lock.as_deref().filter(|_| !args.dry_run) {
            lock::refuse_unwritable(path)?;
        }
        for named in args.agents.iter().filter(|_| !args.dry_run) {
            // Otherwise, its pin would be unknown.
            session.settle(&named.id).await?;
        }
        let ids: Vec<&str> = args.agents.iter().map(|named| named.id.as_str()).collect();
        let index = session.load_index(&ids).await?;
        let tasks = tasks(args, &index, &session)?;
        let plans = plans(&tasks);
        if args.dry_run {
            return Ok(InstallResult::Planned(plans, Some(IndexOrigin::of(&index))));
        }
        let mut results = install_all(&session, tasks).await;
        for ((outcome, plan), named) in results.iter_mut().zip(&plans).zip(&args.agents) {
            if let Err(failure) = &mut outcome.done {
                explain(failure, plan, named, &index, "install");
            }
        }
        if let Some(path) = &args.lock {
            let installed = plans.iter().filter(|plan| is_done(&results, &plan.id));
            lock::write(path, installed, &index, &session).await?;
        }
        Ok::<_, Failure>(InstallResult::Done(results, Some(IndexOrigin::of(&index))))
    });
    if let (Ok(Ok(InstallResult::Done(results, _))), false) = (&mut work, args.no_check) {
        answer::ask_all(results, &session)?;
    }
    // How many processes had detached from their tree is not reported here.
    let _ = orphans.map(Orphans::end);
    let (results, index) = match work?? {
        InstallResult::Planned(plans, index) => return show_plans(&plans, index, &session, args.format.is_json()),
        InstallResult::Done(results, index) => (results, index),
    };
    let exit = report(&results, index, args, &session)?;
    if let ([AgentResult { id, done: Ok(_), .. }], false) = (results.as_slice(), args.format.is_json())
        && ui.is_watched()
    {
        ui.note(&format!(
            "`acp-registry config CLIENT {id}` prints settings for an editor, and `acp-registry run {id}` starts it"
        ));
    }
    Ok(exit)
}

/// The result of the command, with the index that the plans were made from.
enum InstallResult {
    /// A dry run.
    Planned(Vec<Plan>, Option<IndexOrigin>),
    Done(Vec<AgentResult>, Option<IndexOrigin>),
}

fn plans(tasks: &[InstallRequest]) -> Vec<Plan> {
    tasks.iter().map(|task| task.plan.clone()).collect()
}

/// Shows what would be installed.
fn show_plans(
    plans: &[Plan],
    index: Option<IndexOrigin>,
    session: &CommandSession<'_>,
    is_json: bool,
) -> Result<Exit, Failure> {
    let agents: Vec<Launch> = plans.iter().map(|plan| launch::planned(plan, session)).collect::<Result<_, _>>()?;
    if is_json {
        session.ui().document(&Document::new("install", Install::planned(agents, index)))?;
        return Ok(Exit::Success);
    }
    let line = |(plan, launch): (&Plan, &Launch)| {
        let Plan { id, version, .. } = plan;
        if launch.installed {
            return format!("{id} {version} is installed\n");
        }
        format!("would install {id} {version} ({})\n", plan.kind().as_str())
    };
    session.ui().result(&plans.iter().zip(&agents).map(line).collect::<String>())?;
    Ok(Exit::Success)
}

/// Adds the agent's package as an alternative, if the installation of its archive failed. A missing version is a usage
/// error if it was requested by name, unlike one that the index names.
pub(crate) fn explain(failure: &mut Failure, plan: &Plan, named: &AgentSpec, index: &Index, command: &str) {
    if named.version.is_some() {
        failure.blame_named_version();
    }
    if plan.kind() != Kind::Binary || !failure.is_of_installing() {
        return;
    }
    let Ok(Some(agent)) = index.agent(&plan.id) else { return };
    let here = host();
    let package = agent.distribution.packages().map(|(kind, _)| kind.as_str());
    let kinds = [(Kind::Npx, here.has_npm), (Kind::Uvx, here.has_uv)].into_iter().filter(|(_, is_there)| *is_there);
    let offered: Vec<&str> = package.collect();
    if let Some(kind) = kinds.map(|(kind, _)| kind.as_str()).find(|kind| offered.contains(kind)) {
        failure.or_help(format!("take its package: `acp-registry {command} {} --dist {kind}`", plan.id));
    }
}

/// Plans all agents before any is installed, so that an invalid name has no effect.
fn tasks(args: &Args, index: &Index, session: &CommandSession<'_>) -> Result<Vec<InstallRequest>, Failure> {
    let mut tasks: Vec<InstallRequest> = Vec::new();
    for named in &args.agents {
        if let Some(earlier) = tasks.iter().find(|task| task.plan.id == named.id) {
            return Err(Failure::usage(format!("{} is named twice", quote(&earlier.plan.id))));
        }
        let pin = match &named.version {
            Some(_) => Pin::Set,
            // `ID@latest` removes the pin.
            None if named.is_latest => Pin::Clear,
            None => Pin::Keep,
        };
        let kept = installed_version::kept(named, session);
        let mut request = InstallRequest::new(plan(kept.as_ref().unwrap_or(named), args.dist, index, session)?);
        request.pin = pin;
        tasks.push(request);
    }
    Ok(tasks)
}

fn is_done(results: &[AgentResult], id: &str) -> bool {
    results.iter().any(|outcome| outcome.id == *id && outcome.done.is_ok())
}

/// Installs all agents, several at once. The failure of one does not stop the others.
pub(crate) async fn install_all(session: &CommandSession<'_>, tasks: Vec<InstallRequest>) -> Vec<AgentResult> {
    let bars = Installs::new(session.ui());
    let (total, count) = (tasks.len(), AtomicUsize::new(0));
    let work = tasks.into_iter().map(|task| {
        let (bars, count) = (&bars, &count);
        async move {
            let done = install_one(session, &task, bars).await;
            let number = count.fetch_add(1, Ordering::Relaxed) + 1;
            if total > 1 && session.ui().is_watched() {
                let (Plan { id, version, .. }, word) = (&task.plan, if done.is_ok() { "is there" } else { "failed" });
                session.ui().step(&format!("{number} of {total}: {id} {version} {word}"));
            }
            AgentResult { id: task.plan.id.clone(), done, is_pinned: task.pin == Pin::Set }
        }
    });
    stream::iter(work).buffered(JOBS).collect().await
}

/// Installs one agent, and displays the progress.
pub(crate) async fn install_one(
    session: &CommandSession<'_>,
    request: &InstallRequest,
    bars: &Installs,
) -> Result<InstallOutcome, Failure> {
    let bar = bars.start(&request.plan.id, &request.plan.version);
    let on_event = |event: InstallEvent<'_>| match event {
        InstallEvent::Progress(progress) => bar.show(progress),
        event => session.waits(&event),
    };
    session.install(request, &on_event).await.map_err(|error| {
        let mut failure = Failure::from(error);
        // The damaged version on disk would fail in the same way; it must be removed first.
        if failure.kind() == Code::DigestMismatch && session.store.holds(&request.plan) {
            let id = quote(&request.plan.id);
            failure.or_help(format!("remove it with `acp-registry uninstall {}`", id.trim_matches('`')));
        }
        failure
    })
}

fn report(
    results: &[AgentResult],
    index: Option<IndexOrigin>,
    args: &Args,
    session: &CommandSession<'_>,
) -> Result<Exit, Failure> {
    let ui = session.ui();
    let (is_json, is_checked) = (args.format.is_json(), !args.no_check);
    let mut agents = Vec::new();
    let mut errors = Vec::new();
    let mut lines = String::new();
    for AgentResult { id, done, is_pinned } in results {
        match done {
            Ok(done) => {
                lines.push_str(&line(done));
                warn(done, is_checked, ui);
                agents.push(launch::installed(&done.version, session)?);
                if *is_pinned {
                    let version = &done.version.receipt.version;
                    ui.note(&format!("{id} stays at {version} from now on, until `acp-registry update --unpin {id}`"));
                }
            }
            Err(failure) => errors.push(failure.for_agent(id)),
        }
    }
    let failed = results.iter().filter_map(|outcome| Some((outcome.id.as_str(), outcome.done.as_ref().err()?)));
    ui.failures(&failed.collect::<Vec<_>>());
    let worst = Failure::worst(results.iter().filter_map(|outcome| outcome.done.as_ref().err()));
    let exit = worst.map_or(Exit::Success, |failure| failure.exit());
    if is_json {
        let document = Document::new("install", Install::installed(agents, errors, index));
        ui.document(&document.failed(worst.cloned()))?;
    } else {
        ui.result(&lines)?;
    }
    Ok(exit)
}

/// Warns about conditions that may keep a newly installed agent from working.
fn warn(done: &InstallOutcome, is_checked: bool, ui: &Ui) {
    let receipt = &done.version.receipt;
    let id = &receipt.id;
    let has_told = is_checked && receipt.answers == Some(false);
    if let Some(shortfall) = receipt.interpreter.as_ref().and_then(StoredInterpreter::shortfall).filter(|_| !has_told) {
        ui.warning(&format!("{id} {shortfall}; if it does not start, {}", newer(&shortfall)));
    }
    let scripts = receipt.unrun_scripts();
    if !scripts.is_empty() && !done.was_there {
        let need = match scripts.remedy(id) {
            None => ", which the agent may need".to_owned(),
            Some(remedy) => format!("; if the agent needs them, {}", remedy),
        };
        ui.warning(&format!("{id}: {}{need}", scripts.message()));
    }
}

/// Describes the result, for people.
pub(crate) fn line(done: &InstallOutcome) -> String {
    let receipt = &done.version.receipt;
    let (id, version) = (&receipt.id, &receipt.version);
    if done.is_repaired && done.replaces.is_none() {
        let program = receipt.interpreter.as_ref().map(|interpreter| interpreter.program.display().to_string());
        let program = program.as_deref().map(printable).unwrap_or_default();
        return format!("repaired {id} {version}, which is started by {program} from now on\n");
    }
    if done.was_there && done.replaces.is_none() {
        return format!("{id} {version} is installed\n");
    }
    let instead = match &done.replaces {
        None => String::new(),
        Some(old) if *old == receipt.version => " instead of an installation with other bytes".to_owned(),
        Some(old) => format!(" instead of {old}"),
    };
    let checked = match receipt.verified.as_str() {
        "none" => "no digest is stated",
        "manifest" => "digest as in the index",
        "github" => "digest as GitHub says",
        "lock" => "digest as in the lock file",
        _ => "checked by the package manager",
    };
    let verb = if done.was_there { "switched to" } else { "installed" };
    let answers = if receipt.answers == Some(true) { " and answers" } else { "" };
    format!("{verb} {id} {version}{instead}{answers} ({}, {}; {checked})\n", receipt.distribution, bytes(receipt.size))
}
