use serde::Serialize;

/// Why a command failed.
#[derive(Debug, Clone, Serialize)]
pub struct Error {
    /// What kind of failure it is, as a word that stays the same.
    pub code: &'static str,
    /// The exit code of the program, or the one that this failure alone would give.
    pub exit_code: u8,
    /// What failed, where and why, as a sentence.
    pub message: String,
    /// One thing to do about it.
    pub help: Option<String>,
    /// The names that were probably meant, the nearest first.
    pub suggestions: Vec<String>,
}

/// Why a command failed for one agent.
#[derive(Debug, Clone, Serialize)]
pub struct AgentError {
    /// Why.
    #[serde(flatten)]
    pub error: Error,
    /// The agent.
    pub id: String,
}
