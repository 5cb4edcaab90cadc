//! The exit codes of the command-line contract, and the failures that cause them.

pub(crate) mod causes;
pub(crate) mod code;
pub(crate) mod publish;
pub(crate) mod registry;
pub(crate) mod remedies;
pub(crate) mod remedy;

use std::fmt;
use std::process::ExitCode;

use acp_registry::remedy::Remedy;
use acp_registry::text::quote;
use acp_registry::timestamp::Timestamp;

use self::code::Code;
use crate::documents::{AgentError, Error};

/// The exit status of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Success, without findings at deny level.
    Success,
    /// Findings at deny level, or differences.
    Findings,
    /// Invalid usage, an unknown name among the arguments, or an invalid configuration.
    Usage,
    /// Failure of the network, the disk or a package manager, or a missing runtime.
    Unable,
    /// A digest does not match, or an operation is unsafe.
    Refused,
    /// The exit code of another program that this one ran in its place.
    Of(u8),
    /// Interrupted by the signal with this number.
    Interrupted(u8),
}

impl Exit {
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Findings => 1,
            Self::Usage => 2,
            Self::Unable => 3,
            Self::Refused => 4,
            Self::Of(code) => code,
            // The convention of shells.
            Self::Interrupted(signal) => 128 + signal,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// Why a command failed.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    code: Code,
    message: String,
    /// The message without the agent's id, if it differs: for lists whose lines begin with the id.
    without_id: Option<Box<str>>,
    /// One command or edit that may fix it.
    help: Option<String>,
    /// Known names similar to the one given, the most similar first.
    suggestions: Vec<String>,
    /// The versions that the package registry has, if it lacks the requested version of the agent's package.
    versions_instead: Option<Box<[String]>>,
    /// When a cooldown that holds the version back is over, if it ever is.
    held_until: Option<Box<Timestamp>>,
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
            held_until: None,
        }
    }

    pub(crate) fn usage(message: impl fmt::Display) -> Self {
        Self::new(Exit::Usage, Code::Usage, message)
    }

    pub(crate) fn interrupted(signal: u8) -> Self {
        let message = "interrupted; everything that was started has been ended";
        Self::new(Exit::Interrupted(signal), Code::Interrupted, message)
    }

    /// Sets an error code that is more precise than the exit code.
    pub(crate) fn code(mut self, code: Code) -> Self {
        self.code = code;
        self
    }

    /// Sets the help.
    pub(crate) fn help(mut self, help: impl fmt::Display) -> Self {
        self.help = Some(help.to_string());
        self
    }

    /// Sets the help, if there is one.
    pub(crate) fn help_if(mut self, help: Option<&str>) -> Self {
        self.help = help.map(ToOwned::to_owned).or(self.help);
        self
    }

    /// Sets the help in the words of the command line, if there is one.
    pub(crate) fn remedy(self, remedy: Option<&Remedy>) -> Self {
        self.help_if(remedy.map(remedy::remedy).as_deref())
    }

    /// Sets the message without the agent's id.
    pub(crate) fn without_id(mut self, message: Option<String>) -> Self {
        self.without_id = message.map(String::into_boxed_str);
        self
    }

    /// Returns the message without the agent's id, for lines that begin with the id.
    pub(crate) fn reason(&self) -> &str {
        self.without_id.as_deref().unwrap_or(&self.message)
    }

    /// Sets the versions that the package registry has.
    pub(crate) fn versions_instead(mut self, versions: Option<Vec<String>>) -> Self {
        self.versions_instead = versions.map(Vec::into_boxed_slice);
        self
    }

    /// Sets when the cooldown is over that holds the version back.
    pub(crate) fn held_until(mut self, time: Option<Timestamp>) -> Self {
        self.held_until = time.map(Box::new);
        self
    }

    /// Whether a cooldown holds the version back.
    pub(crate) fn is_held(&self) -> bool {
        self.code == Code::HeldByCooldown
    }

    /// When the cooldown is over that holds the version back, if it ever is.
    pub(crate) fn until(&self) -> Option<String> {
        self.held_until.as_ref().map(ToString::to_string)
    }

    /// Sets the help, or adds it as an alternative to the existing help.
    pub(crate) fn or_help(&mut self, help: impl fmt::Display) {
        self.help = Some(self.help.take().map_or_else(|| help.to_string(), |known| format!("{known}; or {help}")));
    }

    /// Reports a missing version that was requested by name as an unknown name, which is a usage error.
    pub(crate) fn blame_named_version(&mut self) {
        if let Some(versions) = self.versions_instead.take() {
            (self.exit, self.code, self.suggestions) = (Exit::Usage, Code::UnknownVersion, versions.into_vec());
        }
    }

    /// Whether a package manager or a download failed, or the archive lacks the program. False if the installation was
    /// refused.
    pub(crate) fn is_of_installing(&self) -> bool {
        matches!(self.code, Code::InstallFailed | Code::CmdNotFound)
    }

    /// Whether the bytes differ from the expected ones, so that the version cannot be reinstalled.
    pub(crate) fn is_of_other_bytes(&self) -> bool {
        matches!(self.code, Code::Changed | Code::DigestMismatch)
    }

    /// Whether a downloaded file has the wrong digest.
    pub(crate) fn is_of_download(&self) -> bool {
        self.code == Code::DigestMismatch
    }

    /// Sets the suggested names, the most similar first.
    pub(crate) fn suggest<'a>(mut self, names: impl IntoIterator<Item = &'a str>) -> Self {
        self.suggestions = names.into_iter().map(ToOwned::to_owned).collect();
        self
    }

    /// Returns the advice for people: the help, or the most similar name.
    pub(crate) fn advice(&self) -> Option<String> {
        let meant = || self.suggestions.first().map(|name| format!("did you mean {}?", quote(name)));
        self.help.clone().or_else(meant)
    }

    /// Adapts the failure to work in the home directory of the user: on interruption, the message mentions programs that
    /// the agent may have opened.
    pub(crate) fn in_persons_home(mut self) -> Self {
        if matches!(self.exit, Exit::Interrupted(_)) {
            let left = "interrupted; the agent has been ended, but not what it has opened for you, such as a browser";
            left.clone_into(&mut self.message);
        }
        self
    }

    pub(crate) fn refused(message: impl fmt::Display) -> Self {
        Self::new(Exit::Refused, Code::Refused, message)
    }

    pub(crate) fn findings(message: impl fmt::Display) -> Self {
        Self::new(Exit::Findings, Code::Findings, message)
    }

    pub(crate) fn unable(message: impl fmt::Display) -> Self {
        Self::new(Exit::Unable, Code::Failed, message)
    }

    /// Returns the `error` member of a JSON document.
    pub(crate) fn document(&self) -> Error {
        Error {
            code: self.code.as_str(),
            exit_code: self.exit.code(),
            message: self.message.clone(),
            help: self.advice(),
            suggestions: self.suggestions.clone(),
        }
    }

    /// Returns an element of `errors`: the failure with the id of its agent.
    pub(crate) fn for_agent(&self, id: &str) -> AgentError {
        AgentError { error: self.document(), id: id.to_owned() }
    }

    /// Returns the failure that determines the exit code of the command.
    pub(crate) fn worst<'a>(failures: impl IntoIterator<Item = &'a Self>) -> Option<&'a Self> {
        failures.into_iter().max_by_key(|failure| failure.exit.code())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
