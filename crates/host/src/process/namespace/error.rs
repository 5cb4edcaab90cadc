//! Why there is no network namespace.

use std::io;

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
