//! Starts untrusted programs in isolation, and ends them with all their descendants.
//!
//! * [`Environment`]: the environment variables of a program
//! * [`LaunchDirectories`]: the home and temporary directories of a program, which are removed afterwards
//! * [`Canaries`]: files with invented secrets in that home, and which of them were opened
//! * [`remove_abandoned`]: removes the sandboxes of processes that were killed
//! * [`Scratch`]: a directory that is removed whatever a program did to it
//! * [`Namespace`]: a network without the host's, for programs that need none but a server of the caller
//! * [`Isolation`]: further isolation: none, a user of its own, or bubblewrap
//! * [`launch()`]: turns the `acp-registry` executable into a program, under limits that hold from its first
//!   instruction
//! * [`ProcessTree`]: a running program with its descendants
//!
//! What is supported on each system:
//!
//! | system | session of its own | descendants that left the session | limits |
//! |---|---|---|---|
//! | Linux | yes | found by environment, user and parents, and as orphans ([`adopt_orphans`]) | file size, memory |
//! | other Unix | yes | not found | none |
//! | Windows | a job object | cannot leave it | none |
//!
//! On Linux, programs also get no core files, no new privileges and no inherited file descriptors, and are killed first
//! when memory runs out. Address space is not limited: Node.js and other runtimes reserve far more than they use, and
//! would fail with any limit that protects the host. A process that has left its session, cleared its environment and
//! lost its parent is found only as an orphan.

mod abandoned;
mod canaries;
mod directories;
mod environment;
mod isolation;
mod launch;
#[cfg(target_os = "linux")]
mod launcher;
mod namespace;
#[cfg(target_os = "linux")]
mod own_user;
mod prepare;
#[cfg(target_os = "linux")]
mod reach;
mod tree;

#[cfg_attr(target_os = "linux", path = "linux.rs")]
#[cfg_attr(not(target_os = "linux"), path = "not_linux.rs")]
mod platform;

pub use abandoned::remove_abandoned;
pub use canaries::Canaries;
pub use directories::{Home, INSTALLED, LaunchDirectories, Scratch, UserDirectory};
pub use environment::{Environment, is_executable};
pub use isolation::{Isolation, IsolationError, Network};
pub use launch::{LaunchSpec, Obstacle};
#[cfg(target_os = "linux")]
pub(crate) use launcher::close_inherited;
#[cfg(target_os = "linux")]
pub use launcher::{LAUNCH, launch};
#[cfg(target_os = "linux")]
pub(crate) use namespace::leave_network;
#[cfg(target_os = "linux")]
pub use namespace::{JOIN, KEEP, join, keep};
pub use namespace::{Namespace, NamespaceError};
pub use platform::{Orphans, adopt_orphans, end_launches_below, hide_from_agents, make_readable};
pub use tree::{Ending, Exit, How, Pipes, ProcessTree, RunDelays, SpawnError, Tail};
