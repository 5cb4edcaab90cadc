//! What a verification does for one distribution of one release of an agent.

use super::QuarantinedAgent;
use acp_registry_client::install::{Kind, Source};
use acp_registry_plan::manifest::Channel;

/// One distribution of one release of an agent.
#[derive(Debug, Clone)]
pub struct Task {
    /// The agent's id.
    pub id: String,
    /// The version in the manifest.
    pub version: String,
    /// The channel of that version.
    pub channel: Channel,
    /// The kind of distribution; `None` if the manifest has none or cannot be read.
    pub kind: Option<Kind>,
    /// The agent's quarantine, if any.
    pub held: Option<QuarantinedAgent>,
    /// The work.
    pub work: TaskKind,
    /// Digest of everything that a verdict is based on: the distribution and the checks; `None` if there is nothing to
    /// check.
    pub basis: Option<String>,
}

impl Task {
    /// The agent's id and kind of distribution, for people.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{} ({})", self.id, self.kind.map_or("-", Kind::as_str))
    }
}

/// The work of a [`Task`].
#[derive(Debug, Clone)]
pub enum TaskKind {
    /// Install and check this source.
    Check(Source),
    /// Skip it; this is not a failure.
    Skip {
        /// The reason, as named in reports.
        reason: &'static str,
        /// The reason as a sentence.
        message: String,
    },
    /// Fail without checking; holds the reason as a sentence.
    Broken(String),
    /// Reuse this row of an earlier snapshot.
    Reuse(serde_json::Value),
}
