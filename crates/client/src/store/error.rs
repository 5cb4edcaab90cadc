//! Why the store refuses, or cannot carry out, what is asked of it.

use acp_registry_plan::failure::{Code, Failure};
use std::path::PathBuf;
use std::time::Duration;

use acp_registry_host::fs::PathError;
use acp_registry_plan::text::{escape, printable, quote};

use crate::install::{self, Kind};

/// What to do where other people could change what is started.
pub(crate) fn remove_by_hand() -> &'static str {
    "make it yours alone (`chown -R`, `chmod -R go-w`), name another directory with --root, or add --trust-root if you \
     trust everyone who can write there"
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
    #[error("{} is in use by {holder}; it was waited for {} s", quote(id), waited.as_secs_f64())]
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
    /// A file that this program did not make is in a version, which would be removed with it.
    #[error("{} is not removed: {} was not made by this program", quote(id), .file.display())]
    KeepsVersion {
        /// The agent.
        id: String,
        /// The file.
        file: PathBuf,
    },
    /// A file that this program did not make is in the place of a version, and would go with what is replaced there.
    #[error("{} was not installed: {} was not made by this program", quote(id), .file.display())]
    KeepsPlace {
        /// The agent.
        id: String,
        /// The file, directory or link.
        file: PathBuf,
    },
    /// The agent's directory is a link, and may lead to anything.
    #[error("{} is a link, which is not followed", .0.display())]
    Link(PathBuf),
    /// The agent is not installed.
    #[error("{} is not installed in {}", quote(id), root.display())]
    NotInstalled {
        /// Its id, or what was taken for one.
        id: String,
        /// The directory of agents.
        root: PathBuf,
    },
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
    pub fn remedy(&self) -> Option<String> {
        match self {
            Self::Install { error: install::Error::DigestMismatch { lookalike: Some(_), .. }, .. } => Some(
                "open the address of the archive in a browser: this network may want a sign-in, or the file is gone"
                    .into(),
            ),
            Self::Install { error: install::Error::DigestMismatch { .. }, .. } => {
                Some("tell the agent's publisher that its archive is not the one that was published".into())
            }
            Self::Install { id, error: install::Error::HeldBack(held) } if held.newest.is_some() => {
                Some(format!("run `acp-registry install {}@{}`", escape(id), escape(held.newest.as_deref()?)))
            }
            Self::Install { id, error } if error.wanted_minutes().is_some() => {
                let minutes = error.wanted_minutes()?;
                Some(format!("run `acp-registry install {} --install-timeout {minutes}m`", escape(id)))
            }
            Self::Install { error, .. } => error.remedy().map(|remedy| printable(&remedy).into_owned()),
            Self::Path(error) => Some(elsewhere(error)),
            Self::Removal(error) => {
                Some(error.remedy().unwrap_or("make its directory writable, then try again").into())
            }
            Self::Locked { .. } => Some("try again when that is done".into()),
            Self::Damaged { id, .. } | Self::OtherProgram { id, .. } => {
                Some(format!("{} repairs it", repair_command(id)))
            }
            Self::Changed { id, change, .. } => Some(change.remedy(id)),
            Self::Foreign { .. } => Some(remove_by_hand().into()),
            Self::Running { .. } => Some("end it first".into()),
            Self::KeepsVersion { .. } | Self::KeepsPlace { .. } => {
                Some("move that file to another place, then try again".into())
            }
            Self::Link(_) => Some("remove it, or name the directory that is meant with --root".into()),
            Self::Unfit { .. } | Self::NotInstalled { .. } => None,
        }
    }
}

fn elsewhere(error: &PathError) -> String {
    let other = "name another directory with --root";
    // A file that is there is not missing elsewhere.
    if error.error.kind() == std::io::ErrorKind::PermissionDenied && error.path.exists() {
        let file = "make that file readable and writable";
        let directory = || format!("make that directory readable and writable, or {other}");
        return if error.path.is_file() { file.to_owned() } else { directory() };
    }
    error.remedy().map_or_else(|| other.to_owned(), |remedy| format!("{remedy}, or {other}"))
}

