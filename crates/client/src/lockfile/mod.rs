//! LOCK: versions with everything that says which bytes they are, as a file that makes an installation the same elsewhere.
//!
//! * [`LockFile`]: the file
//! * [`Locked`], [`LockedArchive`], [`LockedPackage`]: what it says of an agent
//! * [`Locker`]: from an offer to that

mod count;
mod form;
mod make;
mod packages;

pub use form::{Error, LockFile, Locked, LockedArchive, LockedPackage, NAME};
pub use make::Locker;
