//! How a check is made, and why it could not be.

use std::path::PathBuf;
use std::time::Duration;

use acp_registry_core::sys::fs::PathError;
use acp_registry_core::sys::process::Home;

/// How a check is made.
#[derive(Debug, Clone)]
pub struct Options {
    /// The version of the protocol that is asked for: 1, or 2 to see a draft.
    pub protocol_version: u16,
    /// How long the answer to `initialize` may take, counted from the start of the process.
    pub timeout: Duration,
    /// How long an agent may be silent when it is asked further; `None` for no further requests. An agent that is silent from
    /// the start costs this once; one that goes on answering, at most six times this. An agent whose own start took long, as
    /// on a busy machine, gets three times that start instead, and at most six times this limit. They change no verdict.
    pub probe: Option<Duration>,
    /// Where the sandbox is made.
    pub temporary: PathBuf,
    /// The home that the agent gets.
    pub home: Home,
    /// Whether the sandbox stays, for people to look at.
    pub keep: bool,
}

/// How many times the limit for further requests an agent gets that is asked once more.
const PATIENCE: u32 = 3;

impl Options {
    /// The same for an agent that has left a request unanswered: three times as long for what comes after `initialize`.
    #[must_use]
    pub fn patient(&self) -> Self {
        Self { probe: self.probe.map(|limit| limit * PATIENCE), ..self.clone() }
    }

    /// Version 1, 60 s for `initialize` and 5 s for the rest, with the sandbox made below this directory, and an empty
    /// home in it.
    #[must_use]
    pub fn new(temporary: PathBuf) -> Self {
        let probe = Some(Duration::from_secs(5));
        Self { protocol_version: 1, timeout: Duration::from_mins(1), probe, temporary, home: Home::Empty, keep: false }
    }
}

/// Why a check could not be made, for which the agent cannot be blamed.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// There is no place for the sandbox.
    #[error("cannot make a temporary directory: {0}")]
    Sandbox(PathError),
}
