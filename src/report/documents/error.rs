use serde::Serialize;

use super::Error;

/// Why a command failed for one agent.
#[derive(Debug, Clone, Serialize)]
pub struct AgentError {
    /// The failure.
    #[serde(flatten)]
    pub error: Error,
    /// The agent.
    pub id: String,
}
