use serde::Serialize;

/// Why a command failed.
#[derive(Debug, Clone, Serialize)]
pub struct Error {
    /// The kind of failure: a stable name for scripts.
    pub code: &'static str,
    /// The exit code of the program. In [`AgentError`], the code that this failure alone would cause.
    pub exit_code: u8,
    /// What failed, where and why.
    pub message: String,
    /// One command or edit that may fix it.
    pub help: Option<String>,
    /// Known names similar to the one given, the most similar first.
    pub suggestions: Vec<String>,
}

/// Why a command failed for one agent.
#[derive(Debug, Clone, Serialize)]
pub struct AgentError {
    /// The failure.
    #[serde(flatten)]
    pub error: Error,
    /// The agent.
    pub id: String,
}
