//! VERIFY: every agent of a registry is installed, started, spoken to and judged, each in a place of its own.
//!
//! ```text
//! registry ─ plan ─→ tasks ─→ install ─→ handshake ─→ rows ─→ report, snapshot
//!                      └──────── snapshot of an earlier run ────┘
//! ```
//!
//! * [`Order`], [`Job`]: a run as a whole, from what is wanted to rows and the file of a snapshot
//! * [`plan()`]: which agents, distributions and channels are checked, and which are skipped, and why
//! * [`Verifier`]: does the tasks, some at once; one bad agent never stops the others
//! * [`Turns`]: which work is done beside other work, and which alone
//! * [`Attempts`]: how an agent is started, found out by trying
//! * [`Row`]: the result of one task, with its JSON form
//! * [`Snapshot`]: what agents can do, as a file that the next run and the catalog read
//! * [`merge()`], [`merge_files`]: a snapshot from the parts that several machines have written

mod attempts;
mod basis;
mod error;
mod held;
mod job;
mod merge;
mod order;
mod out;
mod parts;
mod plan;
mod row;
mod run;
mod setup;
mod snapshot;
mod sources;
mod steady;
mod turns;

pub use attempts::{Attempt, Attempts, Trying};
pub use error::Error;
pub use held::{Advice, Held};
pub use job::{Job, Nothing, Verified, lacks_package_managers, sources_down};
pub use merge::{MergeError, Merged, Part, Unknown, merge};
pub use order::Order;
pub use parts::{PartFile, PartFileError, PartsError, merge_files};
pub use plan::{Earlier, Selection, Shard, ShardError, Task, WhenHeld, Work, plan};
pub use row::{Row, State, Summary, Verdict};
pub use run::{Event, Verifier};
pub use setup::{Machine, Manner, usual_jobs};
pub use snapshot::{SCHEMA, SNAPSHOT_LIMIT, Snapshot, SnapshotError};
pub use sources::{Origin, Sources};
pub use turns::Turns;
