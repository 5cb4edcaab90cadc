//! The network: which addresses this program will ever speak to.
//!
//! * [`addr`]: public and other addresses
//! * [`AllowedHosts`]: the exceptions that a person has made

pub mod addr;
mod allowed;

pub use allowed::{AllowedHosts, HostError};
