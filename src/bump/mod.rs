//! BUMP: newer releases of agents, and the smallest change to a manifest that takes them in.

mod address;
mod asset;
mod newest;
mod offer;

pub use newest::{Choice, Held, Policy, choose};
pub use offer::{Flaw, Offer, Offers, SourceKind, version_of_tag};
