use std::io;

use crate::index::{EntryError, Missing};
use crate::{index, resolve, store};
use acp_registry_host::fs::PathError;
use acp_registry_http::Problem;
use acp_registry_plan::text::quote;
use acp_registry_protocol::handshake::SetupError;

/// Why an agent was not chosen, installed or started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The index cannot be used.
    #[error(transparent)]
    Index(#[from] index::Error),
    /// An entry of the index cannot be read.
    #[error(transparent)]
    Entry(#[from] EntryError),
    /// The index has no such agent that can be used.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// There is no plan for the agent.
    #[error(transparent)]
    Resolve(#[from] resolve::Error),
    /// It cannot be installed, or what is installed cannot be used.
    #[error(transparent)]
    Store(Box<store::Error>),
    /// There is no HTTP client.
    #[error(transparent)]
    Client(#[from] Problem),
    /// A request is needed, and the session is offline.
    #[error("{id} {version} {problem}, and {work} it needs the network")]
    Offline {
        /// The agent.
        id: String,
        /// Its version.
        version: String,
        /// What is wrong with it, as `is not installed`.
        problem: &'static str,
        /// What would be done: `installing` or `repairing`.
        work: &'static str,
    },
    /// A package manager installs for its own platform only.
    #[error(
        "{id}: a distribution by {kind} can be installed on the platform that it is for only: package managers choose for themselves"
    )]
    OtherPlatform {
        /// The agent.
        id: String,
        /// The kind of distribution.
        kind: &'static str,
    },
    /// The program is not what was installed.
    #[error("{} is damaged: {program} is not what was installed", quote(id))]
    Damaged {
        /// The agent.
        id: String,
        /// Its program.
        program: String,
    },
    /// The interpreter that starts the agent is gone.
    #[error("{id} needs {name}, which is not in PATH any more")]
    LostInterpreter {
        /// The agent.
        id: String,
        /// The interpreter.
        name: String,
    },
    /// The operating system has not started the agent.
    #[error("{} cannot be started: {program}: {error}", quote(id))]
    Start {
        /// The agent.
        id: String,
        /// Its program, ready to be shown.
        program: String,
        /// What the system says.
        error: io::Error,
    },
    /// The directory for the handshake cannot be made.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// A directory cannot be read or written.
    #[error(transparent)]
    Path(#[from] PathError),
}

impl From<store::Error> for Error {
    fn from(error: store::Error) -> Self {
        Self::Store(Box::new(error))
    }
}
