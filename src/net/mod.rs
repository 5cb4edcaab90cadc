//! The network: which addresses this program will ever speak to, and the client that speaks.
//!
//! * [`addr`]: public and other addresses
//! * [`address`]: web addresses, read strictly
//! * [`AllowedHosts`]: the exceptions that a person has made
//! * [`Client`]: fetches, within bounds

pub mod addr;
pub mod address;
mod allowed;
mod client;

pub use allowed::{AllowedHosts, HostError};
pub use client::{Client, FetchError};
