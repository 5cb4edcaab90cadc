use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;

use super::{AgentError, IndexOrigin, Launch};
use acp_registry_client::index::Entry;
use acp_registry_client::store::{self, Agent};

/// What the index says about an agent. All members are `None` if there is no index, or if it does not have the agent.
#[derive(Debug, Default, Serialize)]
struct About<'a> {
    name: Option<&'a str>,
    description: Option<&'a str>,
    license: Option<&'a str>,
    icon: Option<&'a str>,
    distributions: Option<Vec<&'static str>>,
    platforms: Option<&'a [Cow<'static, str>]>,
    available_version: Option<&'a str>,
}

impl<'a> About<'a> {
    fn of(entry: &'a Entry) -> Self {
        let text = |value: &'a str| Some(value).filter(|value| !value.is_empty());
        Self {
            name: text(&entry.name),
            description: text(&entry.description),
            license: text(&entry.license),
            icon: text(&entry.icon),
            distributions: Some(kinds(entry)),
            platforms: Some(&entry.platforms),
            available_version: text(&entry.version),
        }
    }
}

/// The kinds of distribution of an entry, in order of preference.
#[must_use]
pub fn kinds(entry: &Entry) -> Vec<&'static str> {
    let kinds = [("binary", !entry.platforms.is_empty()), ("npx", entry.has_npx), ("uvx", entry.has_uvx)];
    kinds.into_iter().filter(|(_, is_there)| *is_there).map(|(kind, _)| kind).collect()
}

/// An agent in the index, for `list` and `search`.
#[derive(Debug, Serialize)]
pub struct Listed<'a> {
    #[serde(flatten)]
    about: About<'a>,
    installed: bool,
    installed_version: Option<&'a str>,
    pinned: bool,
    id: &'a str,
    version: &'a str,
}

impl<'a> Listed<'a> {
    /// Combines an entry with the agent's installed version, if any.
    #[must_use]
    pub fn of(entry: &'a Entry, agent: Option<&'a Agent>) -> Self {
        Self {
            about: About::of(entry),
            installed: agent.is_some(),
            installed_version: agent.map(|agent| agent.current.receipt.version.as_str()),
            pinned: agent.is_some_and(|agent| agent.is_pinned),
            id: &entry.id,
            version: &entry.version,
        }
    }
}

/// Members of `list` and `search`.
#[derive(Debug, Serialize)]
pub struct Found<'a> {
    /// The index.
    pub index: IndexOrigin,
    /// SHA-256 of the index.
    pub index_sha256: &'a str,
    /// The agents, best match first.
    pub agents: Vec<Listed<'a>>,
    /// The parts of the index that cannot be used, and why.
    pub notes: &'a [String],
}

/// An installed agent, for `list --installed`.
#[derive(Debug, Serialize)]
pub struct InstalledAgent<'a> {
    #[serde(flatten)]
    launch: Launch,
    #[serde(flatten)]
    about: About<'a>,
    installed_version: &'a str,
    pinned: bool,
}

impl<'a> InstalledAgent<'a> {
    /// Combines an installed agent with its entry in the index, if any.
    #[must_use]
    pub fn of(launch: Launch, entry: Option<&'a Entry>, agent: &'a Agent) -> Self {
        let about = entry.map(About::of).unwrap_or_default();
        Self { launch, about, installed_version: &agent.current.receipt.version, pinned: agent.is_pinned }
    }
}

/// Members of `list --installed`.
#[derive(Debug, Serialize)]
pub struct InstalledList<'a> {
    /// The index, if one could be read.
    pub index: Option<IndexOrigin>,
    /// The installed agents.
    pub agents: Vec<InstalledAgent<'a>>,
    /// The agents that cannot be read, and why.
    pub errors: Vec<AgentError>,
}

/// An installed version, for `info`.
#[derive(Debug, Serialize)]
pub struct InstalledVersion<'a> {
    version: &'a str,
    distribution: &'a str,
    verified: &'a str,
    install_dir: &'a std::path::Path,
    size: u64,
    installed_at: &'a str,
    current: bool,
}

impl<'a> InstalledVersion<'a> {
    /// Describes a version. `is_current` tells whether it is the version that is started.
    #[must_use]
    pub fn of(version: &'a store::Version, is_current: bool) -> Self {
        let receipt = &version.receipt;
        Self {
            version: &receipt.version,
            distribution: &receipt.distribution,
            verified: &receipt.verified,
            install_dir: &version.directory,
            size: receipt.size,
            installed_at: &receipt.installed_at,
            current: is_current,
        }
    }
}

/// Members of `info`.
#[derive(Debug, Serialize)]
pub struct Info<'a> {
    /// The agent.
    pub id: &'a str,
    /// The version that this document describes.
    pub version: &'a str,
    /// The source of a requested version; `None` if the current entry is shown.
    pub known_from: Option<&'a str>,
    /// The entry of the index, unchanged.
    pub agent: &'a Value,
    /// The installed versions.
    pub installed: Vec<InstalledVersion<'a>>,
    /// Whether the agent is pinned.
    pub pinned: bool,
    /// SHA-256 of the index.
    pub index_sha256: &'a str,
    /// The index.
    pub index: IndexOrigin,
}
