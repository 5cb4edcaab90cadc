//! The flags that several commands share, and what they become.

pub(crate) mod candidates;
pub(crate) mod global;
pub(crate) mod isolation;
pub(crate) mod level;
pub(crate) mod network;
pub(crate) mod report;
pub(crate) mod session;
pub(crate) mod value;
pub(crate) mod verifier;
