//! A call of a client of `acp-registry rpc`, for which a command runs.

use std::future::pending;
use std::io::{self, ErrorKind, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, ThreadId};

use acp_registry::failure::Failure;
use acp_registry::json::to_line;
use acp_registry::text::json_for_log;
use serde::Serialize;
use tokio::sync::watch;

use crate::documents::{Document, Event};
use crate::terminal::remedy::complete_document;

/// Receives the result and the events of the command in place of stdout and stderr, and can cancel it.
pub(crate) struct RpcCall {
    notify: Box<dyn Fn(&Event<'_>) + Send + Sync>,
    is_cancelled: watch::Receiver<bool>,
    answer: Mutex<Option<CallResult>>,
}

/// The document of the command.
pub(crate) struct CallResult {
    /// As one line of JSON.
    pub(crate) document: String,
    /// Its `error` member.
    pub(crate) error: Option<Failure>,
}

impl RpcCall {
    pub(crate) fn new(notify: Box<dyn Fn(&Event<'_>) + Send + Sync>, is_cancelled: watch::Receiver<bool>) -> Self {
        Self { notify, is_cancelled, answer: Mutex::default() }
    }

    /// Keeps the result of the command.
    pub(crate) fn answer<T: Serialize>(&self, document: &Document<'_, T>) {
        let answer = CallResult { document: to_line(document), error: document.error().cloned() };
        *self.answer.lock().unwrap_or_else(PoisonError::into_inner) = Some(answer);
    }

    /// Takes the result of the command, if it had one.
    pub(crate) fn take(&self) -> Option<CallResult> {
        self.answer.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Is ready once the client has cancelled the call.
    pub(crate) async fn cancelled(&self) {
        if self.is_cancelled.clone().wait_for(|is_cancelled| *is_cancelled).await.is_err() {
            pending::<()>().await;
        }
    }
}

/// The receiver of a command's events.
#[derive(Clone)]
pub(crate) enum EventSink {
    /// One line of JSON per event.
    Stderr,
    Call(Arc<RpcCall>),
}

impl EventSink {
    pub(crate) fn send(&self, event: &Event<'_>) {
        match self {
            Self::Stderr => {
                let line = complete_document(event).map_or_else(|| to_line(event), |event| to_line(&event));
                write_stderr(&format!("{}\n", json_for_log(&line)));
            }
            Self::Call(call) => (call.notify)(event),
        }
    }
}

/// The numbers of writes to stdout and stderr that have begun, and that are done.
pub(crate) static WRITES: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];

/// Writes to stdout or stderr. If that blocks, a signal ends the program nevertheless.
pub(crate) fn writing<T>(write: impl FnOnce() -> T) -> T {
    WRITES[0].fetch_add(1, Ordering::SeqCst);
    let done = write();
    WRITES[1].fetch_add(1, Ordering::SeqCst);
    done
}

/// Whether a result was begun. Locked while one is written: a document stays whole.
static RESULT: Mutex<bool> = Mutex::new(false);

/// The thread that ends the program, if another one than that of `main` does. No other may begin a result then.
static ENDING: OnceLock<ThreadId> = OnceLock::new();

/// Leaves the result to this thread, which is about to end the program. False if one was begun, which is complete then.
pub(crate) fn take_result() -> bool {
    // There is one such thread.
    let _ = ENDING.set(thread::current().id());
    !*RESULT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits until this thread may write a result, which is for as long as it keeps what is returned.
pub(crate) fn begin_result() -> MutexGuard<'static, bool> {
    let mut is_begun = RESULT.lock().unwrap_or_else(PoisonError::into_inner);
    if ENDING.get().is_some_and(|thread| *thread != thread::current().id()) {
        drop(is_begun);
        loop {
            thread::park();
        }
    }
    *is_begun = true;
    is_begun
}

/// Writes a result to stdout.
pub(crate) fn write_result(text: &str) -> Result<(), Failure> {
    match writing(|| io::stdout().write_all(text.as_bytes()).and_then(|()| io::stdout().flush())) {
        // The reader closed the pipe.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        done => done.map_err(|error| Failure::unable(format!("cannot write the result: {error}"))),
    }
}

pub(crate) fn write_stderr(text: &str) {
    // An error of stderr cannot be reported.
    let _ = writing(|| io::stderr().write_all(text.as_bytes()));
}

/// Writes to stdout before [`Ui`](super::ui::Ui) exists.
pub(crate) fn write_stdout(text: &str) {
    let _ = io::stdout().write_all(text.as_bytes());
}
