//! The pipes of a running agent: bytes in, lines out, whatever they say.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::ChildStdout;
use tokio::select;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};

use super::lines::{Lines, Overflow};
use super::spoken::{Listener, Spoken};
use acp_registry_core::sys::process::{Exit, Pipes, Tail, Tree};

/// How much is read at once, in bytes.
const CHUNK: usize = 64 << 10;

/// How many messages may wait for an agent that does not read.
const OUTGOING: usize = 64;

/// How long the other signs of an end are waited for after the first: what is still in the pipe, or the exit code.
const REST: Duration = Duration::from_millis(500);

/// How long stderr is waited for after the end.
const LAST_WORDS: Duration = Duration::from_millis(100);

/// How long after the beginning of a line its end is waited for before it is told.
const PAUSE: Duration = Duration::from_millis(100);

/// Why there is no further line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Silence {
    /// The time is up.
    Timeout,
    /// The program has ended.
    Exited(Exit),
    /// The program has closed its stdout, and lives on.
    Closed,
    /// The program wrote more than it may.
    Overflow(Overflow),
}

/// The pipes of a running agent.
pub(super) struct Wire {
    stdout: Option<ChildStdout>,
    lines: Lines,
    has_open_end: bool,
    overflow: Option<Overflow>,
    exit: Option<Exit>,
    /// When the end is reported, once there was a sign of it.
    over_at: Option<Instant>,
    pub(super) outgoing: mpsc::Sender<Vec<u8>>,
    stderr: Arc<Mutex<Tail>>,
    /// Ends with the agent's stderr.
    stderr_task: JoinSet<()>,
    /// Holds the agent's stdin.
    stdin_task: JoinSet<()>,
    /// Reads what is not wanted any more.
    rest_task: JoinSet<()>,
}

impl Wire {
    pub(super) fn new(pipes: Pipes, lines: Lines, listener: Option<Listener>) -> Self {
        let Pipes { mut stdin, stdout, stderr } = pipes;
        let (outgoing, mut messages) = mpsc::channel::<Vec<u8>>(OUTGOING);
        let mut stdin_task = JoinSet::new();
        stdin_task.spawn(async move {
            while let Some(message) = messages.recv().await {
                // An agent that has closed its stdin may still answer.
                if stdin.write_all(&message).await.is_err() || stdin.flush().await.is_err() {
                    break;
                }
            }
            // Keeps the pipe open: many agents end at once when it closes.
            while messages.recv().await.is_some() {}
        });
        let tail = Arc::new(Mutex::new(Tail::default()));
        let mut stderr_task = JoinSet::new();
        stderr_task.spawn(listen(stderr, listener.map(Spoken::new), tail.clone()));
        Self {
            stdout: Some(stdout),
            lines,
            has_open_end: false,
            overflow: None,
            exit: None,
            over_at: None,
            outgoing,
            stderr: tail,
            stderr_task,
            stdin_task,
            rest_task: JoinSet::new(),
        }
    }

    /// The next lines, at least one.
    pub(super) async fn lines(&mut self, tree: &mut Tree, deadline: Instant) -> Result<Vec<Vec<u8>>, Silence> {
        let mut buffer = Vec::new();
        loop {
            if let Some(overflow) = self.overflow {
                return Err(Silence::Overflow(overflow));
            }
            let until = self.over_at.map_or(deadline, |over| over.min(deadline));
            let is_closed = self.stdout.is_none();
            if (is_closed && self.exit.is_some()) || Instant::now() >= until {
                return Err(match self.exit {
                    Some(exit) => Silence::Exited(exit),
                    None if is_closed => Silence::Closed,
                    None => Silence::Timeout,
                });
            }
            buffer.resize(CHUNK, 0);
            select! {
                read = read_some(&mut self.stdout, &mut buffer) => {
                    let lines = match read {
                        0 => self.close(),
                        length => self.lines.push(&buffer[..length]).unwrap_or_else(|overflow| {
                            self.overflow = Some(overflow);
                            Vec::new()
                        }),
                    };
                    if !lines.is_empty() {
                        return Ok(lines);
                    }
                }
                exit = tree.wait(), if self.exit.is_none() => {
                    self.exit = Some(exit);
                    self.over_at.get_or_insert_with(|| Instant::now() + REST);
                }
                () = sleep_until(until) => {}
            }
        }
    }

    /// The agent will write no more: its last line, where that has no end.
    fn close(&mut self) -> Vec<Vec<u8>> {
        self.stdout = None;
        self.over_at.get_or_insert_with(|| Instant::now() + REST);
        let rest = self.lines.finish();
        if rest.is_empty() {
            return Vec::new();
        }
        self.has_open_end = true;
        vec![rest]
    }

    /// Whether the last line had no end; told once.
    pub(super) fn take_open_end(&mut self) -> bool {
        std::mem::take(&mut self.has_open_end)
    }

    /// What the agent has begun to write, and not ended.
    pub(super) fn unfinished(&self) -> &[u8] {
        self.lines.rest()
    }

    /// The end of what an agent that has ended had written to stderr. What is under way is waited for a moment.
    pub(super) async fn stderr(&mut self) -> String {
        let _ = timeout(LAST_WORDS, self.stderr_task.join_next()).await;
        self.stderr.lock().unwrap_or_else(PoisonError::into_inner).text()
    }

    /// Closes the agent's stdin. What it still writes is read and forgotten.
    pub(super) fn hang_up(&mut self) {
        self.stdin_task.abort_all();
        self.read_rest();
    }

    /// Reads and forgets what the agent still writes, so that it does not wait for a reader.
    pub(super) fn read_rest(&mut self) {
        if let Some(stdout) = self.stdout.take() {
            self.rest_task.spawn(drain(stdout, |_| ()));
        }
    }
}

/// Reads a piece; 0 at the end. Waits for ever where there is nothing to read from.
async fn read_some(stdout: &mut Option<ChildStdout>, buffer: &mut [u8]) -> usize {
    match stdout {
        // An error of a pipe is as good as its end.
        Some(stdout) => stdout.read(buffer).await.unwrap_or(0),
        None => std::future::pending().await,
    }
}

/// Reads to the end of stderr, keeps its tail and tells what comes.
async fn listen(mut stderr: impl AsyncRead + Unpin, mut spoken: Option<Spoken>, tail: Arc<Mutex<Tail>>) {
    let mut buffer = vec![0; CHUNK];
    loop {
        let read = stderr.read(&mut buffer);
        let read = match spoken.as_mut().filter(|spoken| spoken.is_unfinished()) {
            None => read.await,
            Some(spoken) => {
                let Ok(read) = timeout(PAUSE, read).await else {
                    spoken.pause();
                    continue;
                };
                read
            }
        };
        let Ok(length @ 1..) = read else { return };
        tail.lock().unwrap_or_else(PoisonError::into_inner).push(&buffer[..length]);
        if let Some(spoken) = &mut spoken {
            spoken.push(&buffer[..length]);
        }
    }
}

/// Reads to the end.
async fn drain(mut pipe: impl AsyncRead + Unpin, mut keep: impl FnMut(&[u8])) {
    let mut buffer = vec![0; CHUNK];
    while let Ok(length @ 1..) = pipe.read(&mut buffer).await {
        keep(&buffer[..length]);
    }
}
