use serde::Serialize;

use crate::documents::Error;

/// Why a command failed for one agent.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct AgentError {
    /// The failure.
    #[serde(flatten)]
    pub(crate) error: Error,
    /// The agent.
    pub(crate) id: String,
}
