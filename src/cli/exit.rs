//! The exit codes of the command-line contract, and what failed.

use std::fmt;
use std::process::ExitCode;

use acp_registry::catalog;
use acp_registry::check::UnknownRule;
use acp_registry::handshake::{ReservedVariable, SetupError};
use acp_registry::index::{BuildError, PublishedError, TreeError};
use acp_registry::install;
use acp_registry::lockfile;
use acp_registry::net::Problem;
use acp_registry::publish;
use acp_registry::registry::{ConfigError, LoadError};
use acp_registry::resolve;
use acp_registry::scaffold;
use acp_registry::site::SiteError;
use acp_registry::store;
use acp_registry::sys::fs::{PathError, ReadError};
use acp_registry::sys::git;
use acp_registry::sys::process::IsolationError;
use acp_registry::text::quote;
use serde_json::{Value, json};

use super::code::Code;

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
    code: Code,
    message: String,
    /// One thing to do, if it is not part of the message.
    help: Option<String>,
    /// Names that were probably meant, the nearest first.
    suggestions: Vec<String>,
}

impl Failure {
    fn new(exit: Exit, code: Code, message: impl fmt::Display) -> Self {
        Self { exit, code, message: message.to_string(), help: None, suggestions: Vec::new() }
    }

    pub(super) fn usage(message: impl fmt::Display) -> Self {
        Self::new(Exit::Usage, Code::Usage, message)
    }

    pub(super) fn interrupted(signal: u8) -> Self {
        let message = "interrupted; everything that was started has been ended";
        Self::new(Exit::Interrupted(signal), Code::Interrupted, message)
    }

    /// Names the kind of failure more precisely than its exit code does.
    pub(super) fn code(mut self, code: Code) -> Self {
        self.code = code;
        self
    }

    /// Adds what to do about it.
    pub(super) fn help(mut self, help: impl fmt::Display) -> Self {
        self.help = Some(help.to_string());
        self
    }

    /// Adds what to do about it, unless something is known already.
    pub(super) fn or_help(&mut self, help: impl fmt::Display) {
        self.help.get_or_insert_with(|| help.to_string());
    }

    /// Whether fetching or unpacking what was to be installed has failed, without anything that was refused.
    pub(super) fn is_of_installing(&self) -> bool {
        matches!(self.code, Code::InstallFailed | Code::CmdNotFound)
    }

    /// Adds the names that were probably meant, the nearest first.
    pub(super) fn suggest<'a>(mut self, names: impl IntoIterator<Item = &'a str>) -> Self {
        self.suggestions = names.into_iter().map(ToOwned::to_owned).collect();
        self
    }

    /// What to do about it, for people: the help, or the name that was probably meant.
    pub(super) fn advice(&self) -> Option<String> {
        let meant = || self.suggestions.first().map(|name| format!("did you mean {}?", quote(name)));
        self.help.clone().or_else(meant)
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
        Self::new(Exit::Refused, Code::Refused, message)
    }

    pub(super) fn unable(message: impl fmt::Display) -> Self {
        Self::new(Exit::Unable, Code::Failed, message)
    }

    /// The `error` of a JSON document.
    pub(super) fn document(&self) -> Value {
        json!({
            "code": self.code.as_str(), "exit_code": self.exit.code(), "message": self.message,
            "help": self.advice(), "suggestions": self.suggestions,
        })
    }

    /// The same with the agent that it is about, for a list of `errors`.
    pub(super) fn of_agent(&self, id: &str) -> Value {
        let mut error = self.document();
        error["id"] = id.into();
        error
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
        Self::unable(error).code(Code::InvalidRegistry).help("name the registry with --registry-dir")
    }
}

impl From<catalog::Error> for Failure {
    fn from(error: catalog::Error) -> Self {
        let code = match &error {
            catalog::Error::Form { .. } | catalog::Error::Text(_) => Code::InvalidIndex,
            catalog::Error::Offline(_) => Code::Offline,
            _ => Code::IndexUnavailable,
        };
        let help = match &error {
            catalog::Error::Fetch(error) => of_network(&error.problem),
            _ => None,
        };
        Self { help, ..Self::unable(error).code(code) }
    }
}

