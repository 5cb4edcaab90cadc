//! Why nothing was verified.

use super::SnapshotError;
use crate::select;
use acp_registry_core::sys::fs::PathError;
use acp_registry_core::text::quote;

/// Why no agent is started.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The agents are not known.
    #[error(transparent)]
    Select(#[from] select::Error),
    /// A named agent has none of the kinds of distributions that are wanted.
    #[error("{} has no distribution {kinds}; it has {offered}", quote(.id))]
    OtherKind {
        /// The agent.
        id: String,
        /// The wanted kinds.
        kinds: String,
        /// The kinds that it has.
        offered: String,
    },
    /// No agent has any of the kinds of distributions that are wanted.
    #[error("no agent of the registry has a distribution {0}")]
    NoKind(String),
    /// The earlier snapshot, or the one that is to be continued, cannot be used.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// The directory for what agents leave cannot be made.
    #[error(transparent)]
    Keep(PathError),
    /// The snapshot could not be written.
    #[error(transparent)]
    Unwritable(PathError),
}
