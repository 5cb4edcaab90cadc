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

mod entries;
mod entry;
mod missing;
mod read;
mod usable;

pub use entries::{FormError, INDEX_LIMIT, Notes, entries};
pub use entry::Entry;
pub use missing::Missing;
pub use read::{EntryError, Index, IndexSource};
