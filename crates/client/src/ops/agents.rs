//! Which installed agents and versions the words of a person mean.

use std::collections::BTreeMap;

use acp_registry_plan::failure::{Code, Failure};
use acp_registry_plan::manifest::{self, AgentId};
use acp_registry_plan::text::{is_mistyped, quote, suggestions};

use super::{Event, Events, waiting};
use crate::index::Index;
use crate::session::{AgentSpec, Session};
use crate::store::{Store, StoredAgent, Version};

/// The installed agents, and the failures of those that cannot be read.
pub(super) type InstalledAgents = (BTreeMap<AgentId, StoredAgent>, BTreeMap<AgentId, Failure>);

/// Reads all installed agents.
pub(super) fn read_agents(store: &Store) -> Result<InstalledAgents, Failure> {
    let (mut agents, mut damaged) = (BTreeMap::new(), BTreeMap::new());
    for id in store.ids()? {
        let lost = match store.agent(&id) {
            Ok(Some(agent)) => {
                agents.insert(id, agent);
                continue;
            }
            Ok(None) => store.lost(&id),
            Err(error) => Err(error),
        };
        match lost {
            Ok(None) => {}
            Ok(Some(error)) | Err(error) => drop(damaged.insert(id, error.into())),
        }
    }
    Ok((agents, damaged))
}

/// Waits while another process installs the version that is started again, and puts it back if that process was killed.
/// Returns whether there was such a version.
///
/// # Errors
/// [`Failure`] when the version cannot be put back.
pub async fn settle(session: &Session, id: &str, events: &Events<'_>) -> Result<bool, Failure> {
    let Some(id) = id.parse().ok().filter(|id| session.store.is_unsettled(id)) else { return Ok(false) };
    session.store.settle(&id, &waiting(events)).await?;
    Ok(true)
}

impl Session {
    /// The named agents, which must be installed, or all installed agents if none is named.
    pub(super) fn installed(&self, named: &[String]) -> Result<Vec<AgentId>, Failure> {
        self.all_with(named, |id| self.not_installed(id))
    }

    /// Like [`Self::installed`], to remove agents. The help for an unknown id suggests no installation, and only ids that
    /// differ by a typing mistake.
    pub(super) fn removable(&self, named: &[String]) -> Result<Vec<AgentId>, Failure> {
        let near = |id: &str| {
            self.absent(id, |known| known.iter().map(AgentId::as_str).filter(|known| is_mistyped(id, known)).collect())
        };
        self.all_with(named, near)
    }

    fn all_with(&self, named: &[String], missing: impl Fn(&str) -> Failure) -> Result<Vec<AgentId>, Failure> {
        let known = self.store.ids()?;
        if named.is_empty() {
            return Ok(known);
        }
        let find = |id: &String| known.iter().find(|known| **known == **id).cloned().ok_or_else(|| missing(id));
        let mut found = Vec::new();
        for id in named {
            let id = find(id)?;
            // An agent that is named twice is meant once.
            if !found.contains(&id) {
                found.push(id);
            }
        }
        Ok(found)
    }

    /// An installed agent whose current version may be started.
    pub(super) fn agent(&self, id: &str) -> Result<StoredAgent, Failure> {
        let agent = self.find_agent(id)?;
        self.refuse_unfit(&agent.current)?;
        Ok(agent)
    }

    /// An installed agent, whatever the state of its versions.
    fn find_agent(&self, id: &str) -> Result<StoredAgent, Failure> {
        if let Some(agent) = self.store.agent(id)? {
            return Ok(agent);
        }
        let lost = if let Ok(id) = id.parse() { self.store.lost(&id)? } else { None };
        Err(lost.map_or_else(|| self.not_installed(id), Failure::from))
    }

    /// The failure for an agent that is not installed. If the index has the agent, the help is to install it; otherwise
    /// similar ids are suggested.
    pub(super) fn not_installed(&self, id: &str) -> Failure {
        let failure = self.absent(id, |known| suggestions(id, known.iter().map(AgentId::as_str)));
        let is_offered = |index: Index| matches!(index.agent(id), Ok(Some(_)));
        if self.entry_at_hand(id).is_some_and(is_offered) {
            failure.help(format!("run `acp-registry install {}`", acp_registry_plan::text::escape(id)))
        } else {
            failure
        }
    }

    /// The failure for an agent that is not installed, without the help to install it. `near` chooses the ids to suggest.
    fn absent(&self, id: &str, near: impl Fn(&[AgentId]) -> Vec<&str>) -> Failure {
        let failure = Failure::from(self.store.not_installed(id));
        let mut known = self.store.ids().unwrap_or_default();
        // One that is being installed has files already.
        known.retain(|known| **known != *id);
        match near(&known) {
            near if near.is_empty() => failure.help("`acp-registry list --installed` shows what is installed"),
            near => failure.suggest(near),
        }
    }

