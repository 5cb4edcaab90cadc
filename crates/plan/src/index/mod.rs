//! READ: the text of an index, and what agents it has.
//!
//! * [`Index`]: the entries that can be used, and notes about those that cannot
//! * [`entries()`], [`Notes`]: the list of an index, for readers that need other members of its entries
//!
//! Reading is lenient: unknown members are passed over, and a broken entry never hides the others.
//!
//! ```
//! use acp_registry_plan::index::Index;
//!
//! let text = r#"{ "agents": [ 7, { "id": "a", "version": "1.0.0", "distribution": { "npx": { "package": "a@1.0.0" } } } ] }"#;
//! let index = Index::parse(text.to_owned())?;
//! let ids: Vec<&str> = index.entries().map(|entry| entry.id.as_str()).collect();
//! assert_eq!((ids, index.notes.len()), (vec!["a"], 1));
//! # Ok::<(), acp_registry_plan::index::FormError>(())
//! ```

mod entry;
mod parse;
mod read;

pub use entry::Entry;
pub use parse::{FormError, INDEX_LIMIT, Notes, entries};
pub use read::{EntryError, Index, IndexSource};

use crate::failure::{Code, Failure};
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

impl From<Missing> for Failure {
    fn from(error: Missing) -> Self {
        let failure = Self::usage(&error).code(Code::UnknownAgent);
        match error {
            Missing::UnknownAgent { near, .. } if near.is_empty() => {
                failure.help("run `acp-registry search WORD` to find agents")
            }
            Missing::UnknownAgent { near, .. } => failure.suggest(near.iter().map(String::as_str)),
            Missing::UnusableEntry(_) => failure,
        }
    }
}
