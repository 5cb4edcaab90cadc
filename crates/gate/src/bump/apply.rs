//! Writes updates into manifests.

use super::{Bumped, ChannelOutcome, ErrorKind};
use crate::edit;
use acp_registry_client::registry::Registry;
use acp_registry_plan::source::Edit;

impl Bumped {
    /// The edits of the manifest's text; empty without an update.
    pub fn edits(&self) -> impl Iterator<Item = Edit> {
        let update = match &self.result {
            Ok(ChannelOutcome::Update(update)) => Some(update),
            _ => None,
        };
        update.into_iter().flat_map(|update| update.edits.clone())
    }
}

/// Writes the updates of each agent. If that fails, the results of its updates become errors.
pub(super) fn write(registry: &Registry, bumped: &mut [Bumped]) {
    for of_agent in bumped.chunk_by_mut(|a, b| a.id == b.id) {
        let edits: Vec<Edit> = of_agent.iter().flat_map(Bumped::edits).collect();
        if edits.is_empty() {
            continue;
        }
        let file = format!("{}/agent.json", of_agent[0].id);
        if let Err(error) = edit::write(registry, &file, &edits) {
            for one in of_agent.iter_mut().filter(|one| one.edits().next().is_some()) {
                one.result = Err(ErrorKind::NotWritten.because(error.to_string()));
            }
        }
    }
}
