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

mod agent_lock;
mod answer;
mod attempts;
mod basis;
mod divide;
mod error;
mod examined;
mod job;
mod journal;
mod merge;
mod networks;
mod out;
mod plan;
mod quarantine;
mod readable;
mod request;
mod row;
mod run;
mod setup;
mod shard_files;
mod snapshot;
mod sources;
mod steady;
mod stop;
mod task;
mod unanswered;
mod verdict;

pub use agent_lock::AgentLock;
pub use answer::LastAnswer;
pub use attempts::{Attempts, StartAttempt, Trying};
pub use error::{Error, FormError, SnapshotError};
pub use examined::EarlierExamination;
pub use job::{Job, Nothing, Verified, lacks_package_managers, sources_down};
pub use merge::{MergeError, Merged, ShardSnapshot, Unknown, merge};
pub use networks::Networks;
pub use plan::{Earlier, Selection, Shard, ShardError, plan};
pub use quarantine::{Advice, QuarantinedAgent, WhenHeld};
pub use request::VerifyRequest;
pub use row::{Row, RowCounts, State};
pub use run::{Verifier, VerifyEvent};
pub use setup::{Machine, StartOptions, usual_jobs};
pub use shard_files::{ShardFile, ShardFileError, ShardFilesError, merge_files};
pub use snapshot::{SCHEMA, SNAPSHOT_LIMIT, Snapshot};
pub use sources::{DistributionOrigin, Sources};
pub use task::{Task, TaskKind};
pub use unanswered::Unanswered;
pub use verdict::TaskVerdict;
