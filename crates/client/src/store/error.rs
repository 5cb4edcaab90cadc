use std::path::PathBuf;
use std::time::Duration;

use acp_registry_host::fs::PathError;
use acp_registry_plan::remedy::{Action, Remedy};
use acp_registry_plan::text::quote;

use crate::install::{self, Kind};

/// What to do where other people could change what is started.
pub(crate) fn remove_by_hand() -> Remedy {
    Remedy::from("make it yours alone (`chown -R`, `chmod -R go-w`), name another directory")
        .then(Action::Root { or_variable: false })
        .then(", or ")
        .then(Action::TrustRoot)
        .then(" if you trust everyone who can write there")
}

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
    /// A file or directory of the store cannot be removed.
    #[error("the store of installed agents: {_0}")]
    Removal(PathError),
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
        change: VersionChange,
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
    #[error("{} is running{}", quote(id), process_list(.processes))]
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
    /// The error of a removal, which another directory would not help.
    pub(super) fn while_removing(self) -> Self {
        if let Self::Path(error) = self { Self::Removal(error) } else { self }
    }

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
    pub fn remedy(&self) -> Option<Remedy> {
        match self {
            Self::Install { error: install::Error::DigestMismatch { lookalike: Some(_), .. }, .. } => Some(
                "open the address of the archive in a browser: this network may want a sign-in, or the file is gone"
                    .into(),
            ),
            Self::Install { error: install::Error::DigestMismatch { .. }, .. } => {
                Some("tell the agent's publisher that its archive is not the one that was published".into())
            }
            Self::Install { id, error: install::Error::HeldBack(held) } if held.newest.is_some() => {
                let (id, version) = (id.clone(), held.newest.clone()?);
                Some(Action::InstallVersion { id, version }.into())
            }
            Self::Install { id, error } if error.wanted_minutes().is_some() => {
                let minutes = error.wanted_minutes()?;
                Some(Action::InstallTimeout { id: Some(id.clone()), minutes }.into())
            }
            Self::Install { error, .. } => error.remedy().map(Remedy::printable),
            Self::Path(error) => Some(elsewhere(error)),
            Self::Removal(error) => {
                Some(error.remedy().unwrap_or("make its directory writable, then try again").into())
            }
            Self::Locked { .. } => Some("try again when that is done".into()),
            Self::Damaged { id, .. } | Self::OtherProgram { id, .. } => Some(Action::Repair(id.clone()).into()),
            Self::Changed { id, change, .. } => Some(change.remedy(id)),
            Self::Foreign { .. } => Some(remove_by_hand()),
            Self::Running { .. } => Some("end it first".into()),
            Self::Link(_) => {
                let meant = Remedy::from("remove it, or name the directory that is meant");
                Some(meant.then(Action::Root { or_variable: false }))
            }
            Self::Unfit { .. } | Self::NotInstalled(_) => None,
        }
    }
}

fn elsewhere(error: &PathError) -> Remedy {
    let other = Remedy::from("name another directory").then(Action::Root { or_variable: false });
    error.remedy().map_or_else(|| other.clone(), |remedy| Remedy::from(remedy).then(", or ").then(other.clone()))
}

fn process_list(processes: &[u32]) -> String {
    if processes.is_empty() {
        return String::new();
    }
    let shown: Vec<String> = processes.iter().take(5).map(ToString::to_string).collect();
    format!(" ({} {})", if processes.len() == 1 { "process" } else { "processes" }, shown.join(", "))
}

/// How what is offered under the number of an installed version differs from what was installed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VersionChange {
    /// The index, or the lock file, states another digest.
    #[error("its archive had the SHA-256 {known} when it was installed, and is now said to have {}", quote(now))]
    Digest {
        /// SHA-256 of the installed archive.
        known: String,
        /// What is stated now.
        now: String,
    },
    /// The index stated a digest, and states none now.
    #[error("its archive had the SHA-256 {known} in the index when it was installed, and now has no SHA-256 there")]
    NoDigest {
        /// SHA-256 of the installed archive.
        known: String,
    },
    /// There is no digest to compare, and the place of the bytes is another one.
    #[error(
        "its {what} was {} when it was installed, and is now {}, without a digest that proves it the same",
        quote(known),
        quote(now)
    )]
    Place {
        /// Which part of the place.
        what: &'static str,
        /// The one that was installed.
        known: String,
        /// What is stated now.
        now: String,
    },
    /// The host or the package registry sent other bytes.
    #[error("its {what} was {} when it was installed, and is {} as it comes now", quote(known), quote(now))]
    Bytes {
        /// Which value is compared.
        what: &'static str,
        /// The value of the installed bytes.
        known: String,
        /// The value of the received bytes.
        now: String,
    },
    /// It would be installed from another kind of distribution, which was not asked for.
    #[error("it is installed as {}, and is offered as {} now", known.as_str(), now.as_str())]
    Kind {
        /// The kind that is installed.
        known: Kind,
        /// The kind that would be.
        now: Kind,
    },
}

impl VersionChange {
    /// What people can do who want the change. Printable.
    pub(super) fn remedy(&self, id: &str) -> Remedy {
        let begin = match self {
            Self::Kind { now, .. } => Remedy::from(Action::InstallAs(now.as_str())).then("; or "),
            _ => Remedy::from(
                "tell the agent's publisher, for a version is never replaced; if you trust what comes now, ",
            ),
        };
        begin.then(Action::Uninstall(id.to_owned())).then(" first")
    }
}
