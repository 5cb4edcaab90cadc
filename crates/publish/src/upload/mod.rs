//! PUBLISH: a built tree to a directory or a bucket.
//!
//! ```text
//! v2026-01-31-1a2b3c4d5e6f/   a snapshot: a tree that never changes, complete once it has SHA256SUMS
//! content/1a/1a2b…            what the SHA256SUMS of snapshots name, by its digest, but for indexes and revoked.json
//! latest/                     the newest tree, or one that was put back
//! .acp-registry/state.json    what differs in latest/ from its snapshot, since when files are stale, and the snapshots
//! ```
//!
//! * [`BuiltTree`]: a built tree whose files match its `SHA256SUMS`
//! * [`UploadTarget`]: the destination, a directory or a bucket
//! * [`Signing`]: signs what clients read, in `latest/statement.json`
//! * [`publish()`]: sends new and changed files
//! * [`list()`]: the snapshots
//! * [`rollback()`]: puts an earlier snapshot into `latest/`
//! * [`prune()`]: removes old snapshots, and contents that no snapshot names any more
//!
//! A snapshot can always be read back: contents are sent before the list that names them, and removed after it.
//!
//! Readers of `latest/` never find an index that names a missing file, neither during a run nor after an interrupted
//! one: files are sent before the files that refer to them, and files that are no longer referenced are kept for a
//! grace period. The state is written before files are changed, so that an interrupted run is verified again.

mod bucket;
#[cfg(test)]
mod crashes;
mod error;
mod headers;
mod latest;
mod lease;
mod prune;
mod recalls;
mod run;
mod send;
mod snapshot;
mod state;
mod statement;
mod target;
mod tree;

use std::sync::Arc;
use std::time::Duration;

use acp_registry_plan::statement::Signed;

pub use bucket::Bucket;
pub use error::Error;
pub use prune::{Pruned, SnapshotEntry, list, prune};
pub use run::{publish, rollback};
pub use snapshot::{Revision, WrongRevision};
pub use statement::Signing;
pub use target::UploadTarget;
pub use tree::BuiltTree;

/// Signs a text, and returns the signature or an error message: of a tree, `SHA256SUMS` and the content of `SHA256SUMS.sig`.
pub type Sign = Arc<dyn Fn(&[u8]) -> Result<Vec<u8>, String> + Send + Sync>;

/// How a tree is published.
pub struct PublishOptions {
    /// The revision in the name of the snapshot.
    pub revision: Revision,
    /// How long files of `latest/` are kept after they are no longer referenced.
    pub grace: Duration,
    /// Signs `SHA256SUMS`; without it, no signature is published.
    pub sign: Option<Sign>,
    /// Signs what clients read; without it, a target with a signed statement is refused.
    pub signing: Option<Signing>,
    /// Which files are stored compressed. Applies to buckets only: a directory cannot store the `Content-Encoding`
    /// header.
    pub gzip: Gzip,
    /// Whether every file is compared with the published one, instead of trusting the state of the last run.
    pub recheck: bool,
}

/// A run that changes a target.
#[derive(Clone, Copy)]
pub struct UploadRun<'a> {
    /// The target.
    pub target: &'a UploadTarget,
    /// How many files are read, sent or removed at once.
    pub jobs: usize,
    /// How this run waits for other publishers.
    pub turns: LeaseTimes,
    /// Whether nothing is written, and the result lists what would be done.
    pub is_dry_run: bool,
    /// Receives the progress.
    pub notice: Notice<'a>,
}

impl UploadRun<'_> {
    /// Runs `work` while no other publisher writes to the target, which a dry run does not wait for.
    async fn in_turn<T>(&self, work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        if self.is_dry_run {
            return work.await;
        }
        self.target.take_turn(self.turns, self.notice).await?.during(work).await
    }
}

/// Which files are stored compressed with gzip. Readers get them with `Content-Encoding: gzip`, even if they have not asked
/// for it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Gzip {
    /// Files below `assets/`, which only browsers load.
    pub assets: bool,
    /// The indexes, `revoked.json`, `SHA256SUMS`, the history and the sitemap.
    pub documents: bool,
}

/// How publishers to the same target wait for each other.
#[derive(Debug, Clone, Copy)]
pub struct LeaseTimes {
    /// How long to wait for another publisher before [`Error::Busy`].
    pub wait: Duration,
    /// How long a lease on a bucket is valid without renewal. After that, its holder counts as dead.
    pub lease: Duration,
}

/// Progress of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UploadEvent {
    /// Waiting for another publisher, which describes itself in these words.
    Waiting(String),
    /// This many more files will be sent, compared or removed.
    Planned(usize),
    /// One of the planned files is finished.
    Done,
    /// A warning for the user.
    Warning(String),
}

/// Receives [`UploadEvent`]s.
pub type Notice<'a> = &'a (dyn Fn(UploadEvent) + Sync);

/// What was done with a file, or would be done in a dry run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Action {
    /// The name of the file, with `latest/` or the snapshot in front.
    pub file: String,
    /// The action.
    pub what: What,
}

/// What is done with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// It is sent; the size in bytes.
    Send(u64),
    /// It is already there, unchanged.
    Keep,
    /// It is no longer referenced, and will be removed after this time, in seconds since 1970.
    Stale(i64),
    /// It is removed.
    Remove,
}

impl What {
    /// The name of the action in all output formats.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Send(_) => "send",
            Self::Keep => "keep",
            Self::Stale(_) => "stale",
            Self::Remove => "remove",
        }
    }
}

/// The result of [`publish()`] and of [`rollback()`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UploadResult {
    /// The name of the snapshot that holds the tree, from which `latest/` is made now.
    pub snapshot: String,
    /// The snapshot that `latest/` was made from before; `None` if that is not known.
    pub previous: Option<String>,
    /// What was signed in this run.
    pub signed: Option<Signed>,
    /// Whether the snapshot was complete before this run.
    pub is_known: bool,
    /// The actions, file by file.
    pub actions: Vec<Action>,
}

/// The folder of the newest tree.
pub const LATEST: &str = "latest";

/// Signs a text on a thread of its own: a command may take longer than a lease lasts, which is renewed meanwhile.
async fn signature(sign: &Sign, text: &[u8]) -> Result<Vec<u8>, String> {
    let (sign, text) = (sign.clone(), text.to_owned());
    tokio::task::spawn_blocking(move || sign(&text)).await.unwrap_or_else(|error| Err(error.to_string()))
}

/// The current time in seconds since 1970.
/// A day, in seconds.
const DAY: i64 = 86_400;

fn now() -> i64 {
    acp_registry_plan::timestamp::Timestamp::now().unix()
}

fn seconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_secs()).unwrap_or(i64::MAX)
}
