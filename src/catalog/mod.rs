//! READ: a published index, and what agents it has.
//!
//! ```text
//! address ─ copy of an earlier run? ─ fetch ─┐
//! file, published tree ──────────────────────┼─→ Catalog ─→ Entry, Agent
//! registry checkout ─────────────────────────┘
//! ```
//!
//! * [`Place`]: where an index is
//! * [`load()`]: from there to a [`Catalog`], with copies kept from one run to the next
//! * [`Catalog`]: the entries that can be used, and notes about those that cannot
//!
//! Reading is lenient: unknown members are passed over, and a broken entry never hides the others.

mod copies;
mod entry;
mod load;
mod place;
mod read;
mod usable;

pub use copies::Copies;
pub use entry::{Entry, is_id};
pub use load::{Error, Loaded, Options, load};
pub use place::{Place, WrongPlace};
pub use read::{Catalog, FormError};
