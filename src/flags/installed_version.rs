//! Finds the installed version that `ID@VERSION` means.

use acp_registry::session::{AgentSpec, is_same};
use acp_registry::store::Version;
use acp_registry::text::quote;

use crate::flags::session::CommandSession;
use acp_registry::failure::Code;
use acp_registry::failure::Failure;

/// Returns the requested installed version, and whether the agent is pinned to it. The version must exist and be
/// undamaged.
pub(crate) fn whole(named: &AgentSpec, session: &CommandSession<'_>) -> Result<(Version, bool), Failure> {
    let agent = session.agent(&named.id)?;
    let Some(wanted) = wanted(named, session) else { return Ok((agent.current, agent.is_pinned)) };
    let version = session.find_version(&AgentSpec::exact(&named.id, &wanted), None)?;
    let version = version.ok_or_else(|| missing(&named.id, &wanted, session))?;
    session.refuse_unfit(&version)?;
    let is_pinned = agent.is_pinned && version.folder() == agent.current.folder();
    Ok((version, is_pinned))
}

/// Returns the ids of the agents. If a version is given, it must be the current one, since the command affects the
/// version that is started.
pub(crate) fn started(named: &[AgentSpec], session: &CommandSession<'_>) -> Result<Vec<String>, Failure> {
    for one in named.iter().filter(|one| one.has_version()) {
        let Some(agent) = session.store.agent(&one.id)? else { continue };
        let current = &agent.current.receipt.version;
        if let Some(wanted) = wanted(one, session).filter(|wanted| !is_same(wanted, current)) {
            let (id, wanted) = (quote(&one.id), quote(&wanted));
            let message = format!("version {} of {id} is the one that is started, not {wanted}", quote(current));
            let help = format!("run `acp-registry install {one}` first");
            return Err(Failure::usage(message).code(Code::UnknownVersion).help(help));
        }
    }
    Ok(named.iter().map(|one| one.id.clone()).collect())
}

/// Returns the ids of the agents. If a version is given, it must be the only one, since the command removes all versions.
pub(crate) fn only(named: &[AgentSpec], session: &CommandSession<'_>) -> Result<Vec<String>, Failure> {
    for one in named {
        let Some(wanted) = wanted(one, session) else { continue };
        let versions = session.store.versions(&one.id)?;
        if !versions.is_empty() && !versions.iter().any(|version| is_same(&version.receipt.version, &wanted)) {
            return Err(missing(&one.id, &wanted, session));
        }
        let other = versions.iter().find(|version| !is_same(&version.receipt.version, &wanted));
        if let Some(other) = other {
            let (id, other) = (quote(&one.id), quote(&other.receipt.version));
            let message = format!("{id} is removed with all its versions, and {other} is installed as well");
            let is_current =
                session.store.agent(&one.id)?.is_some_and(|agent| is_same(&agent.current.receipt.version, &wanted));
            let help = if is_current {
                format!("run `acp-registry uninstall {}` to remove all its versions", one.id)
            } else {
                "run `acp-registry gc` to remove versions that are not in use".to_owned()
            };
            return Err(Failure::usage(message).help(help));
        }
    }
    Ok(named.iter().map(|one| one.id.clone()).collect())
}

/// The agent in the version to which it is pinned, with a note about it, unless a version is requested.
pub(crate) fn kept(named: &AgentSpec, session: &CommandSession<'_>) -> Option<AgentSpec> {
    let agent = session.store.agent(&named.id).ok().flatten()?;
    if named.has_version() || !agent.is_pinned {
        return None;
    }
    let version = agent.current.receipt.version;
    session.ui().note(&format!("{} stays at {version}, to which it is pinned (see `update --unpin`)", named.id));
    let mut kept = named.clone();
    kept.version = Some(version);
    Some(kept)
}

/// The requested version. `ID@latest` is the version in the cached entry or index, if there is one.
fn wanted(named: &AgentSpec, session: &CommandSession<'_>) -> Option<String> {
    let of_index = || session.entry_at_hand(&named.id)?.agent(&named.id).ok()?.map(|agent| agent.version);
    if named.is_latest { of_index() } else { named.version.clone() }
}

fn missing(id: &str, version: &str, session: &CommandSession<'_>) -> Failure {
    let known = session.store.versions(id).unwrap_or_default();
    let known: Vec<String> = known.into_iter().map(|version| version.receipt.version).collect();
    let message =
        format!("version {} of {} is not installed; there is {}", quote(version), quote(id), known.join(", "));
    Failure::usage(message)
        .code(Code::NotInstalled)
        .help(format!("`acp-registry install {id}@{version}` installs it"))
        .suggest(known.iter().map(String::as_str))
}
