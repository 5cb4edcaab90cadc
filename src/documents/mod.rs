//! The JSON documents of commands, as described by `schemas/cli/`. Members are serialized in declaration order.
//!
//! Every type is built from typed results and serializes to the published form. The parts that several documents share
//! are [`Document`], [`Error`], [`Launch`] and [`IndexOrigin`].

mod agents;
mod check;
mod config;
mod error;
mod event;
mod install;
mod removal;
mod rpc;
mod rule;
mod update;

use acp_registry::doctor::{DiagnosedAgent, Diagnosis};
pub(crate) use acp_registry::documents::{
    About, AgentList, Document, Error, IndexOrigin, Launch, ListedAgent, Resolve, kinds,
};
use acp_registry::examination::Examination;
use acp_registry::handshake::{AuthMethod, Outcome};
use serde::Serialize;

pub(crate) use self::agents::{Info, InstalledAgent, InstalledList, InstalledVersion};
pub(crate) use self::check::{CheckExplanation, Checks};
pub(crate) use self::config::Config;
pub(crate) use self::error::AgentError;
pub(crate) use self::event::{Event, Stage};
pub(crate) use self::install::{Install, Which};
pub(crate) use self::removal::{Cached, Removal};
pub(crate) use self::rpc::{Interface, Notification, Response, RpcErrorDocument};
pub(crate) use self::rule::{Explanation, Rules};
pub(crate) use self::update::{HeldUpdate, Pinned, Update, UpdateReport};

/// Members of `probe`.
#[derive(Debug, Serialize)]
pub(crate) struct ProbeDocument<'a> {
    /// The outcome of the handshake.
    #[serde(flatten)]
    pub(crate) outcome: &'a Outcome,
    /// The results of its examination, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) examination: Option<&'a Examination>,
}

/// Members of `doctor`.
#[derive(Debug, Serialize)]
pub(crate) struct Doctor<'a> {
    /// The checks of this machine.
    pub(crate) checks: &'a [Diagnosis],
    /// The agents.
    pub(crate) agents: &'a [DiagnosedAgent],
    /// The agents that could not be repaired, and why.
    pub(crate) errors: Vec<AgentError>,
}

/// Members of `login` if the caller has to choose a method.
#[derive(Debug, Serialize)]
pub(crate) struct MethodChoice<'a> {
    /// The agent.
    pub(crate) id: &'a str,
    /// The methods that the agent offers.
    pub(crate) methods: &'a [AuthMethod],
}
