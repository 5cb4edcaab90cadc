//! UPDATE: what is installed, compared with what is offered now.
//!
//! * [`compare()`]: whether there is something newer
//! * [`published`]: since when that is there, for those who let others go first

mod age;
mod compare;

pub use age::published;
pub(crate) use compare::as_installed;
pub use compare::{Status, compare};
