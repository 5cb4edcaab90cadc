//! Network namespaces: a network that consists of a loopback interface only.
//!
//! ```text
//! Namespace (this program) ──socket── keeper (in the namespace)
//!     │                                  │ binds listeners, and passes them to this program
//!     └─ Launch ─→ join ─→ launcher ─→ agent (in the namespace)
//! ```
//!
//! * [`Namespace`]: a namespace, and the process that keeps it
//! * [`NamespaceError`]: why there is none
//! * [`keep`], [`join()`]: the work of the `acp-registry` executable in its hidden modes
//!
//! A namespace exists only on Linux. On other systems, [`Namespace::create`] returns an error.

mod error;
#[cfg(target_os = "linux")]
mod isolated;
#[cfg(target_os = "linux")]
mod join;
#[cfg(target_os = "linux")]
mod keeper;
#[cfg(target_os = "linux")]
mod loopback;
#[cfg(target_os = "linux")]
mod passing;

#[cfg_attr(target_os = "linux", path = "linux.rs")]
#[cfg_attr(not(target_os = "linux"), path = "not_linux.rs")]
mod platform;

pub use error::NamespaceError;
#[cfg(target_os = "linux")]
pub(super) use join::Order as JoinOrder;
#[cfg(target_os = "linux")]
pub use join::{JOIN, join};
#[cfg(target_os = "linux")]
pub use keeper::{KEEP, keep};
pub use platform::Namespace;
