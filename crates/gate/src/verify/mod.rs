//! Installs, starts and checks the agents of a registry, each in a directory of its own.
//!
//! ```text
//! registry ─ plan ─→ tasks ─→ install ─→ handshake ─→ rows ─→ report, snapshot
//!                      └──────── snapshot of an earlier run ────┘
//! ```
//!
//! * [`VerifyRequest`], [`Job`]: a whole run, from the request to rows and a snapshot file
//! * [`plan()`]: the agents, distributions and channels to check, and those to skip, with reasons
//! * [`Verifier`]: runs the tasks concurrently; a failing agent does not stop others
//! * [`AgentLock`]: locks between work that may run concurrently and work that must run alone
//! * [`Attempts`]: finds the arguments that start an agent
//! * [`Row`]: the result of one task, with its JSON form
//! * [`Snapshot`]: the capabilities of all agents, as a file for the next run and the catalog
//! * [`EarlierExamination`]: the examination that a row of a snapshot records
//! * [`merge()`], [`merge_files`]: merge the snapshots of several machines

mod answer;
mod attempts;
mod examined;
mod job;
mod journal;
mod merge;
mod outages;
mod plan;
mod quarantine;
mod row;
mod run;
mod snapshot;
mod times;

use acp_registry_plan::failure::{Code, Failure};
use std::path::PathBuf;
use std::sync::Arc;

use acp_registry_client::install::{Kind, Source};
use acp_registry_host::fs::{PathError, ReadError};
use acp_registry_host::process::Network;
use acp_registry_plan::closure::PublishedClosure;
use acp_registry_plan::manifest::Channel;
use acp_registry_plan::text::{printable, quote};
use acp_registry_protocol::handshake;
use serde::{Deserialize, Serialize};
use tokio::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::select;

pub use answer::{LastAnswer, OfferedMethod, Unanswered};
pub use attempts::{Attempts, StartAttempt, Trying};
pub use examined::{EarlierExamination, PastExamination};
pub use job::{Job, Nothing, REUSE_MAX_AGE, Verified, VerifyRequest, lacks_package_managers, sources_down};
pub use merge::{
    MergeError, Merged, ShardFile, ShardFileError, ShardFilesError, ShardSnapshot, Unknown, merge, merge_files,
};
pub use outages::{DistributionOrigin, Sources};
pub use plan::{Earlier, MALICIOUS, NewClosures, Selection, Shard, ShardError, plan, refuse_malicious};
pub use quarantine::{Advice, QuarantinedAgent, WhenHeld};
pub use row::{NotStarted, Row, RowCounts, State};
pub use run::{INSTALL_TIMEOUT, Verifier, VerifyEvent, usual_jobs};
pub use snapshot::{SCHEMA, SNAPSHOT_FILE, SNAPSHOT_LIMIT, Snapshot};
pub use times::RunTimes;

/// Decides which agents of a run are installed and started concurrently.
///
/// An agent that runs as the caller's user can kill processes of other agents, change installations, and read
/// credentials from the environment of package managers, so it runs alone. So does an agent that is started again,
/// since the load of other work may have caused its failure. All other work runs concurrently.
#[derive(Debug, Clone, Default)]
pub struct AgentLock(Arc<RwLock<()>>);

/// A lock that is held while the work runs.
#[derive(Debug)]
enum AgentGuard<'a> {
    Shared { _guard: RwLockReadGuard<'a, ()> },
    Alone { _guard: RwLockWriteGuard<'a, ()> },
}

impl AgentLock {
    /// Waits until no work runs that must be alone.
    async fn beside_others(&self) -> AgentGuard<'_> {
        AgentGuard::Shared { _guard: self.0.read().await }
    }

    /// Waits until no work runs.
    async fn alone(&self) -> AgentGuard<'_> {
        AgentGuard::Alone { _guard: self.0.write().await }
    }
}

/// Why a verification could not be prepared.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The agents could not be selected.
    #[error(transparent)]
    Select(#[from] select::Error),
    /// A named agent has no distribution of the requested kinds.
    #[error("{} has no distribution {kinds}; it has {offered}", quote(.id))]
    OtherKind {
        /// The agent's id.
        id: String,
        /// The requested kinds.
        kinds: String,
        /// The kinds that the agent has.
        offered: String,
    },
    /// No agent has a distribution of the requested kinds.
    #[error("no agent of the registry has a distribution {0}")]
    NoKind(String),
    /// The earlier snapshot could not be read.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// The directory for `keep` could not be created.
    #[error(transparent)]
    Keep(PathError),
    /// The snapshot cannot be written.
    #[error(transparent)]
    Unwritable(PathError),
    /// Another run writes the snapshot.
    #[error("{} is written by another run: {}", .path.display(), printable(.holder))]
    Busy {
        /// The file.
        path: PathBuf,
        /// What the other run says of itself.
        holder: String,
    },
}

