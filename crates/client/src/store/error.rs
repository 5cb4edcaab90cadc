use std::path::PathBuf;
use std::time::Duration;

use super::change::Change;
use crate::install;
use acp_registry_core::sys::fs::PathError;
use acp_registry_core::text::{printable, quote};

/// What to do where other people could change what is started.
pub(crate) const OF_FOREIGN: &str = "make it yours alone (`chown -R`, `chmod -R go-w`), name another directory with --root, or add \
                              --trust-root if you trust everyone who can write there";

/// Why the store was not changed or read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The agent was not installed.
    #[error("{} was not installed: {error}", quote(id))]
    Install {
        /// The agent.
        id: String,
        /// Why not.
        #[source]
        error: install::Error,
    },
    /// A file or directory of the store cannot be read or written.
    #[error("the store of installed agents: {_0}")]
    Path(#[from] PathError),
    /// Another process holds the agent's lock.
    #[error("{} is being changed by {holder}; it was waited for {} s", quote(id), waited.as_secs_f64())]
    Locked {
        /// The agent.
        id: String,
        /// The other process, in its own words.
        holder: String,
        /// For how long it was waited for.
        waited: Duration,
    },
    /// A file of the store is not as this program writes it.
    #[error("{} is damaged ({message})", .path.display())]
    Damaged {
        /// The agent.
        id: String,
        /// Which.
        path: PathBuf,
        /// What is wrong.
        message: String,
    },
    /// The receipt of a version would be refused when it is read.
    #[error("{} is refused: {problem}", quote(id))]
    Unfit {
        /// The agent.
        id: String,
        /// What is wrong.
        problem: String,
    },
    /// Other bytes are offered under the number of an installed version.
    #[error("{} {version} is refused: {change}", quote(id))]
    Changed {
        /// The agent.
        id: String,
        /// The version.
        version: String,
        /// What is different.
        change: Change,
    },
    /// Other people could change what is started.
    #[error("{} is refused: it {problem}", .path.display())]
    Foreign {
        /// Which part of the store.
        path: PathBuf,
        /// Why, as the rest of a sentence.
        problem: String,
    },
    /// The program is not the one that was installed.
    #[error("{} is refused: {} has other content than was installed", quote(id), .program.display())]
    OtherProgram {
        /// The agent.
        id: String,
        /// Its program.
        program: PathBuf,
    },
    /// The agent is running.
    #[error("{} is running{}", quote(id), told(.processes))]
    Running {
        /// The agent.
        id: String,
        /// Processes that are known to run it.
        processes: Vec<u32>,
    },
    /// The agent's directory is a link, and may lead to anything.
    #[error("{} is a link, which is not followed", .0.display())]
    Link(PathBuf),
    /// The agent is not installed.
    #[error("{} is not installed", quote(.0))]
    NotInstalled(String),
}

impl Error {
    /// Whether something was refused because it has changed or is not safe.
    #[must_use]
    pub fn is_of_integrity(&self) -> bool {
        match self {
            Self::Install { error, .. } => error.is_of_integrity(),
            Self::Changed { .. } | Self::Unfit { .. } | Self::Foreign { .. } | Self::OtherProgram { .. } => true,
            _ => false,
        }
    }

    /// The message without the agent's name, for a place that names the agent already.
    #[must_use]
    pub fn without_id(&self) -> Option<String> {
        match self {
            Self::Install { error, .. } => Some(error.to_string()),
            Self::Changed { version, change, .. } => Some(format!("{version} is refused: {change}")),
            _ => None,
        }
    }

    /// What to do about it, where that is known. Printable.
    #[must_use]
    pub fn remedy(&self) -> Option<String> {
        match self {
            Self::Install { error: install::Error::DigestMismatch { .. }, .. } => {
                Some("tell the agent's publisher that its archive is not the one that was published".to_owned())
            }
            Self::Install { id, error } if error.wanted_minutes().is_some() => {
                let minutes = error.wanted_minutes()?;
                let id = quote(id);
                Some(format!("run `acp-registry install {} --install-timeout {minutes}m`", id.trim_matches('`')))
            }
            Self::Install { error, .. } => error.remedy().map(|remedy| printable(&remedy).into_owned()),
            Self::Path(error) => Some(elsewhere(error)),
            Self::Locked { .. } => Some("try again when that is done".to_owned()),
            Self::Damaged { id, .. } | Self::OtherProgram { id, .. } => Some(remedy(id)),
            Self::Changed { id, change, .. } => Some(change.remedy(id)),
            Self::Foreign { .. } => Some(OF_FOREIGN.to_owned()),
            Self::Running { .. } => Some("end it first".to_owned()),
            Self::Link(_) => Some("remove it, or name the directory that is meant with --root".to_owned()),
            Self::Unfit { .. } | Self::NotInstalled(_) => None,
        }
    }
}

/// What to do where an agent has changed since its installation, whatever the index offers now. Printable.
#[must_use]
pub fn remedy(id: &str) -> String {
    format!("`acp-registry doctor --fix {}` repairs it", quote(id).trim_matches('`'))
}

fn elsewhere(error: &PathError) -> String {
    let other = "name another directory with --root";
    error.remedy().map_or_else(|| other.to_owned(), |remedy| format!("{remedy}, or {other}"))
}

fn told(processes: &[u32]) -> String {
    if processes.is_empty() {
        return String::new();
    }
    let shown: Vec<String> = processes.iter().take(5).map(ToString::to_string).collect();
    format!(" ({} {})", if processes.len() == 1 { "process" } else { "processes" }, shown.join(", "))
}
