//! Installs agents.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use acp_registry_host::fs::temporary;
use acp_registry_plan::documents::{IndexOrigin, Launch};
use acp_registry_plan::failure::{AgentFailure, Code, Failure};
use acp_registry_plan::manifest::{AgentId, Version};
use acp_registry_plan::text::{escape, printable, quote};
use futures_util::stream::{self, StreamExt as _};
use serde::{Deserialize, Serialize};

use super::agents::settle;
use super::find::{find_lost, find_offer, installed, plan, planned};
use super::{Event, Events, Report, Starting, check_revoked, learn_revocations, learn_versions, load, waiting};
use crate::index::Index;
use crate::install::newer;
use crate::install::{Installer, Interpreter, Kind, Source};
use crate::lockfile::{LockFile, Locker, NAME};
use crate::provenance::Require;
use crate::resolve::{OfferOrigin, Plan, PlanOptions, resolve};
use crate::session::{AgentSpec, InstallEvent, InstallRequest, Liveness, PATIENCE, Session, Terms};
use crate::store::{InstallOutcome, PinChange};

/// The most agents that are installed at once.
pub const JOBS: usize = 4;

/// What to install, and how.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "switches that a caller sets by name")]
pub struct Install {
    /// The agents. One with a version keeps it.
    pub agents: Vec<AgentSpec>,
    /// The kind of distribution; by default, the first that this machine can run.
    pub dist: Option<Kind>,
    /// The lock file to write, or to read with `locked`: by default `acp-registry.lock`.
    pub lock: Option<PathBuf>,
    /// Whether exactly what the lock file records is installed. Without agents, that is all its agents.
    pub locked: bool,
    /// Whether nothing is changed.
    pub dry_run: bool,
    /// Whether the agents are not started to see if they answer.
    pub no_check: bool,
    /// What must be proven of the bytes of each agent.
    pub require: Require,
    /// Whether a person has agreed to other publishers than before, to weaker proofs and to none.
    pub accept_publisher: bool,
}

impl Install {
    fn terms(&self) -> Terms {
        Terms::new(self.require, self.accept_publisher)
    }
}

/// What was installed.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct InstallReport {
    /// The agent, if it is the only result and there is no error. Its members are then also at the top level, as in
    /// `resolve`.
    #[serde(flatten)]
    alone: Option<Launch>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dry_run: Option<bool>,
    /// The installed agents; in a dry run, those that would be.
    pub agents: Vec<Launch>,
    /// The agents that were not installed, and why.
    pub errors: Vec<AgentFailure>,
    /// The index, if one was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<IndexOrigin>,
    /// What was done for each installed agent.
    #[serde(skip)]
    pub done: Vec<InstallOutcome>,
    /// Why the lock file was not written, if it was not: what was installed stays.
    #[serde(skip)]
    pub lock_failure: Option<Failure>,
}

impl Report for InstallReport {
    fn command(&self) -> &'static str {
        "install"
    }

    fn errors(&self) -> &[AgentFailure] {
        &self.errors
    }

    fn failure(&self) -> Option<Failure> {
        let of_agents = self.errors.iter().map(|error| &error.failure);
        Failure::worst(of_agents.chain(&self.lock_failure)).cloned()
    }
}

/// The result for one agent.
pub(super) struct AgentResult {
    id: AgentId,
    pub(super) done: Result<InstallOutcome, Failure>,
    /// Whether the agent was pinned by this installation.
    is_pinned: bool,
}

