//! Why a tree is not published.

use crate::sys::fs::{PathError, ReadError};

/// Why a tree is not published.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The directory is no built tree.
    #[error("{path} is no built tree: {why}; make one with `acp-registry build`")]
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
    #[error("{0} is not what SHA256SUMS says: it was changed after `build`; build again")]
    Digest(String),
    /// A file of the target directory cannot be read or written.
    #[error(transparent)]
    Path(#[from] PathError),
    /// A request to a store failed.
    #[error("{place}: {message}")]
    Store {
        /// The object.
        place: String,
        /// Why, with the remedy where one is known.
        message: String,
    },
    /// The target cannot be what it is.
    #[error("{0}")]
    Target(String),
    /// A folder of the target is a symbolic link.
    #[error(
        "{0} is a symbolic link, and what it leads to would be overwritten; remove it, or give --to the directory that is meant"
    )]
    Link(String),
    /// `latest/` holds what no publisher of a registry has put there.
    #[error(
        "{0} was there before and is not part of a published tree, so that it is not overwritten: a registry has a registry.json \
         with a list of agents; give --to another place, or move it away"
    )]
    Foreign(String),
    /// Nothing was ever published there.
    #[error(
        "{0} holds neither latest/SHA256SUMS nor .acp-registry/state.json: nothing was ever published there; check --to"
    )]
    Unpublished(String),
    /// What an earlier publisher has left behind cannot be read.
    #[error(
        "{place} cannot be used: {message}; remove it to begin anew: every file is then compared with what is there"
    )]
    State {
        /// The file.
        place: String,
        /// What is wrong with it.
        message: String,
    },
    /// Another publisher is at work.
    #[error("another publisher is at work at {place} ({holder}); wait for it, or longer with --wait")]
    Busy {
        /// Where.
        place: String,
        /// Its own words about itself.
        holder: String,
    },
    /// Another publisher has taken over.
    #[error("another publisher has taken over {0}; this one has stopped, run it again")]
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
        matches!(self, Self::Target(_))
    }
}
