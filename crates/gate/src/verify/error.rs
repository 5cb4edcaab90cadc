//! Errors of preparing a verification.

use super::SnapshotError;
use crate::select;
use acp_registry_core::sys::fs::PathError;
use acp_registry_core::text::quote;

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