    /// The requested installed version, and whether the agent is pinned to it. The version must exist and be undamaged.
    pub(super) fn whole(&self, named: &AgentSpec) -> Result<(Version, bool), Failure> {
        let Some(wanted) = self.wanted_version(named) else {
            let agent = self.agent(&named.id)?;
            return Ok((agent.current, agent.is_pinned));
        };
        let agent = self.find_agent(&named.id)?;
        let version = self.named_version(&named.id, &wanted)?;
        self.refuse_unfit(&version)?;
        let is_pinned = agent.is_pinned && version.folder() == agent.current.folder();
        Ok((version, is_pinned))
    }

    /// The named agents, or all, each with the version that is named where another one is started.
    pub(super) fn installed_versions(&self, named: &[AgentSpec]) -> Result<Vec<(AgentId, Option<Version>)>, Failure> {
        if named.is_empty() {
            return Ok(self.installed(&[])?.into_iter().map(|id| (id, None)).collect());
        }
        let mut found = Vec::new();
        for one in named {
            let id = self.installed(std::slice::from_ref(&one.id))?.remove(0);
            let version = match self.store.agent(&id) {
                Ok(Some(agent)) => {
                    let current = &agent.current.receipt.version;
                    let other = self.wanted_version(one).filter(|wanted| !manifest::Version::is_same(wanted, current));
                    other.map(|wanted| self.named_version(&id, &wanted)).transpose()?
                }
                _ => None,
            };
            // An agent that is named twice is meant once.
            if !found.contains(&(id.clone(), version.clone())) {
                found.push((id, version));
            }
        }
        Ok(found)
    }

    /// The ids of the agents. If a version is named, it must be the only one, since all versions are removed.
    pub(super) fn only(&self, named: &[AgentSpec]) -> Result<Vec<String>, Failure> {
        for one in named {
            let Some(wanted) = self.wanted_version(one) else { continue };
            let versions = self.store.versions(&one.id)?;
            if !versions.is_empty()
                && !versions.iter().any(|version| manifest::Version::is_same(&version.receipt.version, &wanted))
            {
                return Err(self.missing(&one.id, &wanted));
            }
            let is_other = |version: &&str| !manifest::Version::is_same(version, &wanted);
            let found = one.id.parse().ok().map(|id| self.store.examine(&id)).transpose()?;
            let folders = found.iter().flat_map(|found| &found.versions).map(|found| found.folder.as_str());
            // Of a version whose receipt cannot be read, the name of its folder tells.
            let unread = folders.filter(|name| !versions.iter().any(|version| version.folder() == *name));
            let unread = unread.filter_map(|name| Some(name.rsplit_once('-')?.0));
            let other = versions.iter().map(|version| &*version.receipt.version).chain(unread).find(is_other);
            if let Some(other) = other {
                let (id, other) = (quote(&one.id), quote(other));
                let message = format!("{id} is removed with all its versions, and {other} is installed as well");
                let current = self.store.agent(&one.id).ok().flatten().map(|agent| agent.current.receipt.version);
                let is_current = current.is_some_and(|current| manifest::Version::is_same(&current, &wanted));
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

    /// The agent in the version to which it is pinned, with a note about it, unless a version is named.
    pub(super) fn kept(&self, named: &AgentSpec, events: &Events<'_>) -> Option<AgentSpec> {
        let (version, is_pinned) = match self.store.agent(&named.id) {
            Ok(Some(agent)) => (agent.current.receipt.version, agent.is_pinned),
            _ => self.store.lost_version(&named.id.parse().ok()?).map(|lost| (lost.version, lost.is_pinned))?,
        };
        if named.has_version() || !is_pinned {
            return None;
        }
        let id = &named.id;
        events(Event::Note(&format!("{id} stays at {version}, to which it is pinned (see `update --unpin`)")));
        let mut kept = named.clone();
        kept.version = Some(version);
        Some(kept)
    }

    fn named_version(&self, id: &str, wanted: &str) -> Result<Version, Failure> {
        if let Some(version) = self.find_version(&AgentSpec::exact(id, wanted), None)? {
            return Ok(version);
        }
        // As in an index, one with other build metadata counts as the same.
        let mut versions = self.store.versions(id)?.into_iter();
        let is_same = |version: &Version| manifest::Version::is_same(&version.receipt.version, wanted);
        versions.find(is_same).ok_or_else(|| self.missing(id, wanted))
    }

    /// The version that is named. `ID@latest` is the version in the cached entry or index, if there is one.
    fn wanted_version(&self, named: &AgentSpec) -> Option<String> {
        let in_index = || self.entry_at_hand(&named.id)?.agent(&named.id).ok()?.map(|agent| agent.version);
        if named.is_latest { in_index() } else { named.version.clone() }
    }

    fn missing(&self, id: &str, version: &str) -> Failure {
        let known = self.store.versions(id).unwrap_or_default();
        let known: Vec<String> = known.into_iter().map(|version| version.receipt.version).collect();
        let message =
            format!("version {} of {} is not installed; there is {}", quote(version), quote(id), known.join(", "));
        Failure::usage(message)
            .code(Code::NotInstalled)
            .help(format!("`acp-registry install {id}@{version}` installs it"))
            .suggest(known.iter().map(String::as_str))
    }
}
