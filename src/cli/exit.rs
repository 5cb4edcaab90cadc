//! The exit codes of the command-line contract, and what failed.

use std::fmt;
use std::process::ExitCode;

use acp_registry::report::documents::{AgentError, Error};
use acp_registry::text::quote;

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
    /// The message for a place that names the agent already, where it is another one.
    without_id: Option<Box<str>>,
    /// One thing to do.
    help: Option<String>,
    /// Names that were probably meant, the nearest first.
    suggestions: Vec<String>,
    /// The versions that the package registry has instead, where it lacks that of the agent's package.
    versions_instead: Option<Vec<String>>,
}

impl Failure {
    fn new(exit: Exit, code: Code, message: impl fmt::Display) -> Self {
        Self {
            exit,
            code,
            message: message.to_string(),
            without_id: None,
            help: None,
            suggestions: Vec::new(),
            versions_instead: None,
        }
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

    /// Adds what to do about it, where that is known.
    pub(super) fn help_if(mut self, help: Option<&str>) -> Self {
        self.help = help.map(ToOwned::to_owned).or(self.help);
        self
    }

    /// Adds the message for a place that names the agent already.
    pub(super) fn without_id(mut self, message: Option<String>) -> Self {
        self.without_id = message.map(String::into_boxed_str);
        self
    }

    /// The message for a place that names the agent already.
    pub(super) fn reason(&self) -> &str {
        self.without_id.as_deref().unwrap_or(&self.message)
    }

    /// Adds the versions that the package registry has instead of the one of the agent's package.
    pub(super) fn versions_instead(mut self, versions: Option<Vec<String>>) -> Self {
        self.versions_instead = versions;
        self
    }

    /// Adds what to do about it; where something is known already, as what to do instead.
    pub(super) fn or_help(&mut self, help: impl fmt::Display) {
        self.help = Some(self.help.take().map_or_else(|| help.to_string(), |known| format!("{known}; or {help}")));
    }

    /// For a version that the person has named: like any other unknown name, it is wrong usage.
    pub(super) fn blame_named_version(&mut self) {
        if let Some(versions) = self.versions_instead.take() {
            (self.exit, self.code, self.suggestions) = (Exit::Usage, Code::UnknownVersion, versions);
        }
    }

    /// Whether fetching or unpacking what was to be installed has failed, without anything that was refused.
    pub(super) fn is_of_installing(&self) -> bool {
        matches!(self.code, Code::InstallFailed | Code::CmdNotFound)
    }

    /// Whether other bytes came than are wanted, so that the same version cannot be installed.
    pub(super) fn is_of_other_bytes(&self) -> bool {
        matches!(self.code, Code::Changed | Code::DigestMismatch)
    }

    /// Whether what was downloaded is not what it should be.
    pub(super) fn is_of_download(&self) -> bool {
        self.code == Code::DigestMismatch
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

    pub(super) fn findings(message: impl fmt::Display) -> Self {
        Self::new(Exit::Findings, Code::Findings, message)
    }

    pub(super) fn unable(message: impl fmt::Display) -> Self {
        Self::new(Exit::Unable, Code::Failed, message)
    }

    /// The `error` of a JSON document.
    pub(super) fn document(&self) -> Error {
        Error {
            code: self.code.as_str(),
            exit_code: self.exit.code(),
            message: self.message.clone(),
            help: self.advice(),
            suggestions: self.suggestions.clone(),
        }
    }

    /// The same with the agent that it is about, for a list of `errors`.
    pub(super) fn of_agent(&self, id: &str) -> AgentError {
        AgentError { error: self.document(), id: id.to_owned() }
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
