//! Errors of publishing and pruning.

use acp_registry_host::fs::{PathError, ReadError};
use acp_registry_plan::failure::Failure;
use acp_registry_plan::revocations::REVOKED;
use acp_registry_plan::statement::{STATEMENT, STATEMENT_SIGNATURE};
use acp_registry_plan::text::quote;

/// Why a tree cannot be published, or snapshots cannot be pruned.
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
    /// The tree was built without a base URL.
    #[error("{0} was built without a `base-url`: its links are relative")]
    NoAddress(String),
    /// A file of the tree cannot be read.
    #[error("{path}: {error}")]
    Read {
        /// The path of the file.
        path: String,
        /// Why it cannot be read.
        error: ReadError,
    },
    /// A file of the target directory cannot be read.
    #[error("{path}: {error}")]
    ReadTarget {
        /// The path of the file.
        path: String,
        /// Why it cannot be read.
        error: ReadError,
    },
    /// A file does not match its digest in `SHA256SUMS`.
    #[error("{0} does not match its digest in SHA256SUMS: it was changed after `build`")]
    Digest(String),
    /// A file of the target directory cannot be read or written.
    #[error(transparent)]
    Path(#[from] PathError),
    /// A request to a store failed.
    #[error("{place}: {message}")]
    Store {
        /// The address of the object, or of the folder that was listed.
        place: String,
        /// The cause.
        message: String,
        /// What the user can do about it, if known.
        remedy: Option<String>,
    },
    /// The target is invalid: its address, its endpoint, a directory that overlaps the tree, or a revision in use.
    #[error("{message}")]
    Target {
        /// What is wrong with it.
        message: String,
        /// What the user can do about it.
        remedy: String,
    },
    /// The snapshot is from before a recall.
    #[error("{place} recalls {versions} of {}, and that snapshot does not", quote(.id))]
    LostRecall {
        /// The list with the recall.
        place: String,
        /// The agent.
        id: String,
        /// The versions.
        versions: String,
    },
    /// A folder of the target is a symbolic link.
    #[error("{0} is a symbolic link, and its target would be overwritten")]
    Link(String),
    /// A file in `latest/` was not published by this program and would be overwritten.
    #[error(
        "{0} already exists and is not part of a published tree, so it is not overwritten: a published tree has a \
         registry.json with a list of agents"
    )]
    Foreign(String),
    /// The target was never published to.
    #[error("{0} holds neither latest/SHA256SUMS nor .acp-registry/state.json: nothing was ever published there")]
    Unpublished(String),
    /// There is no such snapshot.
    #[error("{0} is not a snapshot: it has no SHA256SUMS")]
    NoSnapshot(String),
    /// The list of digests of a snapshot, or the statement, cannot be used.
    #[error("{place} cannot be used: {why}")]
    Unreadable {
        /// Its address.
        place: String,
        /// What is wrong with it.
        why: String,
    },
    /// Content that a snapshot names is not at the target.
    #[error("{0} is missing, although a snapshot names it")]
    Missing(String),
    /// A published file has another digest than the one that is recorded.
    #[error("{0} does not match its digest: it was changed after it was published")]
    Altered(String),
    /// The state that an earlier run wrote cannot be used.
    #[error("{place} cannot be used: {message}")]
    State {
        /// The address of the state.
        place: String,
        /// What is wrong with it.
        message: String,
    },
    /// Another publisher holds the lock or the lease of the target.
    #[error("another publisher is writing to {place} ({holder})")]
    Busy {
        /// The address of the target.
        place: String,
        /// How the other publisher describes itself, for example `process 4711`.
        holder: String,
    },
    /// Another publisher took over the lease while this one was running.
    #[error("another publisher has taken over {0}; this one has stopped")]
    Lost(String),
    /// Signing `statement.json` failed.
    #[error("statement.json was not signed: {0}")]
    SignStatement(String),
    /// Signing `SHA256SUMS` failed.
    #[error("SHA256SUMS was not signed: {0}")]
    Sign(String),
}

impl Error {
    /// Whether it is not safe to publish this: a file does not match its digest, or clients would start what was recalled.
    pub fn is_of_integrity(&self) -> bool {
        matches!(self, Self::Digest(_) | Self::Altered(_) | Self::LostRecall { .. })
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let help = publish_remedy(&error);
        let failure = match error {
            _ if error.is_of_integrity() => Self::refused(error),
            Error::NoAddress(_) | Error::Target { .. } | Error::NoSnapshot(_) => Self::usage(error),
            _ => Self::unable(error),
        };
        failure.help(help)
    }
}

/// The help if a tree cannot be published.
fn publish_remedy(error: &Error) -> String {
    let known = match error {
        Error::NoTree { .. } => "make one with `acp-registry build`, or name one with --from",
        Error::NoAddress(_) => "set `base-url` in registry.toml, and build the tree again",
        Error::Read { .. } | Error::Digest(_) => "build the tree again with `acp-registry build`",
        Error::ReadTarget { error: ReadError::Io(_), .. } => "make it readable, or name another directory with --to",
        // Something else is in its place.
        Error::ReadTarget { .. } => "restore it from a copy, or name another directory with --to",
        // Another directory has other snapshots.
        Error::Path(error) if let Some(remedy) = error.remedy() => remedy,
        Error::Path(error) => {
            return error.or_another("make the directory readable and writable", "directory", "--to");
        }
        Error::Store { remedy: Some(remedy), .. } | Error::Target { remedy, .. } => return remedy.clone(),
        Error::Store { .. } => "check the network, AWS_ENDPOINT_URL and AWS_REGION, and run it again",
        Error::LostRecall { .. } => {
            return format!(
                "put back the earlier files of the registry, except {REVOKED}, build them, and publish that"
            );
        }
        Error::Link(_) => "remove the link, or name the directory that is meant with --to",
        Error::Foreign(_) => "move it away, or name another place with --to",
        Error::Unpublished(_) => "name the place of a published tree with --to",
        Error::NoSnapshot(_) => "choose one that `acp-registry publish list --to TARGET` shows",
        Error::Unreadable { place, .. } if place.ends_with(STATEMENT) => {
            return format!(
                "restore it from a copy, or remove it and {STATEMENT_SIGNATURE}, and name the key with --signer once"
            );
        }
        Error::Unreadable { place, .. } if place.ends_with(REVOKED) => {
            "restore it from a copy, so that no recall is lost"
        }
        Error::Unreadable { .. } | Error::Missing(_) | Error::Altered(_) => {
            "choose another snapshot, or restore the file from a copy"
        }
        Error::State { .. } => "remove it: every file is then compared with what is there",
        Error::Busy { .. } => "wait for it, or wait longer with --wait",
        Error::Lost(_) => "run it again when the other one is done",
        Error::SignStatement(_) => "correct the command of --sign-with, or name its public key with --signer",
        Error::Sign(_) => "correct the command of --sign",
    };
    known.to_owned()
}
