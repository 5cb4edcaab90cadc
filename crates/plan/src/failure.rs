//! How every error is reported: with a stable code, an exit code, the message, and one remedy.
//!
//! Each crate converts its own errors with `From`, beside the error. The help is in the words of the program
//! `acp-registry`: its commands and flags.

use std::fmt;
use std::process::ExitCode;

use serde::ser::SerializeStruct as _;
use serde::{Serialize, Serializer};

use crate::text::quote;
use crate::timestamp::Timestamp;

/// The exit status of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
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
    Other(u8),
    /// Interrupted by the signal with this number.
    Interrupted(u8),
}

impl Exit {
    /// The number that the system gets.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Findings => 1,
            Self::Usage => 2,
            Self::Unable => 3,
            Self::Refused => 4,
            Self::Other(code) => code,
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

/// A kind of failure. `docs/scripts.md` lists the names. Their meaning never changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize))]
#[serde(rename_all = "snake_case")]
pub enum Code {
    /// Findings at deny level, or an agent that failed its check.
    Findings,
    /// A flag or argument, or a combination of them, is invalid.
    Usage,
    /// The index or the registry has no agent with this id.
    UnknownAgent,
    /// The agent has no such version, or the version is not available.
    UnknownVersion,
    /// No rule has this name.
    UnknownRule,
    /// The agent is not installed.
    NotInstalled,
    /// The agent has no distribution for the platform.
    UnsupportedPlatform,
    /// The agent has no distribution of this kind.
    UnsupportedDistribution,
    /// A configuration file is invalid.
    InvalidConfiguration,
    /// The directory is not a registry, or cannot be read.
    InvalidRegistry,
    /// The index does not exist at its URL or path, or could not be fetched.
    IndexUnavailable,
    /// The file at the URL or path is not an index.
    InvalidIndex,
    /// Data must be fetched, and `--offline` forbids it.
    Offline,
    /// A required program is not installed: Node.js, npm, uv, git or bubblewrap.
    MissingRuntime,
    /// The package, or the version of it, does not exist.
    PackageNotFound,
    /// The version is too new for a setting of npm or uv.
    HeldByCooldown,
    /// The package manager or the download failed.
    InstallFailed,
    /// Another process holds the lock of the agent.
    Locked,
    /// An installed version is damaged.
    Damaged,
    /// The agent is running.
    Running,
    /// The network, the disk or a program failed.
    Failed,
    /// A digest does not match the expected one.
    DigestMismatch,
    /// An archive writes outside its directory, or is too large.
    UnsafeArchive,
    /// An archive does not contain the program that the manifest names.
    CmdNotFound,
    /// The bytes of a version have changed since it was installed, or are verified by weaker evidence.
    Changed,
    /// The installation differs from the lock file.
    LockMismatch,
    /// The registry has recalled the version.
    Revoked,
    /// The registry is not signed, although it was before or a signer is named.
    Unsigned,
    /// The registry is signed by another key, or it is another registry.
    SignatureInvalid,
    /// What the registry has signed is not valid any more.
    StatementExpired,
    /// What the registry has signed is older than what this machine has seen.
    StatementOlder,
    /// Nothing attests who has built the version, although that is required or was so before.
    ProvenanceMissing,
    /// What attests who has built the version is forged, about something else, or by another repository.
    ProvenanceMismatch,
    /// What attests who has built the version proves less than before.
    ProvenanceWeaker,
    /// Someone else has built the version than the one before.
    PublisherChanged,
    /// The operation was refused because it is unsafe.
    Refused,
    /// A signal interrupted the command.
    Interrupted,
}

/// Why something failed. Serialized as the `error` member of documents.
#[derive(Debug, Clone)]
pub struct Failure {
    exit: Exit,
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

    /// Findings, or differences.
    pub fn findings(message: impl fmt::Display) -> Self {
        Self::new(Exit::Findings, Code::Findings, message)
    }

    /// A wrong request.
    pub fn usage(message: impl fmt::Display) -> Self {
        Self::new(Exit::Usage, Code::Usage, message)
    }

