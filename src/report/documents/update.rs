use serde::Serialize;

use super::{AgentError, IndexOrigin, Launch};
use acp_registry_core::manifest::AgentId;

/// An agent that was or would be updated.
#[derive(Debug, Serialize)]
pub struct Update<'a> {
    /// The agent.
    pub id: &'a str,
    /// The version that was current.
    pub from: &'a str,
    /// The version in the index.
    pub to: &'a str,
    /// The kind of distribution.
    pub distribution: &'static str,
    /// Whether it was installed.
    pub applied: bool,
    /// What was installed.
    pub installed: Option<&'a Launch>,
}

/// An agent whose newer version is too young, or of unknown age.
#[derive(Debug, Serialize)]
pub struct Held {
    /// The agent.
    pub id: AgentId,
    /// The version that is current.
    pub from: String,
    /// The version in the index.
    pub to: String,
    /// `min-age` or `unknown-age`.
    pub reason: &'static str,
    /// When it is old enough, where that is known. RFC 3339.
    pub until: Option<String>,
}

/// An agent that stays at its version.
#[derive(Debug, Serialize)]
pub struct Pinned {
    /// The agent.
    pub id: AgentId,
    /// Its version.
    pub version: String,
    /// The version in the index.
    pub available: String,
}

/// Members of `update`.
#[derive(Debug, Serialize)]
pub struct Updates<'a> {
    /// Agents with another version in the index.
    pub updates: Vec<Update<'a>>,
    /// Those whose version is not taken yet.
    pub held: &'a [Held],
    /// Those that stay at their version.
    pub pinned: &'a [Pinned],
    /// Those that were repaired in their version.
    pub repaired: Vec<&'a str>,
    /// Those that have the version in the index.
    pub up_to_date: &'a [AgentId],
    /// Those that the index does not have any more.
    pub gone: &'a [AgentId],
    /// Why others were not updated.
    pub errors: Vec<AgentError>,
    /// The index, where one was needed.
    pub index: Option<&'a IndexOrigin>,
}
