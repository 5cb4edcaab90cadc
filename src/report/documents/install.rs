use serde::Serialize;

use super::{AgentError, IndexOrigin, Launch};

/// Members of `which`.
#[derive(Debug, Serialize)]
pub struct Which {
    /// How the agent is started.
    #[serde(flatten)]
    pub launch: Launch,
    /// Whether the agent stays at its version.
    pub pinned: bool,
}

/// Members of `resolve`.
#[derive(Debug, Serialize)]
pub struct Resolve {
    /// What would be installed, and how it is started.
    #[serde(flatten)]
    pub launch: Launch,
    /// The index.
    pub index: IndexOrigin,
}

/// Members of `install`.
#[derive(Debug, Serialize)]
pub struct Install {
    /// The agent, where one alone was wanted and is there: where `resolve` has it.
    #[serde(flatten)]
    alone: Option<Launch>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dry_run: Option<bool>,
    agents: Vec<Launch>,
    errors: Vec<AgentError>,
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<IndexOrigin>,
}

impl Install {
    /// What would be installed.
    #[must_use]
    pub fn planned(agents: Vec<Launch>, index: Option<IndexOrigin>) -> Self {
        Self { alone: None, dry_run: Some(true), agents, errors: Vec::new(), index }
    }

    /// What was installed, and why other agents were not.
    #[must_use]
    pub fn done(agents: Vec<Launch>, errors: Vec<AgentError>, index: Option<IndexOrigin>) -> Self {
        let alone = if let ([agent], []) = (agents.as_slice(), errors.as_slice()) { Some(agent.clone()) } else { None };
        Self { alone, dry_run: None, agents, errors, index }
    }
}
