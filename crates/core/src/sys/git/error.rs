//! Why git did not answer.

use std::io;
use std::path::PathBuf;

use crate::sys::fs::PathError;
use crate::text::printable;

/// Why git did not do its work.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The program could not be started, or not be given its input.
    #[error("cannot run `git`: {0}")]
    Start(#[from] io::Error),
    /// The directory cannot be read.
    #[error("cannot read the directory {0}")]
    Directory(#[source] PathError),
    /// There is no work tree of git around the directory.
    #[error("the registry is in no git repository, so nothing is known of its changes")]
    NoRepository,
    /// A `.git` file leads to files that the checkout itself brought, which may name programs to run.
    #[error("{} names a git directory inside the checkout, which is not used", .0.display())]
    Inside(PathBuf),
    /// A remote is a folder of the checkout itself, whose hooks git would run.
    #[error("the git remote {} is a directory inside the checkout, which is not used", crate::text::quote(.0))]
    RemoteInside(String),
    /// There is no such revision here.
    #[error("git has no revision {}: {message}", crate::text::quote(.revision))]
    Revision {
        /// What was asked for.
        revision: String,
        /// What git wrote, as for [`Self::Failed`].
        message: String,
    },
    /// It ended with an error.
    #[error("`git {command}` failed: {message}")]
    Failed {
        /// The subcommand.
        command: &'static str,
        /// What git wrote, on one line, without control characters and without addresses, which may hold secrets.
        message: String,
    },
    /// It answered something that it should not, or more than is read.
    #[error("`git {command}` gave an answer that cannot be used: {message}")]
    Answer {
        /// The subcommand.
        command: &'static str,
        /// What is wrong with it.
        message: String,
    },
}

impl Error {
    /// What to do about it, where that is known.
    #[must_use]
    pub fn remedy(&self) -> Option<String> {
        match self {
            Self::Start(_) => Some("install git, or correct PATH".to_owned()),
            Self::Inside(_) => Some("clone the repository again".to_owned()),
            Self::RemoteInside(name) => {
                let name = crate::text::quote(name);
                Some(format!("set another address with `git remote set-url {} URL`", name.trim_matches('`')))
            }
            Self::Revision { .. } => Some("a shallow clone may lack it: fetch it first".to_owned()),
            Self::Directory(_) | Self::NoRepository | Self::Failed { .. } | Self::Answer { .. } => None,
        }
    }

    /// The error of a command that wrote this to stderr.
    pub(super) fn of(command: &'static str, stderr: &[u8]) -> Self {
        let text = String::from_utf8_lossy(stderr);
        let says_why =
            |line: &&str| line.contains("rejected") || ["fatal:", "error:"].iter().any(|word| line.starts_with(word));
        let line = text.lines().find(says_why).or_else(|| text.lines().find(|line| !line.trim().is_empty()));
        let words = line.unwrap_or("no message").split_whitespace();
        let words: Vec<&str> = words.map(|word| if word.contains("://") { "(address)" } else { word }).collect();
        Self::Failed { command, message: printable(&words.join(" ")).into_owned() }
    }
}