    /// The machine, the network or a program does not do its part.
    pub fn unable(message: impl fmt::Display) -> Self {
        Self::new(Exit::Unable, Code::Failed, message)
    }

    /// It would not be safe.
    pub fn refused(message: impl fmt::Display) -> Self {
        Self::new(Exit::Refused, Code::Refused, message)
    }

    /// A signal, or the client, ended the work.
    #[must_use]
    pub fn interrupted(signal: u8) -> Self {
        let message = "interrupted; everything that was started has been ended";
        Self::new(Exit::Interrupted(signal), Code::Interrupted, message)
    }

    /// Sets an error code that is more precise than the exit code.
    #[must_use]
    pub fn code(mut self, code: Code) -> Self {
        self.code = code;
        self
    }

    /// Sets the help.
    #[must_use]
    pub fn help(mut self, help: impl fmt::Display) -> Self {
        self.help = Some(help.to_string());
        self
    }

    /// Sets the help, if there is one.
    #[must_use]
    pub fn help_if(mut self, help: Option<impl Into<String>>) -> Self {
        self.help = help.map(Into::into).or(self.help);
        self
    }

    /// Sets the help, or adds it as an alternative to the existing help.
    pub fn or_help(&mut self, help: impl fmt::Display) {
        self.help = Some(self.help.take().map_or_else(|| help.to_string(), |known| format!("{known}; or {help}")));
    }

    /// Sets the suggested names, the most similar first.
    #[must_use]
    pub fn suggest<'a>(mut self, names: impl IntoIterator<Item = &'a str>) -> Self {
        self.suggestions = names.into_iter().map(ToOwned::to_owned).collect();
        self
    }

    /// Sets the message without the agent's id.
    #[must_use]
    pub fn without_id(mut self, message: Option<String>) -> Self {
        self.without_id = message.map(String::into_boxed_str);
        self
    }

    /// Sets the versions that the package registry has.
    #[must_use]
    pub fn versions_instead(mut self, versions: Option<Vec<String>>) -> Self {
        self.versions_instead = versions.map(Vec::into_boxed_slice);
        self
    }

    /// Sets when the cooldown is over that holds the version back.
    #[must_use]
    pub fn held_until(mut self, time: Option<Timestamp>) -> Self {
        self.held_until = time.map(Box::new);
        self
    }

    /// Reports a missing version that was requested by name as an unknown name, which is a usage error.
    pub fn blame_named_version(&mut self) {
        if let Some(versions) = self.versions_instead.take() {
            (self.exit, self.code, self.suggestions) = (Exit::Usage, Code::UnknownVersion, versions.into_vec());
        }
    }

    /// Adapts the failure to work in the home directory of the user: on interruption, the message mentions programs that
    /// the agent may have opened.
    #[must_use]
    pub fn in_persons_home(mut self) -> Self {
        if matches!(self.exit, Exit::Interrupted(_)) {
            let left = "interrupted; the agent has been ended, but not what it may have opened, such as a browser";
            left.clone_into(&mut self.message);
        }
        self
    }

    /// The exit code of a command that fails because of it.
    #[must_use]
    pub fn exit(&self) -> Exit {
        self.exit
    }

    /// Its kind.
    #[must_use]
    pub fn kind(&self) -> Code {
        self.code
    }

    /// The message without the agent's id, for lines that begin with the id.
    #[must_use]
    pub fn reason(&self) -> &str {
        self.without_id.as_deref().unwrap_or(&self.message)
    }

    /// The advice for people: the help, or the most similar name.
    #[must_use]
    pub fn advice(&self) -> Option<String> {
        let meant = || self.suggestions.first().map(|name| format!("did you mean {}?", quote(name)));
        self.help.clone().or_else(meant)
    }

    /// Known names similar to the one given, the most similar first.
    #[must_use]
    pub fn suggestions(&self) -> &[String] {
        &self.suggestions
    }

