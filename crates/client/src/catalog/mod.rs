//! READ: a published index, and what agents it has.
//!
//! ```text
//! address ─ copy of an earlier run? ─ fetch ─┐
//! file, published tree ──────────────────────┼─→ Catalog ─→ Entry, Agent
//! registry checkout ─────────────────────────┘
//! ```
//!
//! Of a large index that is in a file, what was found is kept for the next run, which then reads of the file itself only the
//! agents that it is asked for.
//!
//! * [`Place`]: where an index is
//! * [`load()`]: from there to a [`Catalog`], with copies kept from one run to the next
//! * [`Catalog`]: the entries that can be used, and notes about those that cannot
//!
//! Reading is lenient: unknown members are passed over, and a broken entry never hides the others.
//!
//! ```
//! use acp_registry_client::catalog::Catalog;
//!
//! let text = r#"{ "agents": [ 7, { "id": "a", "version": "1.0.0", "distribution": { "npx": { "package": "a@1.0.0" } } } ] }"#;
//! let catalog = Catalog::parse(text.to_owned())?;
//! let ids: Vec<&str> = catalog.entries().map(|entry| entry.id.as_str()).collect();
//! assert_eq!((ids, catalog.notes.len()), (vec!["a"], 1));
//! # Ok::<(), acp_registry_client::catalog::FormError>(())
//! ```

mod copies;
mod entries;
mod entry;
mod known;
mod load;
mod place;
mod read;
mod search;
mod summary;
mod text;
mod usable;

pub use copies::Copies;
pub use entries::FormError;
pub use entry::{Entry, is_id};
pub use load::{Error, Loaded, Options, load};
pub use place::{Place, WrongPlace};
pub use read::{Catalog, Origin};
pub use search::Query;
pub use text::TextError;
