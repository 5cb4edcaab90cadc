//! Errors of work on a registry as failures of a command, with the flags and commands that help.

use acp_registry::select::Error;
use acp_registry::sys::git;
use acp_registry::text::quote;

use super::code::Code;
use super::exit::Failure;

/// How many ids a remedy names.
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
            Error::Quarantine => Self::unable(error).help("`acp-registry validate` says why"),
            Error::Git(error) => {
                let is_elsewhere = matches!(error, git::Error::NoRepository);
                let help = "leave out --changed-since, or run it in a clone of the registry's repository";
                Self::from(error).help_if(is_elsewhere.then_some(help))
            }
        }
    }
}

/// The agents of a registry that does not have the one that is wanted.
fn what_there_is(ids: &[String]) -> String {
    let more = ids.len().saturating_sub(NAMED);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    let named: Vec<String> = ids.iter().take(NAMED).map(|id| quote(id)).collect();
    match named.as_slice() {
        [] => "the registry has no agents yet; `acp-registry new` adds one".to_owned(),
        named => format!("the registry has {}{more}; `acp-registry new` adds an agent", named.join(", ")),
    }
}
