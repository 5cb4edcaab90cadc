//! Runs git to read history and changes, and to update branches of a remote without changing the checkout.
//!
//! * [`Repository`]: finds a repository in a way that files of the checkout cannot influence
//! * [`changed_paths`]: the files that differ from a revision
//! * [`log()`], [`blobs`]: the history of files, and their contents
//! * [`Remote`]: branches of a remote; creates commits from objects, without a work tree

mod changes;
mod error;
mod log;
mod remote;
mod repository;
mod runner;

pub use changes::changed_paths;
pub use error::Error;
use log::read_blobs;
pub use log::{COMMIT_LIMIT, Commit, Cut, FileChange, Log, blobs, log};
pub use remote::{Branch, Identity, Remote};
pub use repository::Repository;
