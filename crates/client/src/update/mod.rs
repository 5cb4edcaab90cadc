//! UPDATE: what is installed, compared with what is offered now.
//!
//! * [`compare()`]: whether a newer version is offered
//! * [`published`]: when that was published, for people who wait before they update

mod age;
mod compare;

pub use age::published;
pub(crate) use compare::as_installed;
pub use compare::{UpdateStatus, compare};
