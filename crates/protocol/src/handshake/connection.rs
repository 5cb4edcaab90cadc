//! The conversation with a running agent. Nothing that it does, or does not do, makes a call here outlast its deadline.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::ChildStdout;
use tokio::select;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};

use super::lines::{Lines, MESSAGES, Overflow};
use super::message::{self, Id, Message, Response};
use super::request;
use super::spoken::{Listener, Spoken};
use super::warnings::Unasked;
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

const BOM: &[u8] = "\u{feff}".as_bytes();

/// Why there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Silence {
    /// The time is up.
    Timeout,
    /// The program has ended.
    Exited(Exit),
    /// The program has closed its stdout, and lives on.
    Closed,
    /// The program wrote more than it may.
    Overflow(Overflow),
}

/// Answers that belong to no request.
#[derive(Debug, Clone)]
pub(super) enum Stray {
    /// An error for a request that the agent could not name.
    Error(String),
    /// An id that was not used, as it was written.
    Id(String),
}

/// The pipes of a running agent.
pub(super) struct Connection {
    stdout: Option<ChildStdout>,
    lines: Lines,
    is_at_start: bool,
    received: VecDeque<Message>,
    overflow: Option<Overflow>,
    exit: Option<Exit>,
    /// When the end is reported, once there was a sign of it.
    over_at: Option<Instant>,
    outgoing: mpsc::Sender<Vec<u8>>,
    stderr: Arc<Mutex<Tail>>,
    /// The end of what it wrote to stdout that is not JSON-RPC.
    noise: Tail,
    /// Ends with the agent's stderr.
    stderr_task: JoinSet<()>,
    /// Holds the agent's stdin.
    stdin_task: JoinSet<()>,
    /// Reads what is not wanted any more.
    rest_task: JoinSet<()>,
    pub(super) unasked: Unasked,
    pub(super) stray: Option<Stray>,
    /// Tells what the agent writes to stdout for people.
    told: Option<Spoken>,
}

/// Hands an agent that asks its person something what the person has typed.
#[derive(Debug, Clone)]
pub struct Relay(mpsc::Sender<Vec<u8>>);

impl Relay {
    /// Writes a line to the agent's stdin, as it is. Returns whether there is still an agent, and it reads.
    #[must_use]
    pub fn say(&self, line: &str) -> bool {
        self.0.try_send(format!("{line}\n").into_bytes()).is_ok()
    }
}

impl Connection {
    pub(super) fn new(pipes: Pipes, listener: Option<Listener>) -> Self {
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
        let keep = tail.clone();
        let told = listener.clone().map(Spoken::new);
        stderr_task.spawn(listen(stderr, listener.map(Spoken::new), keep));
        Self {
            stdout: Some(stdout),
            lines: Lines::default(),
            is_at_start: true,
            received: VecDeque::new(),
            overflow: None,
            exit: None,
            over_at: None,
            outgoing,
            stderr: tail,
            noise: Tail::default(),
            stderr_task,
            stdin_task,
            rest_task: JoinSet::new(),
            unasked: Unasked::default(),
            stray: None,
            told,
        }
    }

    /// What hands the agent lines as they are, beside the protocol.
    pub(super) fn relay(&self) -> Relay {
        Relay(self.outgoing.clone())
    }

    /// Sends a request. One that the agent does not read is lost, and will go unanswered.
    pub(super) fn send(&mut self, id: u64, method: &str, params: &Value) {
        let _ = self.outgoing.try_send(request::request(id, method, params));
    }

    /// Waits for the answer to one of these requests. What comes before it is answered or counted.
    pub(super) async fn response(
        &mut self,
        tree: &mut Tree,
        waiting: &[u64],
        deadline: Instant,
    ) -> Result<(u64, Response), Silence> {
        for _ in 0..MESSAGES {
            match self.receive(tree, deadline).await? {
                Message::Notification { method } => self.unasked.notification(&method),
                Message::Request { id, method } => {
                    self.unasked.request(&method);
                    if self.outgoing.try_send(request::refusal(&id, &method)).is_err() {
                        self.unasked.unanswered();
                    }
                }
                Message::Response(response) => {
                    let is_for = |id: &u64| matches!(response.id(*id), Id::Same | Id::AsText);
                    if let Some(id) = waiting.iter().copied().find(is_for) {
                        return Ok((id, response));
                    }
                    self.keep_stray(&response);
                }
            }
        }
        Err(Silence::Overflow(Overflow::Messages))
    }

    fn keep_stray(&mut self, response: &Response) {
        let stray = match (response.id(0), response.error()) {
            (Id::Nobody, Some(error)) => Stray::Error(error.describe()),
            (Id::Nobody, None) => Stray::Id("null".to_owned()),
            (Id::Other(id), _) => Stray::Id(id),
            (Id::Same | Id::AsText, _) => Stray::Id("0".to_owned()),
        };
        self.stray.get_or_insert(stray);
    }

    /// The next message.
    async fn receive(&mut self, tree: &mut Tree, deadline: Instant) -> Result<Message, Silence> {
        let mut buffer = Vec::new();
        loop {
            if let Some(message) = self.received.pop_front() {
                return Ok(message);
            }
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
                read = read_some(&mut self.stdout, &mut buffer) => match read {
                    0 => self.close(),
                    length => self.take(&buffer[..length]),
                },
                exit = tree.wait(), if self.exit.is_none() => {
                    self.exit = Some(exit);
                    self.over_at.get_or_insert_with(|| Instant::now() + REST);
                }
                () = sleep_until(until) => {}
            }
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        match self.lines.push(bytes) {
            Ok(lines) => lines.iter().for_each(|line| self.take_line(line)),
            Err(overflow) => self.overflow = Some(overflow),
        }
    }

    fn take_line(&mut self, mut line: &[u8]) {
        if std::mem::take(&mut self.is_at_start)
            && let Some(rest) = line.strip_prefix(BOM)
        {
            self.unasked.bom();
            line = rest;
        }
        if line.trim_ascii().is_empty() {
            return;
        }
        if let Ok(messages) = message::read(line) {
            self.received.extend(messages);
            return;
        }
        self.unasked.noise(line);
        self.noise.push(line);
        self.noise.push(b"\n");
        if let Some(told) = &mut self.told {
            told.push(line);
            told.push(b"\n");
        }
    }

    /// The agent will write no more.
    fn close(&mut self) {
        self.stdout = None;
        self.over_at.get_or_insert_with(|| Instant::now() + REST);
        let rest = self.lines.finish();
        if !rest.is_empty() {
            self.unasked.open_end();
            self.take_line(&rest);
        }
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

    /// The end of what the agent wrote to stdout that is not JSON-RPC.
    pub(super) fn noise(&mut self) -> String {
        self.noise.text()
    }

    /// Closes the agent's stdin. What it still writes is read and forgotten, so that it does not wait for a reader.
    pub(super) fn hang_up(&mut self) {
        self.stdin_task.abort_all();
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
