//! The JSON documents of commands, as `schemas/cli/` describes them: members in the order in which they are written.
//!
//! Every type is made from typed results; its `Serialize` is the published form. What a document has in common with others
//! is in [`Document`], [`Error`], [`Launch`] and [`IndexOrigin`].

mod bump;
mod catalog;
mod check;
mod config;
mod error;
mod event;
mod install;
mod launch;
mod removal;
mod rule;
mod update;

use serde::Serialize;

pub use self::bump::Bump;
pub use self::catalog::{Found, Info, InstalledAgent, InstalledList, InstalledVersion, Listed, kinds};
pub use self::check::{CheckExplanation, Checks};
pub use self::config::Config;
pub use self::error::{AgentError, Error};
pub use self::event::{Event, Stage};
pub use self::install::{Install, Resolve, Which};
pub use self::launch::{IndexOrigin, Installation, Launch};
pub use self::removal::{Removal, Row};
pub use self::rule::{Brief, Explanation, File, Rules};
pub use self::update::{Held, Pinned, Update, Updates};
use acp_registry_client::doctor::{Check, Examined};
use acp_registry_examine::examination::Examination;
use acp_registry_protocol::handshake::{AuthMethod, Outcome};

/// Version of the form of all documents.
const SCHEMA: u32 = 1;

/// The document of a command: its members, and why it failed, if it has.
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
    /// The document of a command.
    pub fn new(command: &'a str, members: T) -> Self {
        Self { schema: SCHEMA, command: Some(command), members, error: None }
    }

    /// With why the command failed, if it has.
    #[must_use]
    pub fn failed(self, error: Option<Error>) -> Self {
        Self { error, ..self }
    }

    /// The text.
    #[must_use]
    pub fn to_text(&self) -> String {
        acp_registry_core::json::to_string(self)
    }
}

/// No members: the command failed.
#[derive(Debug, Serialize)]
pub struct Nothing {}

impl<'a> Document<'a, Nothing> {
    /// The document of a command that failed, as far as it is known which.
    #[must_use]
    pub fn of_failure(command: Option<&'a str>, error: Error) -> Self {
        Self { schema: SCHEMA, command, members: Nothing {}, error: Some(error) }
    }
}

/// Members of `probe`.
#[derive(Debug, Serialize)]
pub struct Probe<'a> {
    /// How the agent answered.
    #[serde(flatten)]
    pub outcome: &'a Outcome,
    /// The results of its examination, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub examination: Option<&'a Examination>,
}

/// Members of `doctor`.
#[derive(Debug, Serialize)]
pub struct Doctor<'a> {
    /// What was looked at on this machine.
    pub checks: &'a [Check],
    /// The agents.
    pub agents: &'a [Examined],
    /// Why agents were not repaired.
    pub errors: Vec<AgentError>,
}

/// Members of `login` where a person has to choose a method.
#[derive(Debug, Serialize)]
pub struct Choice<'a> {
    /// The agent.
    pub id: &'a str,
    /// Its methods.
    pub methods: &'a [AuthMethod],
}
