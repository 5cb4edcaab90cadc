//! Writes messages to stdout, on a thread of its own: a client that does not read must not keep the program from ending.

use std::collections::VecDeque;
use std::io::{self, Write as _};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use acp_registry::json::to_line;
use serde::Serialize;
use tokio::sync::watch;

use super::message::{Stream, hung_up};

/// The most messages that wait for the client. Calls with more wait with them.
const MOST: usize = 64;

/// The largest piece that is written at once, in bytes.
const PIECE: usize = 32 << 10;

/// How long a client may read nothing once the program ends.
const PATIENCE: Duration = Duration::from_secs(10);

/// The messages that the client has not read.
pub(crate) struct MessageQueue {
    state: Mutex<Outgoing>,
    changed: Condvar,
    /// Whether nothing more is written.
    closed: watch::Sender<bool>,
}

#[derive(Default)]
struct Outgoing {
    queue: VecDeque<String>,
    is_writing: bool,
    /// How often the client has read a piece or a line to its end.
    progress: u64,
    /// Whether the program ends.
    is_ending: bool,
    /// Why a message could not be written.
    error: Option<io::Error>,
}

impl MessageQueue {
    pub(crate) fn start() -> io::Result<Arc<Self>> {
        let output =
            Arc::new(Self { state: Mutex::default(), changed: Condvar::new(), closed: watch::Sender::new(false) });
        let writer = output.clone();
        thread::Builder::new().spawn(move || {
            while let Some(line) = writer.next() {
                if let Err(error) = writer.write(line.as_bytes()) {
                    writer.lock().error = Some(error);
                    return writer.close();
                }
            }
        })?;
        Ok(output)
    }

    /// Sends a message as one line. Waits for a client that does not read; one that has gone gets nothing more.
    pub(crate) fn send<T: Serialize>(&self, message: &T) {
        let line = format!("{}\n", to_line(message));
        let mut state = self.lock();
        while state.queue.len() >= MOST && !self.is_closed() {
            state = self.wait(state);
        }
        state.queue.push_back(line);
        self.changed.notify_all();
    }

    /// Is ready once the client has closed its end.
    pub(crate) async fn closed(&self) {
        let mut closed = self.closed.subscribe();
        tokio::select! {
            _ = closed.wait_for(|is_closed| *is_closed) => {}
            () = hung_up(Stream::Stdout) => self.close(),
        }
    }

    /// From now on, a client that reads nothing is not waited for.
    pub(crate) fn end(&self) {
        self.lock().is_ending = true;
        self.changed.notify_all();
    }

    /// Waits until everything is written, or the client has gone.
    pub(crate) fn finish(&self) -> io::Result<()> {
        let mut state = self.lock();
        while (state.is_writing || !state.queue.is_empty()) && !self.is_closed() {
            state = self.wait(state);
        }
        state.error.take().filter(|error| error.kind() != io::ErrorKind::BrokenPipe).map_or(Ok(()), Err)
    }

    fn lock(&self) -> MutexGuard<'_, Outgoing> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_closed(&self) -> bool {
        *self.closed.borrow()
    }

    fn close(&self) {
        // With the lock, so that a caller that is about to wait is woken.
        let _state = self.lock();
        self.closed.send_replace(true);
        self.changed.notify_all();
    }

    /// Waits for a change. While the program ends, a client that reads nothing counts as gone.
    fn wait<'a>(&self, state: MutexGuard<'a, Outgoing>) -> MutexGuard<'a, Outgoing> {
        if !state.is_ending {
            return self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let before = state.progress;
        let is_same = |state: &mut Outgoing| state.progress == before && !self.is_closed();
        let (state, time) =
            self.changed.wait_timeout_while(state, PATIENCE, is_same).unwrap_or_else(PoisonError::into_inner);
        if time.timed_out() {
            self.closed.send_replace(true);
            self.changed.notify_all();
        }
        state
    }

    /// The next line; `None` once nothing more is written.
    fn next(&self) -> Option<String> {
        let mut state = self.lock();
        state.is_writing = false;
        // Who waits for the end of a line may have seen its last piece already.
        state.progress += 1;
        self.changed.notify_all();
        loop {
            if self.is_closed() {
                return None;
            }
            if let Some(line) = state.queue.pop_front() {
                state.is_writing = true;
                return Some(line);
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn write(&self, line: &[u8]) -> io::Result<()> {
        for piece in line.chunks(PIECE) {
            io::stdout().write_all(piece)?;
            self.lock().progress += 1;
            self.changed.notify_all();
        }
        io::stdout().flush()
    }
}
