//! RESOLVE: an agent's id to one concrete plan: which version, for which platform, from where, by which runtime.
//!
//! * [`Wanted`]: what somebody asks for
//! * [`Offer`]: a version and the ways to get it, from an index, a lock file, or what is installed
//! * [`Host`]: what the machine can run
//! * [`resolve()`]: the [`Plan`], or an [`Error`] that says what there is instead
//!
//! Nothing is guessed: what is missing is named, with the way to get it.

mod choose;
mod error;
mod host;
mod offer;
mod plan;

pub use choose::{Wanted, pick, resolve};
pub use error::Error;
pub use host::Host;
pub use offer::{Offer, Origin};
pub use plan::Plan;
