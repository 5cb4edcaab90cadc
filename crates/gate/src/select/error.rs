//! Why nothing was selected.

use std::path::PathBuf;

use acp_registry_core::registry::{LoadError, Registry};
use acp_registry_core::sys::git;
use acp_registry_core::text::{quote, suggestions};

/// Why a registry, or an agent of it, is not worked on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The registry cannot be read.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The folder holds no agents, and nothing says that it is a registry.
    #[error("{} holds no agents", .0.display())]
    Empty(PathBuf),
    /// The agent is not published.
    #[error("the agent {} is withdrawn", quote(.0))]
    Withdrawn(String),
    /// The registry has no agent of this id.
    #[error("there is no agent {}", quote(.id))]
    Unknown {
        /// The id.
        id: String,
        /// Ids that were probably meant, the nearest first.
        near: Vec<String>,
        /// The ids that there are.
        known: Vec<String>,
    },
    /// There is a folder of this name, but no manifest in it.
    #[error("the folder {} has no agent.json", quote(.id))]
    NoManifest {
        /// The folder.
        id: String,
        /// A file in it that is probably meant as the manifest.
        misnamed: Option<String>,
    },
    /// The list of agents in quarantine cannot be read.
    #[error("the quarantine list cannot be read: {0}")]
    Quarantine(String),
    /// Git does not say what has changed.
    #[error(transparent)]
    Git(#[from] git::Error),
}

impl Error {
    /// The error for an id that a registry does not have.
    pub(super) fn unknown(id: &str, registry: &Registry) -> Self {
        let known: Vec<String> = registry.entries.iter().map(|entry| entry.id.clone()).collect();
        let near = suggestions(id, known.iter().map(String::as_str)).into_iter().map(ToOwned::to_owned).collect();
        Self::Unknown { id: id.to_owned(), near, known }
    }
}