impl From<catalog::TextError> for Failure {
    fn from(error: catalog::TextError) -> Self {
        Self::unable(error).code(Code::InvalidIndex)
    }
}

impl From<lockfile::Error> for Failure {
    fn from(error: lockfile::Error) -> Self {
        Self::unable(error)
    }
}

impl From<resolve::Error> for Failure {
    fn from(error: resolve::Error) -> Self {
        use resolve::Error;
        match &error {
            Error::ReservedVariable { .. } => Self::refused(error),
            Error::MissingRuntime { .. } => Self::unable(error).code(Code::MissingRuntime),
            Error::UnknownVersion { known, .. } => {
                let known = known.clone();
                Self::usage(error).code(Code::UnknownVersion).suggest(known.iter().map(String::as_str))
            }
            Error::UnsupportedPlatform { .. } => Self::usage(error).code(Code::UnsupportedPlatform),
            Error::NoSuchKind { .. } => Self::usage(error).code(Code::UnsupportedDistribution),
        }
    }
}

impl From<store::Error> for Failure {
    fn from(error: store::Error) -> Self {
        use store::Error;
        let code = match &error {
            Error::Install { error, .. } => of_install(error),
            Error::Locked { .. } => Code::Locked,
            Error::Damaged { .. } => Code::Damaged,
            Error::Changed { .. } | Error::OtherProgram { .. } => Code::Changed,
            Error::Unfit { .. } | Error::Foreign { .. } => Code::Refused,
            Error::Running { .. } => Code::Running,
            Error::NotInstalled(_) => Code::NotInstalled,
            Error::Path(_) | Error::Link(_) => Code::Failed,
        };
        let help = match &error {
            Error::Install { error: install::Error::Fetch(error), .. } => of_network(&error.problem),
            _ => None,
        };
        let failure = match &error {
            Error::NotInstalled(_) => Self::usage(error),
            _ if error.is_of_integrity() => Self::refused(error),
            _ => Self::unable(error),
        };
        Self { help, ..failure.code(code) }
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
            _ => Self::usage(error).code(Code::InvalidConfiguration),
        }
    }
}

impl From<UnknownRule> for Failure {
    fn from(error: UnknownRule) -> Self {
        let near = error.suggestion;
        Self::usage(error).code(Code::UnknownRule).suggest(near)
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
            git::Error::Start(_) => Self::unable(error).code(Code::MissingRuntime),
            git::Error::Directory(_) | git::Error::Answer { .. } => Self::unable(error),
            git::Error::Inside(_) | git::Error::RemoteInside(_) => Self::refused(error),
            git::Error::Failed { .. } | git::Error::Revision { .. } | git::Error::NoRepository => Self::usage(error),
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
            BuildError::Findings { .. } | BuildError::NoPrevious { .. } => {
                Self::new(Exit::Findings, Code::Findings, error)
            }
            BuildError::Empty(_) | BuildError::View { .. } => Self::usage(error),
            BuildError::Schema { .. } => Self::usage(error).code(Code::InvalidConfiguration),
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

/// What to do where the network is the trouble.
fn of_network(problem: &Problem) -> Option<String> {
    let help = match problem {
        Problem::NoSuchHost => {
            "check the network and the name server of this machine; if other hosts can be reached, correct the address"
        }
        _ => return None,
    };
    Some(help.to_owned())
}

fn of_install(error: &install::Error) -> Code {
    match error.reason() {
        "missing_runtime" => Code::MissingRuntime,
        "unsupported_platform" => Code::UnsupportedPlatform,
        "digest_mismatch" => Code::DigestMismatch,
        "unsafe_archive" => Code::UnsafeArchive,
        "cmd_not_found" => Code::CmdNotFound,
        "package_not_found" => Code::PackageNotFound,
        _ if error.is_of_integrity() => Code::Refused,
        _ => Code::InstallFailed,
    }
}