/// Installs agents, several at once. The failure of one does not stop the others.
///
/// # Errors
/// [`Failure`] when the request cannot be carried out for any agent; nothing has changed then.
pub async fn install(session: &Session, request: &Install, events: &Events<'_>) -> Result<InstallReport, Failure> {
    let mut lock_failure = None;
    let (results, index) = if request.locked {
        let path = request.lock.as_deref().unwrap_or(Path::new(NAME));
        let tasks = plans_in(path, request, session)?;
        if tasks.is_empty() {
            events(Event::Warning(&format!("{} has no agents", printable(&path.display().to_string()))));
        }
        if session.options().refresh {
            // A lock file needs no index, but the copies of an earlier run may be older than a recall.
            let ids: Vec<&str> = tasks.iter().map(|task| task.plan.id.as_str()).collect();
            if let Err(error) = session.load_entries(&ids).await {
                events(Event::Warning(&error.to_string()));
            }
        }
        learn_revocations(session, events).await?;
        if request.dry_run {
            return dry_run(tasks, None, session, events).await;
        }
        (install_all(session, tasks, events).await, None)
    } else {
        if let Some(path) = request.lock.as_deref().filter(|_| !request.dry_run) {
            LockFile::target(path)?;
            LockFile::read_or_new(path)?;
        }
        for named in request.agents.iter().filter(|_| !request.dry_run) {
            // Otherwise, its pin would be unknown.
            settle(session, &named.id, events).await?;
        }
        let ids: Vec<&str> = request.agents.iter().map(|named| named.id.as_str()).collect();
        let index = load(session, session.load_index(&ids), events).await?;
        learn_revocations(session, events).await?;
        for named in &request.agents {
            learn_versions(session, named, &index).await?;
        }
        let tasks = plan_all(request, &index, session, events).await?;
        if request.dry_run {
            return dry_run(tasks, Some(IndexOrigin::of(&index)), session, events).await;
        }
        let plans: Vec<Plan> = tasks.iter().map(|task| task.plan.clone()).collect();
        let mut results = install_all(session, tasks, events).await;
        for ((result, plan), named) in results.iter_mut().zip(&plans).zip(&request.agents) {
            if let Err(failure) = &mut result.done {
                explain(failure, plan, named, &index, session, "install");
            }
        }
        if let Some(path) = &request.lock {
            let is_done = |plan: &&Plan| results.iter().any(|result| result.id == plan.id && result.done.is_ok());
            // A file without agents would say that there is nothing to install.
            if plans.iter().any(|plan| is_done(&plan)) {
                lock_failure = write(path, plans.iter().filter(is_done), &index, session, events).await.err();
            }
        }
        (results, Some(IndexOrigin::of(&index)))
    };
    Ok(InstallReport { lock_failure, ..report(results, index, request, session, events).await? })
}

async fn dry_run(
    tasks: Vec<InstallRequest>,
    index: Option<IndexOrigin>,
    session: &Session,
    events: &Events<'_>,
) -> Result<InstallReport, Failure> {
    let (mut agents, mut errors) = (Vec::new(), Vec::new());
    for InstallRequest { plan, again, terms, .. } in tasks {
        let id = plan.id.clone();
        let launch = async {
            check_revoked(session, &id, &plan.version, events)?;
            let plan = session.with_closure(plan).await?;
            session.refuse_revoked_plan(&plan)?;
            session.refuse_fetch(&plan, again, terms)?;
            Session::refuse_other_platform(&plan)?;
            planned(&plan, session)
        };
        match launch.await {
            Ok(launch) => agents.push(launch),
            Err(failure) => errors.push(failure.for_agent(&id)),
        }
    }
    Ok(InstallReport { alone: None, dry_run: Some(true), agents, errors, index, done: Vec::new(), lock_failure: None })
}

async fn report(
    mut results: Vec<AgentResult>,
    index: Option<IndexOrigin>,
    request: &Install,
    session: &Session,
    events: &Events<'_>,
) -> Result<InstallReport, Failure> {
    if !request.no_check {
        for done in results.iter_mut().filter_map(|result| result.done.as_mut().ok()) {
            ask(done, session, events).await;
        }
    }
    let (mut agents, mut errors, mut done) = (Vec::new(), Vec::new(), Vec::new());
    for AgentResult { id, done: result, is_pinned } in results {
        match result {
            Ok(outcome) => {
                warn(&outcome, !request.no_check, events);
                agents.push(installed(&outcome.version, session)?);
                if is_pinned {
                    note_pin(&id, &outcome.version.receipt.version, events);
                }
                done.push(outcome);
            }
            Err(failure) => errors.push(failure.for_agent(&id)),
        }
    }
    let alone = if let ([agent], []) = (agents.as_slice(), errors.as_slice()) { Some(agent.clone()) } else { None };
    Ok(InstallReport { alone, dry_run: None, agents, errors, index, done, lock_failure: None })
}

