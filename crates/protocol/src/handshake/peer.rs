//! A running agent that is spoken to in raw lines.
//!
//! The lines are not interpreted here.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use super::lines::Lines;
use super::options::{Options, SetupError};
use super::wire::{Silence, Wire};
use acp_registry_core::sys::process::{Exit, Launch, Sandbox, SpawnError, Tree};

/// The longest line that is read, in bytes. An agent may repeat a long request in its answer.
const LINE: usize = 4 << 20;

/// How long an agent may take to end by itself once it is not needed any more.
const GRACE: Duration = Duration::from_millis(100);

/// An agent that was started. Dropping it kills all its processes, and removes what was made for it.
pub struct Peer {
    wire: Wire,
    tree: Tree,
    // After the tree, so that it outlives it.
    sandbox: Sandbox,
    keep: bool,
    heard: VecDeque<Vec<u8>>,
}

/// Why there is no agent to speak to.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The agent cannot be blamed for it.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// The system did not start it.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
}

impl Peer {
    /// Starts an agent in a sandbox of its own below [`Options::temporary`]. Needs a runtime of tokio with its IO and time
    /// drivers.
    ///
    /// # Errors
    /// [`StartError`]
    pub async fn start(launch: &Launch, options: &Options) -> Result<Self, StartError> {
        let sandbox = Sandbox::below(&options.temporary, options.home).map_err(SetupError::Sandbox)?;
        let (tree, pipes) = Tree::start(launch, &sandbox).await?;
        let wire = Wire::new(pipes, Lines::up_to(LINE), None);
        Ok(Self { wire, tree, sandbox, keep: options.keep, heard: VecDeque::new() })
    }

    /// The directory that was made for it.
    #[must_use]
    pub fn directory(&self) -> &Path {
        self.sandbox.path()
    }

    /// An empty directory in it, for sessions.
    #[must_use]
    pub fn work(&self) -> PathBuf {
        self.sandbox.work()
    }

    /// Writes bytes to its stdin, as they are. Returns whether they were taken before the deadline; an agent that reads
    /// nothing takes a few all the same.
    pub async fn send(&mut self, bytes: Vec<u8>, deadline: Instant) -> bool {
        matches!(timeout_at(deadline, self.wire.outgoing.send(bytes)).await, Ok(Ok(())))
    }

    /// The next line of its stdout, without the line end.
    ///
    /// # Errors
    /// [`Silence`] when there is none before the deadline.
    pub async fn line(&mut self, deadline: Instant) -> Result<Vec<u8>, Silence> {
        loop {
            if let Some(line) = self.heard.pop_front() {
                return Ok(line);
            }
            self.heard = self.wire.lines(&mut self.tree, deadline).await?.into();
        }
    }

    /// Closes its stdin, and waits for its end. What it still writes is not read any more.
    pub async fn close_input(&mut self, deadline: Instant) -> Option<Exit> {
        self.wire.hang_up();
        timeout_at(deadline, self.tree.wait()).await.ok()
    }

    /// Asks it and what it has started to end, by SIGTERM where there are signals, and waits for its own end. What it still
    /// writes is not read any more.
    pub async fn terminate(&mut self, deadline: Instant) -> Option<Exit> {
        self.tree.terminate();
        self.wire.read_rest();
        timeout_at(deadline, self.tree.wait()).await.ok()
    }

    /// Ends it with everything that it has started, soon. Returns why what was made for it could not be removed.
    pub async fn end(self) -> Option<String> {
        let Self { mut wire, tree, sandbox, keep, .. } = self;
        wire.hang_up();
        tree.end_within(GRACE).await;
        if keep {
            sandbox.keep();
            return None;
        }
        sandbox.remove().err().map(|error| error.to_string())
    }
}

impl std::fmt::Debug for Peer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Peer").field("sandbox", &self.sandbox).finish_non_exhaustive()
    }
}
