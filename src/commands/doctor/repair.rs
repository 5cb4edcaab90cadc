//! Repairs installed agents without changing their version, for `doctor --fix` and `update`.

use acp_registry::doctor::DiagnosedAgent;
use acp_registry::install::{DigestSource, Kind};
use acp_registry::manifest::AgentId;
use acp_registry::session::{AgentSpec, InstallRequest};
use acp_registry::store::Version;
use acp_registry::text::quote;

use crate::commands::install::install_one;
use crate::commands::resolve::plan;
use crate::flags::network::environment;
use crate::flags::session::CommandSession;
use crate::terminal::progress::Installs;
use acp_registry::failure::Failure;

/// What a version needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// Files are missing or changed.
    Files,
    /// The interpreter is missing, or a better one is available.
    Runtime,
    /// The agent does not answer although no damage was found.
    Start,
    /// The index starts the same version with other arguments or variables.
    Arguments,
}

impl Need {
    /// Returns what a version needs. Reads every file with a recorded digest.
    pub(crate) fn of(version: &Version) -> Option<Self> {
        if version.is_intact() { Self::for_runtime(version) } else { Some(Self::Files) }
    }

    /// Like [`Self::of`], but compares only the sizes of files.
    pub(crate) fn at_a_glance(version: &Version) -> Option<Self> {
        if version.seems_intact() { Self::for_runtime(version) } else { Some(Self::Files) }
    }

    fn for_runtime(version: &Version) -> Option<Self> {
        version.is_repairable(&environment()).then_some(Self::Runtime)
    }

    /// The reason for the repair, in words.
    pub(crate) fn why(self) -> &'static str {
        match self {
            Self::Files => "files were missing or changed",
            Self::Runtime => "what starts it had changed",
            Self::Start => "it did not answer",
            Self::Arguments => "the index had other arguments or variables for it",
        }
    }
}

/// Finds the interpreter of a version again, and reinstalls the version unless that was enough.
pub(crate) async fn repair(
    version: &Version,
    need: Need,
    session: &CommandSession<'_>,
    bars: &Installs,
) -> Result<(), Failure> {
    let receipt = &version.receipt;
    session.store.follow_interpreter(&receipt.id, &environment(), &|holder| session.waiting(holder)).await?;
    if need == Need::Runtime && !version.has_lost_python() {
        return Ok(());
    }
    refuse_locked(version)?;
    let Some(plan) = session.plan_again(version)? else { return Ok(()) };
    let mut request = InstallRequest::new(plan);
    request.again = need == Need::Start;
    install_one(session, &request, bars).await.map(drop).map_err(|failure| instead(failure, version, session))
}

/// Refuses packages that a lock file has installed: without it, they would get other dependencies.
pub(crate) fn refuse_locked(version: &Version) -> Result<(), Failure> {
    let receipt = &version.receipt;
    if receipt.verified() != DigestSource::Lock || receipt.kind() == Some(Kind::Binary) {
        return Ok(());
    }
    let id = &receipt.id;
    let message = format!("{} was installed by a lock file, which must be there to install it again", quote(id));
    let help = format!("run `acp-registry install --locked --lock FILE {id}`");
    Err(Failure::unable(message).help(help))
}

/// Adds the alternative if a version cannot be reinstalled because its published bytes were replaced.
pub(crate) fn instead(failure: Failure, version: &Version, session: &CommandSession<'_>) -> Failure {
    if !failure.is_of_other_bytes() {
        return failure;
    }
    let receipt = &version.receipt;
    let id = quote(&receipt.id);
    let id = id.trim_matches('`');
    let offered = session.entry_at_hand(&receipt.id).and_then(|index| index.agent(&receipt.id).ok()?);
    if let Some(other) = offered.map(|agent| agent.version).filter(|other| *other != receipt.version) {
        let other = quote(&other);
        return failure.help(format!("run `acp-registry install {id}@{}`", other.trim_matches('`')));
    }
    failure
}

/// Why a damaged agent could not be reinstalled, as far as is known without a request.
pub(crate) fn refusal(agent: &DiagnosedAgent, session: &CommandSession<'_>) -> Option<Failure> {
    let index = session.entry_at_hand(&agent.id)?;
    let plan = plan(&AgentSpec::any(&agent.id), None, &index, session).ok()?;
    session.store.refuse_changed(&plan).err().map(Failure::from)
}

/// Restores an agent that has no current version: makes its newest installed version current, or installs the version in
/// the index. Returns the version; `None` if the agent needs no restoring.
pub(crate) async fn restore(
    id: &AgentId,
    session: &CommandSession<'_>,
    bars: &Installs,
) -> Result<Option<String>, Failure> {
    if matches!(session.store.agent(id), Ok(Some(_))) {
        return Ok(None);
    }
    if let Some(version) = session.store.restore_current(id, &|holder| session.waiting(holder)).await? {
        return Ok(Some(version));
    }
    let plan = plan(&AgentSpec::any(id), None, &session.load_index(&[id]).await?, session)?;
    let done = install_one(session, &InstallRequest::new(plan), bars).await?;
    Ok(Some(done.version.receipt.version))
}
