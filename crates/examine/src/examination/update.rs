//! Notifications about a session.

use serde_json::Value;
use tokio::time::Instant;

/// A `session/update` by the agent.
#[derive(Debug, Clone)]
pub(super) struct SessionUpdate {
    pub(super) session: String,
    /// The member `update`.
    pub(super) body: Value,
    /// When it arrived.
    pub(super) at: Instant,
}

impl SessionUpdate {
    /// The kind of update, such as `agent_message_chunk`.
    pub(super) fn kind(&self) -> &str {
        self.body["sessionUpdate"].as_str().unwrap_or_default()
    }

    /// The text of a message chunk; empty for other updates.
    pub(super) fn text(&self) -> &str {
        self.body["content"]["text"].as_str().unwrap_or_default()
    }
}
