use serde::Serialize;

use super::{AgentError, IndexOrigin, Launch};
use acp_registry_plan::manifest::AgentId;

/// An agent that was updated, or would be in a dry run.
#[derive(Debug, Serialize)]
pub struct Update<'a> {
    /// The agent.
    pub id: &'a str,
    /// The version before the update.
    pub from: &'a str,
    /// The version in the index.
    pub to: &'a str,
    /// The kind of distribution.
    pub distribution: &'static str,
    /// Whether the update was installed.
    pub applied: bool,
    /// The installed version, if any.
    pub installed: Option<&'a Launch>,
}

/// An agent whose newer version is too young, or whose release date is unknown. A cooldown of npm or uv has a message.
#[derive(Debug, Serialize)]
pub struct Held {
    /// The agent.
    pub id: AgentId,
    /// The current version.
    pub from: String,
    /// The version in the index.
    pub to: String,
    /// `min-age`, `unknown-age` or `cooldown`.
    pub reason: &'static str,
    /// When the version is old enough, if known. RFC 3339.
    pub until: Option<String>,
    /// The setting that holds it back, with the newest version that is allowed, as a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// A pinned agent.
#[derive(Debug, Serialize)]
pub struct Pinned {
    /// The agent.
    pub id: AgentId,
    /// The installed version.
    pub version: String,
    /// The version in the index.
    pub available: String,
}

/// Members of `update`.
#[derive(Debug, Serialize)]
pub struct Updates<'a> {
    /// Agents with a different version in the index.
    pub updates: Vec<Update<'a>>,
    /// Agents whose newer version is held back.
    pub held: &'a [Held],
    /// Pinned agents.
    pub pinned: &'a [Pinned],
    /// Agents that need a repair, which a dry run does not make.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub repairs: Vec<&'a str>,
    /// Agents that were repaired without a change of version.
    pub repaired: Vec<&'a str>,
    /// Agents that already have the version in the index.
    pub up_to_date: &'a [AgentId],
    /// Installed agents that the index no longer has.
    pub gone: &'a [AgentId],
    /// Agents that could not be updated, and why.
    pub errors: Vec<AgentError>,
    /// The index, if one was needed.
    pub index: Option<&'a IndexOrigin>,
}
