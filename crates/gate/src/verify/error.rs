//! Errors of preparing a verification, and of reading snapshots.

use std::path::PathBuf;

use crate::select;
use acp_registry_host::fs::{PathError, ReadError};
use acp_registry_plan::text::quote;

/// Why a verification could not be prepared.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The agents could not be selected.
    #[error(transparent)]
    Select(#[from] select::Error),
    /// A named agent has no distribution of the requested kinds.
    #[error("{} has no distribution {kinds}; it has {offered}", quote(.id))]
    OtherKind {
        /// The agent's id.
        id: String,
        /// The requested kinds.
        kinds: String,
        /// The kinds that the agent has.
        offered: String,
    },
    /// No agent has a distribution of the requested kinds.
    #[error("no agent of the registry has a distribution {0}")]
    NoKind(String),
    /// The earlier snapshot could not be read.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// The directory for `keep` could not be created.
    #[error(transparent)]
    Keep(PathError),
    /// The snapshot cannot be written.
    #[error(transparent)]
    Unwritable(PathError),
}

/// Why a snapshot could not be read.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// The file could not be read.
    #[error("{}: {error}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        error: ReadError,
    },
    /// The file is not a snapshot.
    #[error("{} is not a capability snapshot: {message}", .path.display())]
    Form {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        message: String,
    },
}

/// A document lists no agents that could have answered.
#[derive(Debug, thiserror::Error)]
pub enum FormError {
    /// Not JSON.
    #[error("is not JSON: {0}")]
    Syntax(#[from] serde_json::Error),
    /// There is no list of agents in it.
    #[error("has no list `agents`")]
    NoRows,
}