/// Why a snapshot could not be read.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// The file could not be read.
    #[error("{}: {error}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        error: ReadError,
    },
    /// The file is not a snapshot.
    #[error("{} is not a capability snapshot: {message}", .path.display())]
    Form {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        message: String,
    },
}

/// A document lists no agents that could have answered.
#[derive(Debug, thiserror::Error)]
pub enum FormError {
    /// Not JSON.
    #[error("is not JSON: {0}")]
    Syntax(#[from] serde_json::Error),
    /// There is no list of agents in it.
    #[error("has no list `agents`")]
    NoRows,
}

/// The networks that agents reach if they are examined after the handshake. For agents that are not, only the
/// [`Isolation`](acp_registry_host::process::Isolation) counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Networks {
    /// During the handshake.
    pub handshake: Network,
    /// During the examination. With [`Network::None`], the network is a [`Namespace`] of the agent's own.
    ///
    /// [`Namespace`]: acp_registry_host::process::Namespace
    pub examination: Network,
}

impl Default for Networks {
    fn default() -> Self {
        Self { handshake: Network::Shared, examination: Network::Shared }
    }
}

/// One distribution of one release of an agent.
#[derive(Debug, Clone)]
pub struct Task {
    /// The agent's id.
    pub id: String,
    /// The version in the manifest.
    pub version: String,
    /// The channel of that version.
    pub channel: Channel,
    /// The kind of distribution; `None` if the manifest has none or cannot be read.
    pub kind: Option<Kind>,
    /// The agent's quarantine, if any.
    pub held: Option<QuarantinedAgent>,
    /// The work.
    pub work: TaskKind,
    /// The packages that are installed, if the registry keeps a list of them.
    pub closure: Option<PublishedClosure>,
    /// Digest of everything that a verdict is based on: the distribution and the checks; `None` if there is nothing to
    /// check.
    pub basis: Option<String>,
}

impl Task {
    /// The agent's id and kind of distribution, for people.
    pub fn name(&self) -> String {
        format!("{} ({})", self.id, self.kind.map_or("-", Kind::as_str))
    }
}

/// The work of a [`Task`].
#[derive(Debug, Clone)]
pub enum TaskKind {
    /// Install and check this source.
    Check(Source),
    /// Skip it; this is not a failure.
    Skip {
        /// The reason, as named in reports.
        reason: &'static str,
        /// The reason as a sentence.
        message: String,
    },
    /// Fail without checking.
    Broken {
        /// The reason, as named in reports.
        reason: &'static str,
        /// The reason as a sentence.
        message: String,
        /// What to do about it.
        remedy: Option<&'static str>,
    },
    /// Reuse this row of an earlier snapshot.
    Reuse(serde_json::Value),
}

/// The verdict on a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TaskVerdict {
    /// The agent answers, and users can sign in.
    Pass,
    /// The agent does not pass the handshake, or its manifest is wrong.
    Fail,
    /// The agent could not be started, so nothing is known about it.
    Error,
    /// The agent was skipped.
    Skipped,
}

impl TaskVerdict {
    /// The name used in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Error => "error",
            Self::Skipped => "skipped",
        }
    }
}

impl From<handshake::Verdict> for TaskVerdict {
    fn from(verdict: handshake::Verdict) -> Self {
        match verdict {
            handshake::Verdict::Pass => Self::Pass,
            handshake::Verdict::Fail => Self::Fail,
            handshake::Verdict::Error => Self::Error,
        }
    }
}

impl From<SnapshotError> for Failure {
    fn from(error: SnapshotError) -> Self {
        match error {
            SnapshotError::Read { .. } => Self::unable(error).help(SNAPSHOT),
            SnapshotError::Form { .. } => {
                Self::usage(error).help("write a new one with `acp-registry verify --out FILE`")
            }
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Select(error) => error.into(),
            Error::OtherKind { .. } | Error::NoKind(_) => Self::usage(error).code(Code::UnsupportedDistribution),
            Error::Snapshot(error) => error.into(),
            Error::Keep(error) => error.into(),
            Error::Unwritable(error) => error.unwritable("--out"),
            error @ Error::Busy { .. } => {
                Self::unable(error).help("wait until it has ended, or name another file with --out")
            }
        }
    }
}

/// What to do where a capability snapshot cannot be read.
const SNAPSHOT: &str = "name a file that `acp-registry verify --out` has written";