/// The command that repairs an agent, for messages.
pub(crate) fn repair_command(id: &str) -> String {
    format!("`acp-registry doctor --fix {}`", escape(id))
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
    /// It is installed in another spelling, such as with other build metadata, which do not make another version.
    #[error("it is the same version as {}, which is installed, and {change}", quote(known))]
    Spelling {
        /// The version that is installed.
        known: String,
        /// What is different.
        change: Box<VersionChange>,
    },
    /// The registry published a list of its packages, and publishes none now.
    #[error(
        "its packages were those of a list of the registry when it was installed, and the registry now has no list of them"
    )]
    NoList,
    /// Its receipt is lost, and it was not installed from what is offered now.
    #[error("its record is lost, and what is offered as this version is from another place than it was installed from")]
    Lost,
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
    pub(super) fn remedy(&self, id: &str) -> String {
        let begin = match self {
            Self::Kind { now, .. } => {
                format!("`acp-registry install {} --dist {}` installs it as that; or ", escape(id), now.as_str())
            }
            _ => {
                "tell the agent's publisher, for a version is never replaced; if you trust what comes now, ".to_owned()
            }
        };
        format!("{begin}run `acp-registry uninstall {}` first", escape(id))
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let code = match &error {
            Error::Install { error: install::Error::Provenance(error), .. } => error.code(),
            Error::Install { error, .. } => install_code(error),
            Error::Locked { .. } => Code::Locked,
            Error::Damaged { .. } => Code::Damaged,
            Error::Changed { .. } | Error::OtherProgram { .. } => Code::Changed,
            Error::Unfit { .. } | Error::Foreign { .. } => Code::Refused,
            Error::Running { .. } => Code::Running,
            Error::NotInstalled { .. } => Code::NotInstalled,
            Error::Path(_)
            | Error::Removal(_)
            | Error::Link(_)
            | Error::KeepsVersion { .. }
            | Error::KeepsPlace { .. } => Code::Failed,
        };
        let failure = match &error {
            Error::NotInstalled { .. } => Self::usage(&error),
            _ if error.is_of_integrity() => Self::refused(&error),
            _ => Self::unable(&error),
        };
        let failure = failure.code(code).help_if(error.remedy()).without_id(error.without_id());
        match error {
            Error::Install { error: install::Error::NoVersion { newest, .. }, .. } => {
                failure.versions_instead(Some(newest.into_iter().collect()))
            }
            Error::Install { error: install::Error::HeldBack(cause), .. } if code == Code::HeldByCooldown => {
                failure.held_until(cause.until).suggest(cause.newest.as_deref())
            }
            _ => failure,
        }
    }
}

fn install_code(error: &install::Error) -> Code {
    use install::InstallFailure;

    if matches!(error, install::Error::Offline(_)) {
        return Code::Offline;
    }
    match error.reason() {
        InstallFailure::MissingRuntime => Code::MissingRuntime,
        InstallFailure::UnsupportedPlatform => Code::UnsupportedPlatform,
        InstallFailure::DigestMismatch => Code::DigestMismatch,
        InstallFailure::UnsafeArchive => Code::UnsafeArchive,
        InstallFailure::CmdNotFound => Code::CmdNotFound,
        InstallFailure::PackageNotFound => Code::PackageNotFound,
        InstallFailure::HeldByCooldown => Code::HeldByCooldown,
        InstallFailure::RuntimeTooOld | InstallFailure::InstallFailed if error.is_of_integrity() => Code::Refused,
        InstallFailure::RuntimeTooOld | InstallFailure::InstallFailed => Code::InstallFailed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_read_is_to_be_made_readable() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("receipt.json");
        let denied =
            |path: &std::path::Path| Error::from(PathError::at(path)(std::io::ErrorKind::PermissionDenied.into()));
        assert_eq!(denied(&path).remedy().unwrap(), "name another directory with --root");
        std::fs::write(&path, "{}").unwrap();
        assert_eq!(denied(&path).remedy().unwrap(), "make that file readable and writable");
    }
}
