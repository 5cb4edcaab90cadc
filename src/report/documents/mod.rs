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
mod installed;
mod removal;
mod rpc;
mod rule;
mod update;

use serde::Serialize;

pub use self::agents::{Info, InstalledAgent, InstalledList, InstalledVersion};
pub use self::bump::Bump;
pub use self::check::{CheckExplanation, Checks};
pub use self::config::Config;
pub use self::error::AgentError;
pub use self::event::{Event, Stage};
pub use self::install::{Install, Which};
pub use self::installed::{installed, planned};
pub use self::removal::{Cached, Removal, Row};
pub use self::rpc::{Interface, Notification, Response, RpcError};
pub use self::rule::{Brief, Explanation, File, Rules};
pub use self::update::{Held, Pinned, Update, Updates};
pub use acp_registry_plan::documents::{
    About, Document, Error, Found, IndexOrigin, Installation, Launch, Listed, Nothing, Resolve, kinds,
};

use acp_registry_client::doctor::{Check, Examined};
use acp_registry_examine::examination::Examination;
use acp_registry_protocol::handshake::{AuthMethod, Outcome};

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
