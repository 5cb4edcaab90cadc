use super::Index;
use crate::text::{quote, suggestions};

/// The index has no agent of this id that can be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Missing {
    /// The index has no such agent.
    #[error("there is no agent {} in the registry index", quote(id))]
    UnknownAgent {
        /// What was asked for.
        id: String,
        /// The ids that were probably meant, the nearest first.
        near: Vec<String>,
    },
    /// The index has an entry for the agent that cannot be used.
    #[error("in the registry index, {0}")]
    UnusableEntry(String),
}

impl Missing {
    /// Why an index has no agent of this id.
    #[must_use]
    pub fn of(id: &str, index: &Index) -> Self {
        if let Some(note) = index.notes.iter().find(|note| note.contains(&format!(" ({}) ", quote(id)))) {
            return Self::UnusableEntry(note.clone());
        }
        let near = suggestions(id, index.known(id));
        Self::UnknownAgent { id: id.to_owned(), near: near.into_iter().map(ToOwned::to_owned).collect() }
    }
}
