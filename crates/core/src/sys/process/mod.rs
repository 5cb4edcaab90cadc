//! Untrusted programs: started apart from everything else, and ended with all that they have started.
//!
//! * [`Environment`]: which variables of the host a program may see
//! * [`Sandbox`]: a home and temporary directories of its own, removed afterwards, unless it works in the person's
//! * [`remove_abandoned`]: those that were never removed, because this program was killed
//! * [`Scratch`]: a directory that is removed whatever was done to it
//! * [`Isolation`]: what else keeps it apart: nothing, a user of its own, or bubblewrap
//! * [`launch()`]: the `acp-registry` executable becomes a program, under limits that hold from its first instruction on
//! * [`Tree`]: the program with its descendants, from start to end
//!
//! What each system gives:
//!
//! | system | session of its own | descendants that left the session | limits |
//! |---|---|---|---|
//! | Linux | yes | found by their environment, their user, by their parents, and as orphans ([`adopt_orphans`]) | file size, memory, no core files, no new rights, no inherited descriptors, first victim when memory runs out |
//! | other Unix | yes | not found | none |
//! | Windows | a job object | cannot leave it | none |
//!
//! The size of the address space is not limited: Node.js and other runtimes reserve far more than they use, and fail
//! at once under any limit that would protect the host. A process that has given up both its environment and its
//! session, and whose parent is gone, is found as an orphan only.

mod abandoned;
mod begin;
mod bwrap;
mod environment;
mod exit;
mod launch;
#[cfg(target_os = "linux")]
mod launcher;
#[cfg(target_os = "linux")]
mod own_user;
#[cfg(target_os = "linux")]
mod reach;
#[cfg(target_os = "linux")]
mod report;
mod sandbox;
mod scratch;
mod tail;
mod tree;

#[cfg_attr(target_os = "linux", path = "linux.rs")]
#[cfg_attr(not(target_os = "linux"), path = "portable.rs")]
mod platform;

pub use abandoned::{INSTALLED, remove_abandoned};
pub use bwrap::{Isolation, IsolationError, Network};
pub use environment::{Environment, is_executable};
pub use exit::{Exit, How};
pub use launch::Launch;
#[cfg(target_os = "linux")]
pub use launcher::{LAUNCH, launch};
pub use platform::{Orphans, adopt_orphans, end_launches_below, hide_from_agents, make_readable};
pub use sandbox::{Home, Sandbox};
pub use scratch::Scratch;
pub use tail::Tail;
pub use tree::{Ending, Pipes, SpawnError, Tree};
