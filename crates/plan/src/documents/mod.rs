//! The JSON documents that describe an index and a plan, as described by `schemas/cli/`: those of `list` and `resolve`, and
//! the parts that they share with the documents of other commands.

mod launch;

use std::borrow::Cow;

use serde::Serialize;

use crate::failure::Failure;
use crate::index::Entry;

pub use launch::{IndexOrigin, Installation, Launch};

/// The `schema` member of all documents.
const SCHEMA: u32 = 1;

/// The document of a command: its members, and the error if the command failed.
#[derive(Debug, Serialize)]
pub struct Document<'a, T> {
    schema: u32,
    command: Option<&'a str>,
    #[serde(flatten)]
    members: T,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Failure>,
}

impl<'a, T: Serialize> Document<'a, T> {
    /// Creates the document of a command, without an error.
    pub fn new(command: &'a str, members: T) -> Self {
        Self { schema: SCHEMA, command: Some(command), members, error: None }
    }

    /// Sets the `error` member, if the command failed.
    #[must_use]
    pub fn failed(self, error: Option<Failure>) -> Self {
        Self { error, ..self }
    }

    /// Why the command failed, if it did.
    #[must_use]
    pub fn error(&self) -> Option<&Failure> {
        self.error.as_ref()
    }

    /// Returns the document as JSON text.
    #[must_use]
    pub fn to_text(&self) -> String {
        crate::json::to_string(self)
    }
}

/// No members besides `error`: the command failed before it had a result.
#[derive(Debug, Serialize)]
pub struct Nothing {}

impl<'a> Document<'a, Nothing> {
    /// Creates the document of a failed command. `command` is `None` if the arguments name no known command.
    #[must_use]
    pub fn failed_command(command: Option<&'a str>, error: Failure) -> Self {
        Self { schema: SCHEMA, command, members: Nothing {}, error: Some(error) }
    }
}

/// Members of `resolve`.
#[derive(Debug, Serialize)]
pub struct Resolve {
    /// What would be installed, and its command line.
    #[serde(flatten)]
    pub launch: Launch,
    /// The index.
    pub index: IndexOrigin,
}

/// What the index says about an agent. All members are `None` if there is no index, or if it does not have the agent.
#[derive(Debug, Default, Serialize)]
pub struct About<'a> {
    name: Option<&'a str>,
    description: Option<&'a str>,
    license: Option<&'a str>,
    icon: Option<&'a str>,
    distributions: Option<Vec<&'static str>>,
    platforms: Option<&'a [Cow<'static, str>]>,
    available_version: Option<&'a str>,
}

impl<'a> About<'a> {
    /// Describes an entry.
    #[must_use]
    pub fn of(entry: &'a Entry) -> Self {
        let text = |value: &'a str| Some(value).filter(|value| !value.is_empty());
        Self {
            name: text(&entry.name),
            description: text(&entry.description),
            license: text(&entry.license),
            icon: text(&entry.icon),
            distributions: Some(kinds(entry)),
            platforms: Some(&entry.platforms),
            available_version: text(&entry.version),
        }
    }
}

/// The kinds of distribution of an entry, in order of preference.
#[must_use]
pub fn kinds(entry: &Entry) -> Vec<&'static str> {
    let kinds = [("binary", !entry.platforms.is_empty()), ("npx", entry.has_npx), ("uvx", entry.has_uvx)];
    kinds.into_iter().filter(|(_, is_there)| *is_there).map(|(kind, _)| kind).collect()
}

/// An agent in the index, for `list` and `search`.
#[derive(Debug, Serialize)]
pub struct ListedAgent<'a> {
    #[serde(flatten)]
    about: About<'a>,
    installed: bool,
    installed_version: Option<&'a str>,
    pinned: bool,
    id: &'a str,
    version: &'a str,
}

impl<'a> ListedAgent<'a> {
    /// Combines an entry with the agent's installed version, if any, and whether it is pinned.
    #[must_use]
    pub fn of(entry: &'a Entry, installed_version: Option<&'a str>, pinned: bool) -> Self {
        Self {
            about: About::of(entry),
            installed: installed_version.is_some(),
            installed_version,
            pinned,
            id: &entry.id,
            version: &entry.version,
        }
    }
}

/// Members of `list` and `search`.
#[derive(Debug, Serialize)]
pub struct AgentList<'a> {
    /// The index.
    pub index: IndexOrigin,
    /// SHA-256 of the index.
    pub index_sha256: &'a str,
    /// The agents, best match first.
    pub agents: Vec<ListedAgent<'a>>,
    /// The parts of the index that cannot be used, and why.
    pub notes: &'a [String],
}
