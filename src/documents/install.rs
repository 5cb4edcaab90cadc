use serde::Serialize;

use crate::documents::{AgentError, IndexOrigin, Launch};

/// Members of `which`.
#[derive(Debug, Serialize)]
pub(crate) struct Which {
    /// The command line and the origin of the installed version.
    #[serde(flatten)]
    pub(crate) launch: Launch,
    /// Whether the agent is pinned.
    pub(crate) pinned: bool,
}

/// Members of `install`.
#[derive(Debug, Serialize)]
pub(crate) struct Install {
    /// The agent, if it is the only result and there is no error. Its members are then also at the top level, as in
    /// `resolve`.
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
    /// The result of a dry run.
    #[must_use]
    pub(crate) fn planned(agents: Vec<Launch>, index: Option<IndexOrigin>) -> Self {
        Self { alone: None, dry_run: Some(true), agents, errors: Vec::new(), index }
    }

    /// The result of an installation: the installed agents, and the errors of the others.
    #[must_use]
    pub(crate) fn installed(agents: Vec<Launch>, errors: Vec<AgentError>, index: Option<IndexOrigin>) -> Self {
        let alone = if let ([agent], []) = (agents.as_slice(), errors.as_slice()) { Some(agent.clone()) } else { None };
        Self { alone, dry_run: None, agents, errors, index }
    }
}
