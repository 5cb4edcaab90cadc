//! Runs git to read history and changes, and to update branches of a remote without changing the checkout.
//!
//! * [`Repository`]: finds a repository in a way that files of the checkout cannot influence
//! * [`changed_paths`]: the files that differ from a revision
//! * [`log()`], [`blobs`]: the history of files, and their contents
//! * [`Remote`]: branches of a remote; creates commits from objects, without a work tree

mod changes;
mod log;
mod remote;
mod repository;
mod runner;

use acp_registry_plan::failure::{Code, Failure};
use std::io;
use std::path::PathBuf;

use acp_registry_plan::text::printable;

use crate::fs::PathError;
use log::read_blobs;

pub use changes::changed_paths;
pub use log::{COMMIT_LIMIT, Commit, Cut, FileChange, Log, blobs, log};
pub use remote::{Branch, Identity, Remote};
pub use repository::Repository;

/// Why a git command failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Git could not be started, or its input could not be written.
    #[error("cannot run `git`: {0}")]
    Start(#[from] io::Error),
    /// The directory could not be read.
    #[error("cannot read the directory {0}")]
    Directory(#[source] PathError),
    /// The directory is not in a git work tree.
    #[error("the registry is not in a git repository")]
    NoRepository,
    /// A `.git` file names a directory that is part of the checkout, whose configuration could run programs.
    #[error("{} names a git directory inside the checkout, which is not used", .0.display())]
    Inside(PathBuf),
    /// A remote is a directory of the checkout, whose hooks git would run.
    #[error("the git remote {} is a directory inside the checkout, which is not used", acp_registry_plan::text::quote(.0))]
    RemoteInside(String),
    /// The revision does not exist in this clone.
    #[error("git has no revision {}: {message}", acp_registry_plan::text::quote(.revision))]
    Revision {
        /// The requested revision.
        revision: String,
        /// Git's error message, as in [`Self::Failed`].
        message: String,
    },
    /// Git exited with an error.
    #[error("`git {command}` failed: {message}")]
    Failed {
        /// The subcommand.
        command: &'static str,
        /// Git's error message on one line, without control characters, and without URLs, which may contain secrets.
        message: String,
    },
    /// Git's output was invalid or too long.
    #[error("`git {command}` gave an answer that cannot be used: {message}")]
    Answer {
        /// The subcommand.
        command: &'static str,
        /// What is wrong with it.
        message: String,
    },
}

impl Error {
    /// How to fix it, if known.
    pub fn remedy(&self) -> Option<String> {
        match self {
            Self::Start(_) => Some("install git, or correct PATH".to_owned()),
            Self::Inside(_) => Some("clone the repository again".to_owned()),
            Self::RemoteInside(name) => {
                let name = acp_registry_plan::text::quote(name);
                Some(format!("set another address with `git remote set-url {} URL`", name.trim_matches('`')))
            }
            Self::Revision { .. } => Some("a shallow clone may lack it: fetch it first".to_owned()),
            Self::Directory(_) | Self::NoRepository | Self::Failed { .. } | Self::Answer { .. } => None,
        }
    }

    /// Creates the error of a command from its stderr.
    fn of(command: &'static str, stderr: &[u8]) -> Self {
        let text = String::from_utf8_lossy(stderr);
        let says_why =
            |line: &&str| line.contains("rejected") || ["fatal:", "error:"].iter().any(|word| line.starts_with(word));
        let line = text.lines().find(says_why).or_else(|| text.lines().find(|line| !line.trim().is_empty()));
        let words = line.unwrap_or("no message").split_whitespace();
        let words: Vec<&str> = words.map(|word| if word.contains("://") { "(address)" } else { word }).collect();
        Self::Failed { command, message: printable(&words.join(" ")).into_owned() }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let help = error.remedy();
        let failure = match error {
            Error::Start(_) => Self::unable(error).code(Code::MissingRuntime),
            Error::Directory(_) | Error::Answer { .. } => Self::unable(error),
            Error::Inside(_) | Error::RemoteInside(_) => Self::refused(error),
            Error::Failed { .. } | Error::Revision { .. } | Error::NoRepository => Self::usage(error),
        };
        failure.help_if(help)
    }
}
