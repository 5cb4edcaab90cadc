//! Repairs installed agents without changing their version, for `doctor --fix` and `update`, and installs what `run` is going
//! to start. The start itself is in `src/commands/run.rs`.

use acp_registry_plan::failure::{Code, Failure};
use acp_registry_plan::manifest::AgentId;
use acp_registry_plan::text::{escape, quote};

use super::find::{find_lost, plan};
use super::install::{explain, install_one};
use super::{Event, Events, learn_revocations, learn_versions, load, waiting};
use crate::doctor::DiagnosedAgent;
use crate::index::Index;
use crate::install::Kind;
use crate::resolve::Plan;
use crate::session::{AgentSpec, InstallRequest, Session, Terms};
use crate::store::{self, LostVersion, MakeCurrent, Version};
use acp_registry_host::process::Environment;

/// What a version needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// Files are missing or changed.
    Files,
    /// The interpreter is missing, or a better one is available.
    Runtime,
    /// The agent does not answer although no damage was found.
    Start,
    /// The index starts the same version with other arguments or variables.
    Arguments,
    /// The registry publishes another list of packages for the same version.
    Packages,
}

impl Need {
    /// What a version needs. Reads every file with a recorded digest.
    pub(super) fn find(version: &Version, environment: &Environment) -> Option<Self> {
        if version.is_intact() { Self::runtime(version, environment) } else { Some(Self::Files) }
    }

    /// Like [`Self::find`], but compares only the sizes of files.
    pub(super) fn find_at_a_glance(version: &Version, environment: &Environment) -> Option<Self> {
        if version.seems_intact() { Self::runtime(version, environment) } else { Some(Self::Files) }
    }

    fn runtime(version: &Version, environment: &Environment) -> Option<Self> {
        version.is_repairable(environment).then_some(Self::Runtime)
    }

    /// The reason for the repair, in words.
    #[must_use]
    pub fn why(self) -> &'static str {
        match self {
            Self::Files => "files were missing or changed",
            Self::Runtime => "what starts it had changed",
            Self::Start => "it did not answer",
            Self::Arguments => "the index had other arguments or variables for it",
            Self::Packages => "the registry had another list of packages for it",
        }
    }
}

/// Finds the interpreter of a version again, and reinstalls the version unless that was enough.
pub(super) async fn repair(
    version: &Version,
    need: Need,
    session: &Session,
    events: &Events<'_>,
) -> Result<(), Failure> {
    let receipt = &version.receipt;
    session.store.follow_interpreter(&receipt.id, &session.environment(), &waiting(events)).await?;
    if need == Need::Runtime && !version.has_lost_python() {
        return Ok(());
    }
    refuse_locked(version)?;
    let plan = session.plan_again(version).await?;
    let agent = session.store.agent(&receipt.id)?;
    let is_other = agent.is_some_and(|agent| agent.current.folder() != version.folder());
    let make_current = if is_other { MakeCurrent::IfNone } else { MakeCurrent::Always };
    let request = InstallRequest { again: need == Need::Start, make_current, ..InstallRequest::new(plan) };
    let done = install_one(session, &request, events).await;
    done.map(drop).map_err(|failure| suggest_other(failure, version, session))
}

/// Installs damaged versions again that are not started by default, but whose programs settings of editors name.
pub(super) async fn repair_named(id: &AgentId, session: &Session, events: &Events<'_>) -> Result<(), Failure> {
    let Ok(Some(agent)) = session.store.agent(id) else { return Ok(()) };
    let versions = session.store.versions(id)?.into_iter();
    for version in versions.filter(|version| *version != agent.current && !version.receipt.named_by.is_empty()) {
        let Some(need) = Need::find(&version, &session.environment()) else { continue };
        refuse_locked(&version)?;
        let plan = session.plan_again(&version).await?;
        let request = InstallRequest { make_current: MakeCurrent::IfNone, ..InstallRequest::new(plan) };
        install_one(session, &request, events).await?;
        events(Event::Note(&format!("repaired {id} {}: {}", version.receipt.version, need.why())));
    }
    Ok(())
}

/// Refuses packages that a lock file has installed: without it, they would get other dependencies.
fn refuse_locked(version: &Version) -> Result<(), Failure> {
    let receipt = &version.receipt;
    if !receipt.needs_lock_file() {
        return Ok(());
    }
    let message =
        format!("{} was installed by a lock file, which must be there to install it again", quote(&receipt.id));
    Err(Failure::unable(message).help(format!("run {}", receipt.repair_command())))
}

/// Suggests the version in the index, if a version cannot be reinstalled because its published bytes were replaced.
fn suggest_other(failure: Failure, version: &Version, session: &Session) -> Failure {
    if !failure.is_of_other_bytes() {
        return failure;
    }
    let receipt = &version.receipt;
    let offered = session.entry_at_hand(&receipt.id).and_then(|index| index.agent(&receipt.id).ok()?);
    match offered.map(|agent| agent.version).filter(|other| *other != receipt.version) {
        Some(other) => failure.help(format!("run `acp-registry install {}@{}`", escape(&receipt.id), escape(&other))),
        None => failure,
    }
}

