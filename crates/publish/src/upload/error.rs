//! Why a tree is not published.

use acp_registry_core::sys::fs::{PathError, ReadError};

/// Why a tree is not published.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The directory is not a built tree.
    #[error("{path} is not a built tree: {why}")]
    NoTree {
        /// The directory.
        path: String,
        /// What is missing or wrong.
        why: String,
    },
    /// A file of the tree cannot be read.
    #[error("{path}: {error}")]
    Read {
        /// The file.
        path: String,
        /// Why not.
        error: ReadError,
    },
    /// A file is not what the list of digests says.
    #[error("{0} is not what SHA256SUMS says: it was changed after `build`")]
    Digest(String),
    /// A file of the target directory cannot be read or written.
    #[error(transparent)]
    Path(#[from] PathError),
    /// A request to a store failed.
    #[error("{place}: {message}")]
    Store {
        /// The object.
        place: String,
        /// Why.
        message: String,
        /// What helps, where it is known.
        remedy: Option<String>,
    },
    /// The target cannot be what it is.
    #[error("{message}")]
    Target {
        /// Why not.
        message: String,
        /// What helps.
        remedy: &'static str,
    },
    /// A folder of the target is a symbolic link.
    #[error("{0} is a symbolic link, and what it leads to would be overwritten")]
    Link(String),
    /// `latest/` holds what no publisher of a registry has put there.
    #[error(
        "{0} was there before and is not part of a published tree, so that it is not overwritten: a registry has a registry.json \
         with a list of agents"
    )]
    Foreign(String),
    /// Nothing was ever published there.
    #[error("{0} holds neither latest/SHA256SUMS nor .acp-registry/state.json: nothing was ever published there")]
    Unpublished(String),
    /// What an earlier publisher has left behind cannot be read.
    #[error("{place} cannot be used: {message}")]
    State {
        /// The file.
        place: String,
        /// What is wrong with it.
        message: String,
    },
    /// Another publisher is writing.
    #[error("another publisher is writing to {place} ({holder})")]
    Busy {
        /// Where.
        place: String,
        /// Its own words about itself.
        holder: String,
    },
    /// Another publisher has taken over.
    #[error("another publisher has taken over {0}; this one has stopped")]
    Lost(String),
    /// The list of digests was not signed.
    #[error("SHA256SUMS was not signed: {0}")]
    Sign(String),
}

impl Error {
    /// Whether something is not the bytes that it should be.
    #[must_use]
    pub fn is_of_integrity(&self) -> bool {
        matches!(self, Self::Digest(_))
    }

    /// Whether the caller named something that cannot be.
    #[must_use]
    pub fn is_of_usage(&self) -> bool {
        matches!(self, Self::Target { .. })
    }
}
