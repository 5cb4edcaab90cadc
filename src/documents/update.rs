use acp_registry::manifest::AgentId;
use serde::Serialize;

use crate::documents::{AgentError, IndexOrigin, Launch};

/// An agent that was updated, or would be in a dry run.
#[derive(Debug, Serialize)]
pub(crate) struct Update<'a> {
    /// The agent.
    pub(crate) id: &'a str,
    /// The version before the update.
    pub(crate) from: &'a str,
    /// The version in the index.
    pub(crate) to: &'a str,
    /// The kind of distribution.
    pub(crate) distribution: &'static str,
    /// Whether the update was installed.
    pub(crate) applied: bool,
    /// The installed version, if any.
    pub(crate) installed: Option<&'a Launch>,
}

/// An agent whose newer version is too young, or whose release date is unknown. A cooldown of npm or uv has a message.
#[derive(Debug, Serialize)]
pub(crate) struct HeldUpdate {
    /// The agent.
    pub(crate) id: AgentId,
    /// The current version.
    pub(crate) from: String,
    /// The version in the index.
    pub(crate) to: String,
    /// `min-age`, `unknown-age` or `cooldown`.
    pub(crate) reason: &'static str,
    /// When the version is old enough, if known. RFC 3339.
    pub(crate) until: Option<String>,
    /// The setting that holds it back, with the newest version that is allowed, as a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<String>,
}

/// A pinned agent.
#[derive(Debug, Serialize)]
pub(crate) struct Pinned {
    /// The agent.
    pub(crate) id: AgentId,
    /// The installed version.
    pub(crate) version: String,
    /// The version in the index.
    pub(crate) available: String,
}

/// Members of `update`.
#[derive(Debug, Serialize)]
pub(crate) struct UpdateReport<'a> {
    /// Agents with a different version in the index.
    pub(crate) updates: Vec<Update<'a>>,
    /// Agents whose newer version is held back.
    pub(crate) held: &'a [HeldUpdate],
    /// Pinned agents.
    pub(crate) pinned: &'a [Pinned],
    /// Agents that need a repair, which a dry run does not make.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) repairs: Vec<&'a str>,
    /// Agents that were repaired without a change of version.
    pub(crate) repaired: Vec<&'a str>,
    /// Agents that already have the version in the index.
    pub(crate) up_to_date: &'a [AgentId],
    /// Installed agents that the index no longer has.
    pub(crate) gone: &'a [AgentId],
    /// Agents that could not be updated, and why.
    pub(crate) errors: Vec<AgentError>,
    /// The index, if one was needed.
    pub(crate) index: Option<&'a IndexOrigin>,
}