/// Why a damaged agent could not be reinstalled, as far as is known without a request.
pub(super) async fn refusal(agent: &DiagnosedAgent, session: &Session, events: &Events<'_>) -> Option<Failure> {
    let index = session.entry_at_hand(&agent.id)?;
    // A repair keeps the kind of distribution, whatever the index offers now.
    let kind = session.store.agent(&agent.id).ok().flatten().map(|agent| agent.current.receipt.source.kind());
    let plan = plan(&AgentSpec::any(&agent.id), kind, &index, session, events).await.ok()?;
    session.store.refuse_changed(&plan).err().map(Failure::from)
}

/// The plan that installs a version again whose receipt is lost: what has its folder, if that is still offered.
async fn plan_lost(
    id: &str,
    lost: &LostVersion,
    index: &Index,
    session: &Session,
    events: &Events<'_>,
) -> Result<Plan, Failure> {
    let named = AgentSpec::exact(id, &lost.version);
    learn_versions(session, &named, index).await?;
    if let Some(plan) = find_lost(&named, lost, index, session).await {
        return Ok(plan);
    }
    // The store refuses another place of the same version.
    plan(&named, None, index, session, events).await.map_err(|failure| {
        if failure.kind() != Code::UnknownVersion {
            return failure;
        }
        let message =
            format!("{} {} is lost, and cannot be installed again: {}", quote(id), lost.version, failure.reason());
        let help = format!("run `acp-registry install {}@latest` for the version in the index", escape(id));
        Failure::usage(message).code(Code::UnknownVersion).help(help)
    })
}

/// Restores an agent that has no current version: installs the version again that was to be started or, if that is unknown,
/// makes the newest installed version current or installs the version in the index. Only an agent that is not pinned gets
/// another version. Returns the version; `None` if the agent needs no restoring.
pub(super) async fn restore(id: &AgentId, session: &Session, events: &Events<'_>) -> Result<Option<String>, Failure> {
    match session.store.agent(id) {
        Ok(Some(_)) => return Ok(None),
        Err(error @ store::Error::Link(_)) => return Err(error.into()),
        _ => {}
    }
    if session.store.is_unsettled(id) {
        session.store.settle(id, &waiting(events)).await?;
        if let Ok(Some(agent)) = session.store.agent(id) {
            return Ok(Some(agent.current.receipt.version));
        }
    }
    let lost = session.store.lost_version(id);
    let failure = match &lost {
        Some(lost) => match install_lost(id, lost, session, events).await {
            Err(failure) if !lost.is_pinned => Some(failure),
            done => return done.map(Some),
        },
        None => None,
    };
    if let Some(version) = session.store.restore_current(id, &waiting(events)).await? {
        return Ok(Some(version));
    }
    if let Some(failure) = failure {
        return Err(failure);
    }
    let index = load(session, session.load_index(&[id]), events).await?;
    let plan = plan(&AgentSpec::any(id), None, &index, session, events).await?;
    let done = install_one(session, &InstallRequest::new(plan), events).await?;
    Ok(Some(done.version.receipt.version))
}

async fn install_lost(
    id: &AgentId,
    lost: &LostVersion,
    session: &Session,
    events: &Events<'_>,
) -> Result<String, Failure> {
    let index = load(session, session.load_index(&[id]), events).await?;
    let plan = plan_lost(id, lost, &index, session, events).await?;
    let done = install_one(session, &InstallRequest::new(plan), events).await?;
    Ok(done.version.receipt.version)
}

/// Installs the version that is going to be started, if it is not there. A damaged or lost version is installed again, even
/// if the index has a newer one.
///
/// # Errors
/// [`Failure`] when the index cannot be read, has no such agent or version, or it is not installed.
pub async fn install_to_run(
    session: &Session,
    named: &AgentSpec,
    dist: Option<Kind>,
    terms: Terms,
    damaged: Option<&Version>,
    events: &Events<'_>,
) -> Result<Version, Failure> {
    damaged.map_or(Ok(()), refuse_locked)?;
    let (plan, index) = if let Some(damaged) = damaged {
        (session.plan_again(damaged).await?, None)
    } else {
        let index = load(session, session.load_index(&[&named.id]), events).await?;
        learn_revocations(session, events).await?;
        learn_versions(session, named, &index).await?;
        let id = named.id.parse().ok().filter(|_| !named.has_version() && dist.is_none());
        let lost = id.and_then(|id: AgentId| session.store.lost_version(&id));
        let plan = match &lost {
            Some(lost) => plan_lost(&named.id, lost, &index, session, events).await?,
            None => plan(named, dist, &index, session, events).await?,
        };
        (plan, Some(index))
    };
    let plan = session.with_closure(plan).await?;
    // An installed version is not installed again.
    if let Some(version) = session.store.installed(&plan)?.filter(|version| terms.are_met(version)) {
        session.store.refuse_changed(&plan)?;
        return Ok(version);
    }
    if !session.options().is_offline {
        events(Event::Note(&format!("installing {} {}", plan.id, plan.version)));
    }
    // A version that is requested by name does not become the current version.
    let make_current = if named.has_version() { MakeCurrent::IfNone } else { MakeCurrent::Always };
    let request = InstallRequest { make_current, terms, ..InstallRequest::new(plan) };
    let done = install_one(session, &request, events).await.map_err(|mut failure| {
        if let Some(index) = &index {
            explain(&mut failure, &request.plan, named, index, session, "run");
        }
        match damaged {
            Some(version) => suggest_other(failure, version, session),
            None => failure,
        }
    });
    Ok(done?.version)
}
