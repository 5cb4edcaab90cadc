//! LOCK: versions with the digests of their files, in a file that gives the same installation elsewhere.
//!
//! * [`LockFile`]: the file
//! * [`Locked`], [`LockedArchive`], [`LockedPackage`]: its entry for an agent
//! * [`Locker`]: makes an entry from an offer

mod format;
mod make;

pub use format::{Error, LockFile, Locked, LockedArchive, LockedPackage, NAME};
pub use make::Locker;
