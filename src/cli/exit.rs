//! The exit codes of the command-line contract, and what failed.

use std::fmt;
use std::process::ExitCode;

use acp_registry::catalog;
use acp_registry::check::UnknownRule;
use acp_registry::handshake::{ReservedVariable, SetupError};
use acp_registry::index::{BuildError, PublishedError, TreeError};
use acp_registry::lockfile;
use acp_registry::publish;
use acp_registry::registry::{ConfigError, LoadError};
use acp_registry::resolve;
use acp_registry::scaffold;
use acp_registry::site::SiteError;
use acp_registry::store;
use acp_registry::sys::fs::{PathError, ReadError};
use acp_registry::sys::git;
use acp_registry::sys::process::IsolationError;
use serde_json::{Value, json};

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exit {
    /// Done; nothing at deny level.
    Success,
    /// Findings at deny level, or differences.
    Findings,
    /// Wrong usage, an unknown name among the arguments, or a wrong configuration.
    Usage,
    /// The work could not be done: network, disk, missing runtimes.
    Unable,
    /// Something is not what it should be, or not safe.
    Refused,
    /// A program that took this one's place has ended with this code.
    Of(u8),
    /// A signal of this number has stopped the work.
    Interrupted(u8),
}

impl Exit {
    pub(super) fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Findings => 1,
            Self::Usage => 2,
            Self::Unable => 3,
            Self::Refused => 4,
            Self::Of(code) => code,
            // As shells count it.
            Self::Interrupted(signal) => 128 + signal,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// Why a command did not do its work.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) exit: Exit,
    message: String,
}

impl Failure {
    pub(super) fn usage(message: impl fmt::Display) -> Self {
        Self { exit: Exit::Usage, message: message.to_string() }
    }

    pub(super) fn interrupted(signal: u8) -> Self {
        Self {
            exit: Exit::Interrupted(signal),
            message: "interrupted; everything that was started has been ended".to_owned(),
        }
    }

    /// The same failure of work with an agent in the person's own home, some of which is the person's.
    pub(super) fn in_persons_home(mut self) -> Self {
        if matches!(self.exit, Exit::Interrupted(_)) {
            let left = "interrupted; the agent has been ended, but not what it has opened for you, such as a browser";
            left.clone_into(&mut self.message);
        }
        self
    }

    pub(super) fn refused(message: impl fmt::Display) -> Self {
        Self { exit: Exit::Refused, message: message.to_string() }
    }

    pub(super) fn unable(message: impl fmt::Display) -> Self {
        Self { exit: Exit::Unable, message: message.to_string() }
    }

    /// The `error` of a JSON document.
    pub(super) fn document(&self) -> Value {
        json!({ "exit_code": self.exit.code(), "message": self.message })
    }

    /// The same among `errors`, which are those of agents.
    pub(super) fn of_agent(&self, id: &str) -> Value {
        json!({ "id": id, "exit_code": self.exit.code(), "message": self.message })
    }

    /// The one whose exit code counts.
    pub(super) fn worst<'a>(failures: impl IntoIterator<Item = &'a Self>) -> Option<&'a Self> {
        failures.into_iter().max_by_key(|failure| failure.exit.code())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl From<LoadError> for Failure {
    fn from(error: LoadError) -> Self {
        Self::unable(format!("{error}; name the registry with --registry-dir"))
    }
}

impl From<catalog::Error> for Failure {
    fn from(error: catalog::Error) -> Self {
        match error {
            catalog::Error::Checkout(error) => Self::unable(format!("{error}; name another index with --index")),
            error => Self::unable(error),
        }
    }
}

impl From<catalog::TextError> for Failure {
    fn from(error: catalog::TextError) -> Self {
        Self::unable(error)
    }
}

impl From<lockfile::Error> for Failure {
    fn from(error: lockfile::Error) -> Self {
        Self::unable(error)
    }
}

impl From<resolve::Error> for Failure {
    fn from(error: resolve::Error) -> Self {
        if error.is_refusal() {
            Self::refused(error)
        } else if error.is_missing_runtime() {
            Self::unable(error)
        } else {
            Self::usage(error)
        }
    }
}

impl From<store::Error> for Failure {
    fn from(error: store::Error) -> Self {
        match error {
            store::Error::NotInstalled(_) => Self::usage(error),
            error if error.is_of_integrity() => Self::refused(error),
            error => Self::unable(error),
        }
    }
}

impl From<scaffold::Error> for Failure {
    fn from(error: scaffold::Error) -> Self {
        match error {
            scaffold::Error::DigestMismatch { .. } => Self::refused(error),
            scaffold::Error::Source(_) | scaffold::Error::UnknownSource(_) | scaffold::Error::Path(_) => {
                Self::unable(error)
            }
            scaffold::Error::Id(_) | scaffold::Error::Exists(_) | scaffold::Error::Unfit(_) => Self::usage(error),
        }
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        match error {
            ConfigError::Read { error: ReadError::Io(_), .. } => Self::unable(error),
            _ => Self::usage(error),
        }
    }
}

impl From<UnknownRule> for Failure {
    fn from(error: UnknownRule) -> Self {
        Self::usage(error)
    }
}

impl From<publish::Error> for Failure {
    fn from(error: publish::Error) -> Self {
        if error.is_of_integrity() {
            Self::refused(error)
        } else if error.is_of_usage() {
            Self::usage(error)
        } else {
            Self::unable(error)
        }
    }
}

impl From<git::Error> for Failure {
    fn from(error: git::Error) -> Self {
        match error {
            git::Error::Start(_) | git::Error::Answer { .. } => Self::unable(error),
            git::Error::Failed { .. } | git::Error::NoRepository => Self::usage(error),
        }
    }
}

impl From<PathError> for Failure {
    fn from(error: PathError) -> Self {
        Self::unable(error)
    }
}

impl From<PublishedError> for Failure {
    fn from(error: PublishedError) -> Self {
        Self::unable(error)
    }
}

impl From<BuildError> for Failure {
    fn from(error: BuildError) -> Self {
        match error {
            BuildError::Findings { .. } => Self { exit: Exit::Findings, message: error.to_string() },
            BuildError::Empty(_) | BuildError::View { .. } => Self::usage(error),
            BuildError::Previous(_) => Self::unable(error),
        }
    }
}

impl From<SetupError> for Failure {
    fn from(error: SetupError) -> Self {
        Self::unable(error)
    }
}

impl From<IsolationError> for Failure {
    fn from(error: IsolationError) -> Self {
        Self::unable(error)
    }
}

impl From<ReservedVariable> for Failure {
    fn from(error: ReservedVariable) -> Self {
        Self::usage(error)
    }
}

impl From<SiteError> for Failure {
    fn from(error: SiteError) -> Self {
        Self::unable(error)
    }
}

impl From<TreeError> for Failure {
    fn from(error: TreeError) -> Self {
        match error {
            TreeError::Path(_) => Self::unable(error),
            _ => Self::usage(error),
        }
    }
}
