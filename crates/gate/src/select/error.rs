//! Errors of selecting a registry and its agents.

use std::path::PathBuf;

use acp_registry_client::registry::{LoadError, Registry};
use acp_registry_host::git;
use acp_registry_plan::text::{quote, suggestions};

/// Why a registry or its agents could not be selected.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The registry could not be loaded.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The directory has neither agents nor a `registry.toml`.
    #[error("{} holds no agents", .0.display())]
    Empty(PathBuf),
    /// The agent is listed as withdrawn in `registry.toml`.
    #[error("the agent {} is withdrawn", quote(.0))]
    Withdrawn(String),
    /// The registry has no agent with this id.
    #[error("there is no agent {}", quote(.id))]
    Unknown {
        /// The id.
        id: String,
        /// Similar ids, the most similar first.
        near: Vec<String>,
        /// All ids of the registry.
        known: Vec<String>,
    },
    /// The folder exists, but has no manifest.
    #[error("the folder {} has no agent.json", quote(.id))]
    NoManifest {
        /// Name of the folder.
        id: String,
        /// A file in the folder that is probably the misnamed manifest.
        misnamed: Option<String>,
    },
    /// The quarantine list could not be read; holds the place and the problem.
    #[error("the quarantine list cannot be read: {0}")]
    Quarantine(String),
    /// Git could not list the changed files.
    #[error(transparent)]
    Git(#[from] git::Error),
}

impl Error {
    /// Creates [`Error::Unknown`] with suggestions.
    pub(super) fn unknown(id: &str, registry: &Registry) -> Self {
        let known: Vec<String> = registry.entries.iter().map(|entry| entry.id.clone()).collect();
        let near = suggestions(id, known.iter().map(String::as_str)).into_iter().map(ToOwned::to_owned).collect();
        Self::Unknown { id: id.to_owned(), near, known }
    }
}
