//! The JSON documents that describe an index and a plan, as described by `schemas/cli/`: those of `list` and `resolve`, and
//! the parts that they share with the documents of other commands.

mod launch;
mod listed;

use serde::Serialize;

pub use launch::{IndexOrigin, Installation, Launch};
pub use listed::{About, AgentList, ListedAgent, kinds};

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
    error: Option<Error>,
}

impl<'a, T: Serialize> Document<'a, T> {
    /// Creates the document of a command, without an error.
    pub fn new(command: &'a str, members: T) -> Self {
        Self { schema: SCHEMA, command: Some(command), members, error: None }
    }

    /// Sets the `error` member, if the command failed.
    #[must_use]
    pub fn failed(self, error: Option<Error>) -> Self {
        Self { error, ..self }
    }

    /// Why the command failed, if it did.
    #[must_use]
    pub fn error(&self) -> Option<&Error> {
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
    pub fn failed_command(command: Option<&'a str>, error: Error) -> Self {
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

/// Why a command failed.
#[derive(Debug, Clone, Serialize)]
pub struct Error {
    /// The kind of failure: a stable name for scripts.
    pub code: &'static str,
    /// The exit code of the program. For one of several agents, the code that this failure alone would cause.
    pub exit_code: u8,
    /// What failed, where and why.
    pub message: String,
    /// One command or edit that may fix it.
    pub help: Option<String>,
    /// Known names similar to the one given, the most similar first.
    pub suggestions: Vec<String>,
}
