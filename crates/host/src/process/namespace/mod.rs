//! Network namespaces: a network that consists of a loopback interface only.
//!
//! ```text
//! Namespace (this program) ──socket── keeper (in the namespace)
//!     │                                  │ binds listeners and the ports of name servers, and passes them to this program
//!     └─ LaunchSpec ─→ join ─→ launcher ─→ agent (in the namespace)
//! ```
//!
//! * [`Namespace`]: a namespace, and the process that keeps it
//! * [`NamespaceError`]: why there is none
//! * [`keep`], [`join()`]: the work of the `acp-registry` executable in its hidden modes
//!
//! A namespace exists only on Linux. On other systems, [`Namespace::create`] returns an error.

#[cfg(target_os = "linux")]
mod join;
#[cfg(target_os = "linux")]
mod keeper;
#[cfg(target_os = "linux")]
mod loopback;
#[cfg(target_os = "linux")]
mod resolver;

#[cfg_attr(target_os = "linux", path = "linux.rs")]
#[cfg_attr(not(target_os = "linux"), path = "not_linux.rs")]
mod platform;

use std::io;

pub use platform::Namespace;

#[cfg(target_os = "linux")]
pub(super) use join::Order as JoinOrder;
#[cfg(target_os = "linux")]
pub use join::{JOIN, join};
#[cfg(target_os = "linux")]
pub(crate) use keeper::leave_network;
#[cfg(target_os = "linux")]
pub use keeper::{KEEP, keep};

/// Why a network namespace could not be made.
#[derive(Debug, thiserror::Error)]
pub enum NamespaceError {
    /// This system has none.
    #[error("only Linux has network namespaces")]
    Unsupported,
    /// The path of the `acp-registry` executable is unknown.
    #[error("a network namespace needs the path of the `acp-registry` executable")]
    NoLauncher,
    /// The process that keeps the namespace could not be started.
    #[error("cannot start the process that keeps a network namespace: {0}")]
    Start(io::Error),
    /// The system does not allow it.
    #[error("cannot make a network namespace on this system: {0}")]
    Refused(String),
    /// Something outside the namespace can be reached from it.
    #[error("the network namespace is not isolated: {0}")]
    NotIsolated(String),
}
