//! PUBLISH: a built tree, put where people fetch it.
//!
//! ```text
//! v2026-01-31-1a2b3c4d5e6f/   a whole tree that never changes; SHA256SUMS comes last, so that it is complete where that is
//! latest/                     the newest tree
//! .acp-registry/state.json    what lies in latest/ and since when some of it is stale
//! ```
//!
//! * [`Tree`]: a built tree whose files are what its `SHA256SUMS` says
//! * [`Target`]: where it goes, a directory or a bucket
//! * [`publish()`]: sends what is new
//! * [`prune()`]: removes old snapshots
//!
//! Whoever reads `latest/` meanwhile, or after an interruption at any point, never finds an index that names a file which is
//! not there: files are sent before those that name them, and what nothing names any more stays for a while. Before anything
//! is changed, the state says what is about to be, so that an interrupted run is verified again.

mod answer;
mod bounds;
mod directory;
mod error;
mod form;
mod lease;
mod listing;
mod order;
mod prune;
mod run;
mod snapshot;
mod state;
mod store;
mod takeover;
mod target;
mod tree;

use std::time::Duration;

pub use error::Error;
pub use prune::{Pruned, prune};
pub use run::publish;
pub use snapshot::{Revision, WrongRevision};
pub use store::Bucket;
pub use target::Target;
pub use tree::Tree;

/// What signs: takes the content of `SHA256SUMS` and returns that of `SHA256SUMS.sig`, or why there is none.
pub type Sign<'a> = &'a (dyn Fn(&[u8]) -> Result<Vec<u8>, String> + Sync);

/// How a tree is published.
pub struct Options<'a> {
    /// Part of the name of the snapshot.
    pub revision: Revision,
    /// How long a file of `latest/` stays after nothing names it any more.
    pub grace: Duration,
    /// Signs the list of digests.
    pub sign: Option<Sign<'a>>,
    /// Whether files below `assets/` are stored compressed, which stores, but no directories, can tell their readers.
    pub gzip_assets: bool,
    /// Whether what was published earlier is compared with what is there, in place of the state being believed.
    pub recheck: bool,
    /// How many files are sent at once.
    pub jobs: usize,
    /// How others are kept out.
    pub turns: Turns,
}

/// How publishers take turns.
#[derive(Debug, Clone, Copy)]
pub struct Turns {
    /// How long to wait for another one.
    pub wait: Duration,
    /// How long others wait for one that has died, where that cannot be seen.
    pub lease: Duration,
}

/// What is being done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// Another publisher is waited for; its own words about itself.
    Waiting(String),
    /// So many files more are to be looked after.
    Planned(usize),
    /// One of them is done.
    Done,
    /// Something that a person should know.
    Warning(String),
}

/// Receives [`Event`]s.
pub type Notice<'a> = &'a (dyn Fn(Event) + Sync);

/// What was done, or would be, with a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Action {
    /// Its name, with `latest/` or the snapshot before it.
    pub file: String,
    /// What.
    pub what: What,
}

/// What is done with files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// It is sent; so many bytes.
    Send(u64),
    /// It is there already.
    Keep,
    /// Nothing names it any more; it is removed after this time, in seconds since 1970.
    Stale(i64),
    /// It is removed.
    Remove,
}

impl What {
    /// The word used in every output format.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Send(_) => "send",
            Self::Keep => "keep",
            Self::Stale(_) => "stale",
            Self::Remove => "remove",
        }
    }
}

/// The result of publishing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Published {
    /// The snapshot that holds the tree.
    pub snapshot: String,
    /// Whether it was there before.
    pub is_known: bool,
    /// What was done, file by file.
    pub actions: Vec<Action>,
}

/// The folder of the newest tree.
pub const LATEST: &str = "latest";

/// Seconds since 1970.
fn now() -> i64 {
    time::OffsetDateTime::now_utc().unix_timestamp()
}

fn seconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_secs()).unwrap_or(i64::MAX)
}
