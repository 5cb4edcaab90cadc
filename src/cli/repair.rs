//! Repairing installed agents in their version, for `doctor --fix` and `update`.

use acp_registry::doctor::Examined;
use acp_registry::install::{Kind, Verified};
use acp_registry::manifest::AgentId;
use acp_registry::session::{Named, Request};
use acp_registry::store::Version;
use acp_registry::text::quote;

use super::exit::Failure;
use super::install::install_one;
use super::place::{Session, environment};
use super::progress::Installs;
use super::resolve::plan;

/// What is to be repaired of a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    /// Files have gone or changed.
    Files,
    /// What starts it has gone, or a better one is there.
    Runtime,
    /// It does not answer, although nothing is known to be damaged.
    Start,
}

impl Need {
    /// What is to be repaired; reads every file whose digest was kept.
    pub(super) fn of(version: &Version) -> Option<Self> {
        if version.is_intact() { Self::of_runtime(version) } else { Some(Self::Files) }
    }

    /// The same at a glance, by the sizes of files.
    pub(super) fn at_a_glance(version: &Version) -> Option<Self> {
        if version.seems_intact() { Self::of_runtime(version) } else { Some(Self::Files) }
    }

    fn of_runtime(version: &Version) -> Option<Self> {
        version.is_repairable(&environment()).then_some(Self::Runtime)
    }

    /// Why it is repaired.
    pub(super) fn why(self) -> &'static str {
        match self {
            Self::Files => "files were missing or changed",
            Self::Runtime => "what starts it had changed",
            Self::Start => "it did not answer",
        }
    }
}

/// Finds what starts a version again, and installs what is damaged again as it was.
pub(super) async fn repair(
    version: &Version,
    need: Need,
    session: &Session<'_>,
    bars: &Installs,
) -> Result<(), Failure> {
    let receipt = &version.receipt;
    session.store.follow_interpreter(&receipt.id, &environment(), &|holder| session.waiting(holder)).await?;
    if need == Need::Runtime && !version.has_lost_python() {
        return Ok(());
    }
    if receipt.verified() == Verified::Lock && receipt.kind() != Some(Kind::Binary) {
        let message = "it was installed by a lock file, which must be there to install it again";
        let help = format!("run `acp-registry install --locked --lock FILE {}`", receipt.id);
        return Err(Failure::unable(message).help(help));
    }
    let Some(plan) = session.plan_again(version)? else { return Ok(()) };
    let mut request = Request::new(plan);
    request.again = need == Need::Start;
    install_one(session, &request, bars).await.map(drop).map_err(|failure| instead(failure, version, session))
}

/// Says what to do instead, where the bytes of a version were replaced and it cannot be installed again.
pub(super) fn instead(failure: Failure, version: &Version, session: &Session<'_>) -> Failure {
    if !failure.is_of_other_bytes() {
        return failure;
    }
    let receipt = &version.receipt;
    let id = quote(&receipt.id);
    let id = id.trim_matches('`');
    let offered = session.index_at_hand().and_then(|index| index.agent(&receipt.id).ok()?);
    if let Some(other) = offered.map(|agent| agent.version).filter(|other| *other != receipt.version) {
        let other = quote(&other);
        return failure.help(format!("run `acp-registry install {id}@{}`", other.trim_matches('`')));
    }
    failure
}

/// Why installing a damaged agent again would be refused, as far as is known without asking any host.
pub(super) fn refusal(agent: &Examined, session: &Session<'_>) -> Option<Failure> {
    let index = session.index_at_hand()?;
    let plan = plan(&Named::any(&agent.id), None, &index, session).ok()?;
    session.store.refuse_changed(&plan).err().map(Failure::from)
}

/// Makes an agent startable again of which no version is started: by the newest one that is there, or else by installing
/// it. Returns the version; `None` when there is nothing to do.
pub(super) async fn restore(id: &AgentId, session: &Session<'_>, bars: &Installs) -> Result<Option<String>, Failure> {
    if matches!(session.store.agent(id), Ok(Some(_))) {
        return Ok(None);
    }
    if let Some(version) = session.store.restore_current(id, &|holder| session.waiting(holder)).await? {
        return Ok(Some(version));
    }
    let plan = plan(&Named::any(id), None, &session.index().await?, session)?;
    let done = install_one(session, &Request::new(plan), bars).await?;
    Ok(Some(done.version.receipt.version))
}