/// Plans all agents before any is installed, so that an invalid name has no effect.
async fn plan_all(
    request: &Install,
    index: &Index,
    session: &Session,
    events: &Events<'_>,
) -> Result<Vec<InstallRequest>, Failure> {
    let mut tasks: Vec<InstallRequest> = Vec::new();
    for named in &request.agents {
        if let Some(earlier) = tasks.iter().find(|task| task.plan.id == named.id) {
            return Err(Failure::usage(format!("{} is named twice", quote(&earlier.plan.id))));
        }
        let pin = match &named.version {
            Some(_) => PinChange::Set,
            // `ID@latest` removes the pin.
            None if named.is_latest => PinChange::Clear,
            None => PinChange::Keep,
        };
        let kept = session.kept(named, events);
        let wanted = kept.as_ref().unwrap_or(named);
        let mut plan = plan(wanted, request.dist, index, session, events).await?;
        if let Some(lost) = session.store.lost_version(&plan.id).filter(|_| request.dist.is_none())
            && Version::is_same(&lost.version, &plan.version)
            && let Some(same) = find_lost(wanted, &lost, index, session).await
        {
            plan = same;
        }
        if let Ok(Some(agent)) = session.store.agent(&plan.id)
            && let Some(other) = agent.current.receipt.other_registry(session.store.revocations.as_deref())
            && plan.origin != OfferOrigin::Installed
        {
            note_registry(&plan.id, other, events);
        }
        tasks.push(InstallRequest { pin, terms: request.terms(), ..InstallRequest::new(plan) });
    }
    Ok(tasks)
}

/// Says that an agent keeps its version.
pub(super) fn note_pin(id: &AgentId, version: &str, events: &Events<'_>) {
    let until = format!("`acp-registry update --unpin {id}`");
    events(Event::Note(&format!("{id} stays at {version} from now on, until {until}")));
}

/// Says that an agent which was named changes its registry.
pub(super) fn note_registry(id: &AgentId, (here, there): (&str, &str), events: &Events<'_>) {
    events(Event::Note(&format!("{id} is from {there}, and is asked for in {here} now")));
}

/// Adds the agent's package as an alternative, if the installation of its archive failed. A missing version is a usage
/// error if it was requested by name, unlike one that the index names.
pub(super) fn explain(
    failure: &mut Failure,
    plan: &Plan,
    named: &AgentSpec,
    index: &Index,
    session: &Session,
    command: &str,
) {
    if named.version.is_some() {
        failure.blame_named_version();
    }
    if plan.kind() != Kind::Binary || !failure.is_of_installing() {
        return;
    }
    let Ok(Some(agent)) = index.agent(&plan.id) else { return };
    let here = session.host();
    let package = agent.distribution.packages().map(|(kind, _)| kind.as_str());
    let kinds = [(Kind::Npx, here.has_npm), (Kind::Uvx, here.has_uv)].into_iter().filter(|(_, is_there)| *is_there);
    let offered: Vec<&str> = package.collect();
    if let Some(kind) = kinds.map(|(kind, _)| kind.as_str()).find(|kind| offered.contains(kind)) {
        failure.or_help(format!("take its package: `acp-registry {command} {} --dist {kind}`", plan.id));
    }
}

/// Installs all agents, several at once. The failure of one does not stop the others.
pub(super) async fn install_all(
    session: &Session,
    tasks: Vec<InstallRequest>,
    events: &Events<'_>,
) -> Vec<AgentResult> {
    let (total, count) = (tasks.len(), AtomicUsize::new(0));
    let work = tasks.into_iter().map(|task| {
        let count = &count;
        async move {
            let done = install_one(session, &task, events).await;
            let number = count.fetch_add(1, Ordering::Relaxed) + 1;
            if total > 1 {
                let (Plan { id, version, .. }, word) = (&task.plan, if done.is_ok() { "is there" } else { "failed" });
                events(Event::Step(&format!("{number} of {total}: {id} {version} {word}")));
            }
            AgentResult { id: task.plan.id.clone(), done, is_pinned: task.pin == PinChange::Set }
        }
    });
    stream::iter(work).buffered(JOBS).collect().await
}

