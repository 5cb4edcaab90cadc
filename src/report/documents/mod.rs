//! The JSON documents of commands, as described by `schemas/cli/`. Members are serialized in declaration order.
//!
//! Every type is built from typed results and serializes to the published form. The parts that several documents share
//! are [`Document`], [`Error`], [`Launch`] and [`IndexOrigin`].

mod agents;
mod bump;
mod check;
mod config;
mod error;
mod event;
mod install;
mod launch;
mod removal;
mod rpc;
mod rule;
mod update;

use serde::Serialize;

pub use self::agents::{Found, Info, InstalledAgent, InstalledList, InstalledVersion, Listed, kinds};
pub use self::bump::Bump;
pub use self::check::{CheckExplanation, Checks};
pub use self::config::Config;
pub use self::error::{AgentError, Error};
pub use self::event::{Event, Stage};
pub use self::install::{Install, Resolve, Which};
pub use self::launch::{IndexOrigin, Installation, Launch};
pub use self::removal::{Removal, Row};
pub use self::rpc::{Interface, Notification, Response, RpcError};
pub use self::rule::{Brief, Explanation, File, Rules};
pub use self::update::{Held, Pinned, Update, Updates};
use acp_registry_client::doctor::{Check, Examined};
use acp_registry_examine::examination::Examination;
use acp_registry_protocol::handshake::{AuthMethod, Outcome};

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
        acp_registry_core::json::to_string(self)
    }
}

/// No members besides `error`: the command failed before it had a result.
#[derive(Debug, Serialize)]
pub struct Nothing {}

impl<'a> Document<'a, Nothing> {
    /// Creates the document of a failed command. `command` is `None` if the arguments name no known command.
    #[must_use]
    pub fn of_failure(command: Option<&'a str>, error: Error) -> Self {
        Self { schema: SCHEMA, command, members: Nothing {}, error: Some(error) }
    }
}

/// Members of `probe`.
#[derive(Debug, Serialize)]
pub struct Probe<'a> {
    /// The outcome of the handshake.
    #[serde(flatten)]
    pub outcome: &'a Outcome,
    /// The results of its examination, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub examination: Option<&'a Examination>,
}

/// Members of `doctor`.
#[derive(Debug, Serialize)]
pub struct Doctor<'a> {
    /// The checks of this machine.
    pub checks: &'a [Check],
    /// The agents.
    pub agents: &'a [Examined],
    /// The agents that could not be repaired, and why.
    pub errors: Vec<AgentError>,
}

/// Members of `login` if the caller has to choose a method.
#[derive(Debug, Serialize)]
pub struct Choice<'a> {
    /// The agent.
    pub id: &'a str,
    /// The methods that the agent offers.
    pub methods: &'a [AuthMethod],
}
