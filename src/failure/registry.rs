//! Converts errors of work on a registry into failures, with the flags and commands that may fix them.

use acp_registry::bump::SessionError;
use acp_registry::host::git;
use acp_registry::propose::TargetError;
use acp_registry::select::Error;
use acp_registry::text::quote;
use acp_registry::verify::{self, ShardFilesError};

use crate::failure::Failure;
use crate::failure::code::Code;
use crate::failure::remedies::{self, unwritable};

/// The most ids that a remedy lists.
const NAMED: usize = 10;

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Load(error) => error.into(),
            Error::Empty(_) => {
                Self::usage(error).code(Code::InvalidRegistry).help("name the registry with --registry-dir")
            }
            Error::Withdrawn(_) => Self::usage(error)
                .code(Code::UnknownAgent)
                .help("to publish it again, remove its entry below `[withdrawn]` in registry.toml"),
            Error::Unknown { ref near, ref known, .. } => {
                let failure = Self::usage(&error).code(Code::UnknownAgent);
                if near.is_empty() {
                    failure.help(what_there_is(known))
                } else {
                    failure.suggest(near.iter().map(String::as_str))
                }
            }
            Error::NoManifest { ref misnamed, .. } => {
                Self::usage(&error).code(Code::UnknownAgent).help(match misnamed {
                    Some(misnamed) => format!("rename {} to agent.json", quote(misnamed)),
                    None => "add one, which `acp-registry new` writes, or name another agent".to_owned(),
                })
            }
            Error::Quarantine(_) => {
                Self::unable(error).help("correct the file; `acp-registry validate` shows what it may hold")
            }
            Error::Git(error) => {
                let is_elsewhere = matches!(error, git::Error::NoRepository);
                let help = "leave out --changed-since, or run it in a clone of the registry's repository";
                Self::from(error).help_if(is_elsewhere.then_some(help))
            }
        }
    }
}

impl From<verify::Error> for Failure {
    fn from(error: verify::Error) -> Self {
        use verify::Error;
        match error {
            Error::Select(error) => error.into(),
            Error::OtherKind { .. } | Error::NoKind(_) => Self::usage(error).code(Code::UnsupportedDistribution),
            Error::Snapshot(error) => error.into(),
            Error::Keep(error) => error.into(),
            Error::Unwritable(error) => unwritable(error, "--out"),
        }
    }
}

impl From<ShardFilesError> for Failure {
    fn from(error: ShardFilesError) -> Self {
        match error {
            ShardFilesError::Mixed => Self::usage("--merge takes each part once, all of the same number of parts"),
            ShardFilesError::Missing { names, is_one } => {
                Self::usage(format!("--merge lacks {} {names}", if is_one { "part" } else { "parts" }))
                    .help("name all parts with --merge; agents of a part whose file does not exist keep their rows")
            }
            ShardFilesError::Read { .. } => Self::unable(error).help(remedies::SNAPSHOT),
            ShardFilesError::Snapshot(error) => error.into(),
            ShardFilesError::Unwritable(error) => unwritable(error, "--out"),
            ShardFilesError::Merge(error) => error.into(),
            ShardFilesError::Path(error) => error.into(),
        }
    }
}

impl From<SessionError> for Failure {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::Unwritable(error) => unwritable(error, "--state"),
            SessionError::State(error) => error.into(),
        }
    }
}

impl From<TargetError> for Failure {
    fn from(error: TargetError) -> Self {
        let help = match error {
            TargetError::Git(git::Error::NoRepository) => {
                return Self::from(git::Error::NoRepository).help("run it in a clone of the registry's repository");
            }
            TargetError::Git(error) => return error.into(),
            TargetError::NoRemote { ref remote, ref known } if known.is_empty() => {
                format!("add it with `git remote add {remote} https://github.com/OWNER/NAME`")
            }
            TargetError::NoRemote { ref known, .. } => another_remote(known),
            TargetError::NotGithub { ref remote, ref others } if others.is_empty() => {
                format!("set its address with `git remote set-url {remote} https://github.com/OWNER/NAME`")
            }
            TargetError::NotGithub { ref others, .. } => another_remote(others),
            TargetError::NoBranch => "name the one to merge into with --base".to_owned(),
            TargetError::NoIdentity => "set user.name and user.email with `git config`".to_owned(),
        };
        Self::usage(error).help(help)
    }
}

/// The help that asks to name one of these remotes.
fn another_remote(names: &[String]) -> String {
    let names: Vec<String> = names.iter().take(NAMED).map(|name| quote(name)).collect();
    format!("name the remote on GitHub with --remote; there is {}", names.join(", "))
}

/// The help for an unknown id: the agents that the registry has.
fn what_there_is(ids: &[String]) -> String {
    let more = ids.len().saturating_sub(NAMED);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    let named: Vec<String> = ids.iter().take(NAMED).map(|id| quote(id)).collect();
    match named.as_slice() {
        [] => "the registry has no agents yet; `acp-registry new` adds one".to_owned(),
        named => format!("the registry has {}{more}; `acp-registry new` adds an agent", named.join(", ")),
    }
}