/// Reports the end of an installation when it is dropped, since the future may be dropped, too.
struct Ending<'a>(&'a AgentId, &'a Events<'a>);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.1(Event::Installed(self.0));
    }
}

/// Installs one agent.
pub(super) async fn install_one(
    session: &Session,
    request: &InstallRequest,
    events: &Events<'_>,
) -> Result<InstallOutcome, Failure> {
    let Plan { id, version, .. } = &request.plan;
    check_revoked(session, id, version, events)?;
    events(Event::Installing { id, version });
    let _ending = Ending(id, events);
    let on_event = |event: InstallEvent<'_>| match event {
        InstallEvent::Progress(progress) => events(Event::Progress(id, progress)),
        InstallEvent::Waiting(holder) => waiting(events)(holder),
    };
    session.install(request, &on_event).await.map_err(|error| {
        let mut failure = Failure::from(error);
        // The damaged version on disk would fail in the same way; it must be removed first.
        if failure.kind() == Code::DigestMismatch && session.store.holds(&request.plan) {
            failure.or_help(format!("remove it with `acp-registry uninstall {}`", escape(id)));
        }
        failure
    })
}

/// Starts a newly installed agent, and warns if it does not answer `initialize`, or if that cannot be found out: it is installed
/// in any case.
pub(super) async fn ask(done: &mut InstallOutcome, session: &Session, events: &Events<'_>) {
    let id = done.version.receipt.id.clone();
    let name = printable(&id);
    let starting = Starting::report(&id, PATIENCE, events);
    let asked = session.ask(done, &waiting(events)).await.map_err(Failure::from);
    drop(starting);
    let Liveness { problem, shortfall, .. } = match asked {
        Ok(Some(liveness)) if !liveness.answers => liveness,
        Ok(_) => return,
        Err(failure) => {
            let help = failure.advice().unwrap_or_else(|| format!("see `acp-registry doctor {name}`"));
            let cause = failure.reason();
            return events(Event::Warning(&format!("{name} is installed, but was not checked: {cause}; {help}")));
        }
    };
    let cause = printable(&problem);
    let help = match &shortfall {
        Some(shortfall) if problem.contains(&shortfall.to_string()) => newer(shortfall),
        Some(shortfall) => format!("it {shortfall}: {}", newer(shortfall)),
        None => format!("see `acp-registry doctor {name}`"),
    };
    events(Event::Warning(&format!("{name} is installed, but does not answer: {cause}; {help}")));
}

/// Warns about conditions that may keep a newly installed agent from working.
fn warn(done: &InstallOutcome, is_checked: bool, events: &Events<'_>) {
    let receipt = &done.version.receipt;
    let id = &receipt.id;
    let is_known = is_checked && receipt.answers == Some(false);
    let shortfall = receipt.interpreter.as_ref().and_then(Interpreter::shortfall);
    if let Some(shortfall) = shortfall.filter(|_| !is_known) {
        events(Event::Warning(&format!("{id} {shortfall}; if it does not start, {}", newer(&shortfall))));
    }
    let scripts = &receipt.remarks.scripts_not_run;
    if !scripts.is_empty() && !done.was_there {
        let need = match scripts.remedy(id) {
            None => ", which the agent may need".to_owned(),
            Some(remedy) => format!("; if the agent needs them, {remedy}"),
        };
        events(Event::Warning(&format!("{id}: {}{need}", scripts.message())));
    }
}

