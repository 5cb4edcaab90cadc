//! A running agent that exchanges raw lines.
//!
//! The lines are not interpreted here.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use super::options::{HandshakeOptions, SetupError, close};
use super::wire::{Lines, Silence, Wait, Wire};
use acp_registry_host::process::{Exit, LaunchDirectories, LaunchSpec, ProcessTree, RunDelays, SpawnError};

/// Maximum length of a line, in bytes. An agent may repeat a long request in its answer.
const LINE: usize = 4 << 20;

/// Time for an agent to exit by itself when it is no longer needed.
const GRACE: Duration = Duration::from_millis(100);

/// A started agent. Dropping it kills all its processes, and removes its sandbox.
pub struct Peer {
    wire: Wire,
    tree: ProcessTree,
    // Declared after the tree, so that it is dropped later.
    sandbox: LaunchDirectories,
    keep: bool,
    heard: VecDeque<Vec<u8>>,
}

/// Why an agent could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The setup failed, which is not the agent's fault.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// The system could not start the program.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
}

impl Peer {
    /// Starts an agent in its own sandbox below [`HandshakeOptions::temporary`]. Requires a tokio runtime with the IO and time
    /// drivers.
    ///
    /// # Errors
    /// Returns [`StartError`] if the setup fails or the program cannot be started.
    pub async fn start(launch: &LaunchSpec, options: &HandshakeOptions) -> Result<Self, StartError> {
        let sandbox = options.sandbox()?;
        let (tree, pipes) = ProcessTree::start(launch, &sandbox).await?;
        let wire = Wire::new(pipes, Lines::up_to(LINE), None);
        Ok(Self { wire, tree, sandbox, keep: options.keep, heard: VecDeque::new() })
    }

    /// The directory of its sandbox.
    #[must_use]
    pub fn directory(&self) -> &Path {
        self.sandbox.path()
    }

    /// An empty directory in the sandbox, for sessions.
    #[must_use]
    pub fn work(&self) -> PathBuf {
        self.sandbox.work()
    }

    /// Writes bytes to its stdin, unchanged. Returns whether they were accepted before the deadline. A few messages are
    /// accepted even if the agent reads nothing.
    pub async fn send(&mut self, bytes: Vec<u8>, deadline: Instant) -> bool {
        matches!(timeout_at(deadline, self.wire.outgoing.send(bytes)).await, Ok(Ok(())))
    }

    /// The next line of its stdout, without the line end.
    ///
    /// # Errors
    /// Returns [`Silence`] if there is none before the deadline, which moves by the time for which the agent waits for a
    /// processor, up to six times the wait.
    pub async fn line(&mut self, deadline: Instant) -> Result<Vec<u8>, Silence> {
        loop {
            if let Some(line) = self.heard.pop_front() {
                return Ok(line);
            }
            self.heard = self.wire.lines(&mut self.tree, deadline).await?.into();
        }
    }

    /// How long its threads have waited for a processor.
    #[must_use]
    pub fn run_delays(&self) -> RunDelays {
        self.tree.run_delays()
    }

    /// Whether a wait for it is over.
    pub fn is_over(&self, wait: &mut Wait) -> bool {
        wait.look(Instant::now(), || self.tree.run_delays()).is_some()
    }

    /// The last part of what its stderr has so far.
    #[must_use]
    pub fn stderr_so_far(&self) -> String {
        self.wire.stderr_so_far()
    }

    /// The last part of its stderr. Waits briefly for output in transit.
    pub async fn stderr(&mut self) -> String {
        self.wire.stderr().await
    }

    /// Closes its stdin, and waits for it to exit, longer while it waits for a processor. Its further output is discarded.
    pub async fn close_input(&mut self, deadline: Instant) -> Option<Exit> {
        self.wire.hang_up();
        self.wire.exit(&mut self.tree, deadline).await
    }

    /// Sends SIGTERM, on systems with signals, to the agent and all processes that it has started, and waits for the
    /// agent to exit. Its further output is discarded.
    pub async fn terminate(&mut self, deadline: Instant) -> Option<Exit> {
        self.tree.terminate();
        self.wire.read_rest();
        self.wire.exit(&mut self.tree, deadline).await
    }

    /// Ends the agent and all processes that it has started. Returns why its sandbox could not be removed, if so.
    pub async fn end(self) -> Option<String> {
        let Self { mut wire, tree, sandbox, keep, .. } = self;
        wire.hang_up();
        tree.end_within(GRACE).await;
        close(sandbox, keep)
    }
}

impl std::fmt::Debug for Peer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Peer").field("sandbox", &self.sandbox).finish_non_exhaustive()
    }
}
