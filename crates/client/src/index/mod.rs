//! READ: a published index, and what agents it has.
//!
//! ```text
//! address ─ copy of an earlier run? ─ fetch ─┐
//! file, published tree ──────────────────────┼─→ Index ─→ Entry, Agent
//! registry checkout ─────────────────────────┘
//! ```
//!
//! * [`IndexLocation`]: where an index is
//! * [`IndexReader`]: from there to an [`Index`], or some agents of it if they can be read without the others, with copies
//!   kept from one run to the next; and to what the registry publishes beside it, such as the versions that it has recalled
//! * [`Index`], of `acp_registry_plan`: the entries that can be used, and notes about those that cannot
//! * [`Trust`]: who signs the index; [`minisign`] has keys and signatures
//! * [`Query`]: searches the entries
//! * [`entries()`], [`Notes`]: the list of an index, for readers that need other members of its entries
//!
//! Reading is lenient: unknown members are passed over, and a broken entry never hides the others.
//!
//! ```
//! use acp_registry_client::index::Index;
//!
//! let text = r#"{ "agents": [ 7, { "id": "a", "version": "1.0.0", "distribution": { "npx": { "package": "a@1.0.0" } } } ] }"#;
//! let index = Index::parse(text.to_owned())?;
//! let ids: Vec<&str> = index.entries().map(|entry| entry.id.as_str()).collect();
//! assert_eq!((ids, index.notes.len()), (vec!["a"], 1));
//! # Ok::<(), acp_registry_client::index::FormError>(())
//! ```

mod beside;
mod by_entry;
mod copies;
mod load;
pub mod minisign;
mod phrases;
mod place;
mod revocations;
mod search;
mod trust;

pub use acp_registry_plan::index::{
    Entry, EntryError, FormError, INDEX, INDEX_LIMIT, Index, IndexSource, Missing, Notes, entries,
};

pub use copies::Copies;
pub use load::{Error, Loaded, closures_in_checkout};
pub use phrases::{Class, LicenseKind, Meaning, PHRASES};
pub use place::{IndexLocation, IndexReader, LoadOptions, WrongPlace};
pub use revocations::{KnownRevocations, RevocationMemory};
pub use search::{
    BY, FACETS, Facts, Found, Hit, MARKS, Match, Query, Reading, SPELLINGS, SUMMARY, programs, without_addresses,
};
pub use trust::{StatementProof, Trust, TrustError};
