//! STORE: installed agents below one directory, versions side by side.
//!
//! ```text
//! <root>/agents/<id>/
//!   current                 which version is started; a small file, swapped as a whole
//!   <version>-<digest>/     one version; the digest is over what says where its bytes come from
//!     receipt.json          written last: what has none does not exist
//!     files.json            digests of what was installed
//!     in-use                locked by those who run the version
//!     files/                what was installed
//!   .new-…                  being installed; what nobody is at work on is removed by the next run
//! <root>/agents/.<id>.lock  held by whoever changes something above
//! ```
//!
//! * [`Store`]: installs, finds, removes
//! * [`Version`], [`Receipt`]: one installed version
//!
//! A running agent is never touched: an update puts a version beside it and swaps `current`. Whoever is interrupted at
//! any point leaves either the old state or the new one.

mod broken;
mod current;
mod error;
mod examine;
mod find;
mod guard;
mod installing;
mod leftovers;
mod ours;
mod places;
mod receipt;
mod removal;
mod version;

pub use broken::Damage;
pub use current::Pin;
pub use error::Error;
pub use examine::{Found, Remains};
pub use find::{Agent, Store};
pub use installing::{Done, Order};
pub use receipt::{Receipt, StoredInterpreter};
pub use removal::{Freed, Removed};
pub use version::{Launch, Version};