    /// When the cooldown is over that holds the version back, if it ever is.
    #[must_use]
    pub fn until(&self) -> Option<String> {
        self.held_until.as_ref().map(ToString::to_string)
    }

    /// Whether a package manager or a download failed, or the archive lacks the program. False if the installation was
    /// refused.
    #[must_use]
    pub fn is_of_installing(&self) -> bool {
        matches!(self.code, Code::InstallFailed | Code::CmdNotFound)
    }

    /// Whether the bytes differ from the expected ones, so that the version cannot be reinstalled.
    #[must_use]
    pub fn is_of_other_bytes(&self) -> bool {
        matches!(self.code, Code::Changed | Code::DigestMismatch)
    }

    /// The failure with the id of its agent, as `errors` of documents have it.
    #[must_use]
    pub fn for_agent(&self, id: &str) -> AgentFailure {
        AgentFailure { failure: self.clone(), id: id.to_owned() }
    }

    /// The failure that determines the exit code of a command.
    pub fn worst<'a>(failures: impl IntoIterator<Item = &'a Self>) -> Option<&'a Self> {
        failures.into_iter().max_by_key(|failure| failure.exit.code())
    }
}

/// Why something failed for one agent.
#[derive(Debug, Clone, Serialize)]
pub struct AgentFailure {
    /// The failure.
    #[serde(flatten)]
    pub failure: Failure,
    /// The agent.
    pub id: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Serialize for Failure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut members = serializer.serialize_struct("Failure", 5)?;
        members.serialize_field("code", &self.code)?;
        members.serialize_field("exit_code", &self.exit.code())?;
        members.serialize_field("message", &self.message)?;
        members.serialize_field("help", &self.advice())?;
        members.serialize_field("suggestions", &self.suggestions)?;
        members.end()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::*;

    #[test]
    fn a_document_has_the_help_or_the_most_similar_name() {
        let failure = Failure::usage("no `a`").code(Code::UnknownAgent).suggest(["b", "c"]);
        let expected = r#"{"code":"unknown_agent","exit_code":2,"message":"no `a`","help":"did you mean `b`?","suggestions":["b","c"]}"#;
        assert_eq!(serde_json::to_string(&failure).unwrap(), expected);
        let mut failure = failure.help("look").help_if(None::<&str>);
        failure.or_help("ask");
        assert_eq!(failure.advice().as_deref(), Some("look; or ask"));
        let named = serde_json::to_value(failure.for_agent("a")).unwrap();
        assert_eq!(named["id"], "a");
        assert_eq!(named["help"], "look; or ask");
    }

    #[test]
    fn the_schema_lists_the_codes() {
        // The error of an unknown name lists the known ones.
        let unknown = serde_json::from_value::<Code>("unknown".into()).unwrap_err().to_string();
        let codes: BTreeSet<&str> = unknown.split('`').skip(3).step_by(2).collect();
        let schema: Value = serde_json::from_str(include_str!("../../../schemas/cli/common.schema.json")).unwrap();
        let stated = schema["$defs"]["code"]["enum"].as_array().unwrap().iter().map(|code| code.as_str().unwrap());
        assert_eq!(codes, stated.collect());
    }

    #[test]
    fn the_worst_failure_decides_and_a_named_version_is_to_blame() {
        let failures = [Failure::usage("a"), Failure::refused("b"), Failure::unable("c")];
        assert_eq!(Failure::worst(&failures).map(Failure::exit), Some(Exit::Refused));
        assert!(Failure::worst([]).is_none());
        let mut unnamed = Failure::unable("a").code(Code::PackageNotFound);
        unnamed.blame_named_version();
        assert_eq!((unnamed.exit(), unnamed.kind()), (Exit::Unable, Code::PackageNotFound));
        let mut named = unnamed.versions_instead(Some(vec!["1.0.0".to_owned()]));
        named.blame_named_version();
        assert_eq!(
            (named.exit(), named.kind(), named.suggestions()),
            (Exit::Usage, Code::UnknownVersion, &["1.0.0".to_owned()][..])
        );
    }
}
