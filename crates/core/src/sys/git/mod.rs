//! The `git` program: what has changed and when, and branches of a remote, written without touching the checkout.
//!
//! * [`Repository`]: where it is, found so that no file of a checkout can say so
//! * [`changed_paths`]: which files differ from a revision
//! * [`log()`], [`blobs`]: what happened to files, commit by commit
//! * [`Remote`]: branches of a remote; commits are made from objects, not from files

mod changes;
mod error;
mod log;
mod remote;
mod repository;
mod runner;

pub use changes::changed_paths;
pub use error::Error;
use log::blobs_of;
pub use log::{COMMIT_LIMIT, Change, Commit, Cut, Log, blobs, log};
pub use remote::{Branch, Identity, Remote};
pub use repository::Repository;
