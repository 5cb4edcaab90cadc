//! Options of a check, and why it could not run.

use acp_registry_plan::failure::Failure;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use acp_registry_host::fs::PathError;
use acp_registry_host::process::{Canaries, Home, LaunchDirectories};

/// Options of a check.
#[derive(Debug, Clone)]
pub struct HandshakeOptions {
    /// The protocol version to request: 1, or 2 for a draft.
    pub protocol_version: u16,
    /// Time limit for the answer to `initialize`, from the start of the process. Where the system tells how long the agent
    /// waits for a processor, it gets that time in addition, up to six times the limit in all.
    pub timeout: Duration,
    /// The longest silence to wait for after further requests; `None` sends no further requests. An agent that answers
    /// none of them takes this long once; one that keeps answering takes at most six times as long. If the agent
    /// started slowly, as on a busy machine, the limit is three times its start time, but at most six times this limit.
    /// Further requests do not change the verdict.
    pub probe: Option<Duration>,
    /// The directory in which the sandbox is created.
    pub temporary: PathBuf,
    /// The home of the agent.
    pub home: Home,
    /// Files to create in an empty home before the start, by their path relative to it.
    pub files: BTreeMap<String, String>,
    /// Records which files with invented secrets the agent opens in an empty home. Without it, there are none.
    pub canaries: Option<Arc<Canaries>>,
    /// Whether to keep the sandbox, for inspection.
    pub keep: bool,
}

/// Factor of the limit for further requests in a repeated check.
const PATIENCE: u32 = 3;

impl HandshakeOptions {
    /// The sandbox of a start, with its files.
    pub(super) fn sandbox(&self) -> Result<LaunchDirectories, SetupError> {
        let mut sandbox = LaunchDirectories::below(&self.temporary, self.home).map_err(SetupError::Sandbox)?;
        for (path, text) in &self.files {
            sandbox.add_to_home(path, text).map_err(SetupError::Sandbox)?;
        }
        if let Some(canaries) = &self.canaries {
            sandbox.plant(canaries).map_err(SetupError::Sandbox)?;
        }
        Ok(sandbox)
    }

    /// Options to repeat a check of an agent that has left a request unanswered: three times the limit for further
    /// requests.
    #[must_use]
    pub fn patient(&self) -> Self {
        Self { probe: self.probe.map(|limit| limit * PATIENCE), ..self.clone() }
    }

    /// Requests version 1, with 60 s for `initialize` and 5 s for further requests, and an empty home. The sandbox is
    /// created below `temporary`.
    #[must_use]
    pub fn new(temporary: PathBuf) -> Self {
        let probe = Some(Duration::from_secs(5));
        let (timeout, files) = (Duration::from_mins(1), BTreeMap::new());
        Self { protocol_version: 1, timeout, probe, temporary, home: Home::Empty, files, canaries: None, keep: false }
    }
}

/// Removes a sandbox, or keeps it. Returns why it could not be removed, if so.
pub(super) fn close(sandbox: LaunchDirectories, keep: bool) -> Option<String> {
    if keep {
        sandbox.keep();
        return None;
    }
    sandbox.remove().err().map(|error| error.to_string())
}

/// Why a check could not run, for reasons other than the agent.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The sandbox could not be created.
    #[error("cannot make a temporary directory: {0}")]
    Sandbox(PathError),
}

impl From<SetupError> for Failure {
    fn from(error: SetupError) -> Self {
        let SetupError::Sandbox(path) = &error;
        let help = path.remedy().unwrap_or(acp_registry_host::fs::ANOTHER_TEMPORARY);
        Self::unable(error).help(help)
    }
}