/// Plans the installation of the named agents from the lock file, or of all its agents if none is named.
fn plans_in(path: &Path, request: &Install, session: &Session) -> Result<Vec<InstallRequest>, Failure> {
    let refused = |message| Failure::refused(message).code(Code::LockMismatch);
    let file = LockFile::read(path)?;
    let shown = path.display();
    let all = file.agents.keys().map(|id| AgentSpec::any(id));
    let named: Vec<AgentSpec> = if request.agents.is_empty() { all.collect() } else { request.agents.clone() };
    let mut tasks = Vec::new();
    if let Some(latest) = named.iter().find(|one| one.is_latest) {
        let message = format!(
            "{} is the version in the index, and --locked takes that of the lock file",
            quote(&latest.to_string())
        );
        return Err(Failure::usage(message).help(format!("name {} without a version", quote(&latest.id))));
    }
    for one in named {
        let id = quote(&one.id);
        let Some((known, locked)) = file.agents.get_key_value(one.id.as_str()) else {
            let help = format!("add it with `acp-registry install {} --lock {shown}`", escape(&one.id));
            return Err(refused(format!("{id} is not in the lock file {shown}")).help(help));
        };
        if let Some(version) = one.version.as_ref().filter(|version| **version != locked.version) {
            let (version, other) = (quote(version), quote(&locked.version));
            let failure = refused(format!("the lock file {shown} has {id} {other}, not {version}"));
            return Err(failure.help(format!("name {id} without a version to install that of the lock file")));
        }
        let wanted = PlanOptions { kind: request.dist, ..session.wanted(known.clone()) };
        let plan = resolve(&[locked.offer()], &wanted, &session.host())?;
        let is_known = match plan.source {
            Source::Binary(_) => plan.expected.sha256.is_some(),
            Source::Npx(_) | Source::Uvx(_) => plan.expected.packages.is_some(),
        };
        if !is_known {
            let kind = plan.kind().as_str();
            let message = format!("the lock file {shown} has no digests for {id} by {kind}");
            return Err(refused(message)
                .help(format!("record them with `acp-registry install {} --lock {shown}`", escape(&one.id))));
        }
        tasks.push(InstallRequest { terms: request.terms(), ..InstallRequest::new(plan) });
    }
    Ok(tasks)
}

/// Records the installed versions in the lock file. Its other entries are kept.
pub(super) async fn write(
    path: &Path,
    plans: impl Iterator<Item = &Plan>,
    index: &Index,
    session: &Session,
    events: &Events<'_>,
) -> Result<(), Failure> {
    let earlier = LockFile::read_or_new(path)?;
    let mut entries = BTreeMap::new();
    let temporary = temporary();
    let installer = if session.options().is_offline {
        None
    } else {
        let installer = session.installer(session.options().platform.or(session.host().platform))?;
        Some(Installer { github: Some(session.github()?), ..installer })
    };
    for plan in plans {
        let named = AgentSpec::exact(&plan.id, &plan.version);
        let offer = find_offer(session, &named, index, events)?;
        let versions: Vec<_> =
            session.store.versions(&plan.id)?.into_iter().filter(|one| one.receipt.version == plan.version).collect();
        let mut published = BTreeMap::new();
        for (kind, package) in offer.distribution.packages() {
            let closure = session.published_closure(&plan.id, offer.origin, kind, &package.package).await?;
            published.extend(closure.map(|closure| (kind, closure)));
        }
        let recorder = Locker {
            installer: installer.as_ref(),
            temporary: &temporary,
            earlier: Some(&earlier),
            installed: &versions,
            published: &published,
        };
        let (entry, notes) = recorder.lock(&plan.id, &offer).await;
        for note in notes {
            events(Event::Warning(&note));
        }
        // What is written can be read.
        entry.check().map_err(|(keys, problem)| {
            let message = format!("{} cannot be in a lock file: {}: {problem}", quote(&plan.id), quote(&keys));
            Failure::refused(message).help("tell the maintainers of the registry")
        })?;
        entries.insert(plan.id.clone(), entry);
    }
    // Finding the digests may take minutes, in which another process may have added its agents.
    LockFile::add(path, entries, session.store.patience).await
}
