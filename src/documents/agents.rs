use acp_registry::index::Entry;
use acp_registry::store::{self, StoredAgent};
use serde::Serialize;
use serde_json::Value;

use crate::documents::{About, AgentError, IndexOrigin, Launch};

/// An installed agent, for `list --installed`.
#[derive(Debug, Serialize)]
pub(crate) struct InstalledAgent<'a> {
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
    pub(crate) fn of(launch: Launch, entry: Option<&'a Entry>, agent: &'a StoredAgent) -> Self {
        let about = entry.map(About::of).unwrap_or_default();
        Self { launch, about, installed_version: &agent.current.receipt.version, pinned: agent.is_pinned }
    }
}

/// Members of `list --installed`.
#[derive(Debug, Serialize)]
pub(crate) struct InstalledList<'a> {
    /// The index, if one could be read.
    pub(crate) index: Option<IndexOrigin>,
    /// The installed agents.
    pub(crate) agents: Vec<InstalledAgent<'a>>,
    /// The agents that cannot be read, and why.
    pub(crate) errors: Vec<AgentError>,
}

/// An installed version, for `info`.
#[derive(Debug, Serialize)]
pub(crate) struct InstalledVersion<'a> {
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
    pub(crate) fn of(version: &'a store::Version, is_current: bool) -> Self {
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
pub(crate) struct Info<'a> {
    /// The agent.
    pub(crate) id: &'a str,
    /// The version that this document describes.
    pub(crate) version: &'a str,
    /// The source of a requested version; `None` if the current entry is shown.
    pub(crate) known_from: Option<&'a str>,
    /// The entry of the index, unchanged.
    pub(crate) agent: &'a Value,
    /// The installed versions.
    pub(crate) installed: Vec<InstalledVersion<'a>>,
    /// Whether the agent is pinned.
    pub(crate) pinned: bool,
    /// SHA-256 of the index.
    pub(crate) index_sha256: &'a str,
    /// The index.
    pub(crate) index: IndexOrigin,
}
