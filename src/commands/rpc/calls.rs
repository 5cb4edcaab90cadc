//! The calls in progress.

use std::collections::HashMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use acp_registry::host::process::{self, Orphans};
use serde_json::Value;
use tokio::sync::watch;

use crate::commands::rpc::message::{self, INVALID_REQUEST, Refusal};
use crate::commands::rpc::methods::Method;
use acp_registry::failure::Failure;

/// The most calls at once.
const MOST: usize = 32;

/// How long calls may take to end once stdin has ended. Removing the files of an interrupted installation takes seconds.
const PATIENCE: Duration = Duration::from_mins(1);

/// The calls in progress.
pub(crate) struct Calls {
    state: Mutex<CallsState>,
    /// Is notified when a call ends.
    left: Condvar,
}

struct CallsState {
    /// By id as JSON text: `1` and `"1"` differ.
    calls: HashMap<String, RunningCall>,
    /// The number of calls that are not answered yet.
    unanswered: usize,
    /// Whether a call that may have started agents has ended since orphans were last ended.
    has_started: bool,
    orphans: Option<Orphans>,
    /// Whether the program ends, so that no call begins.
    is_ending: bool,
}

struct RunningCall {
    cancel: watch::Sender<bool>,
    only_reads: bool,
}

impl Calls {
    pub(crate) fn new() -> Self {
        let state = CallsState {
            calls: HashMap::new(),
            unanswered: 0,
            has_started: false,
            orphans: process::adopt_orphans(),
            is_ending: false,
        };
        Self { state: Mutex::new(state), left: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, CallsState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a call. Returns the signal to cancel it.
    pub(crate) fn begin(&self, id: &Value, method: &Method) -> Result<watch::Receiver<bool>, Refusal> {
        let mut state = self.lock();
        if state.calls.contains_key(&id.to_string()) {
            // An answer with this id would be taken for that of the other request.
            let message = format!("a request with the id {id} is in progress");
            return Err(Refusal::new(&Value::Null, INVALID_REQUEST, &message));
        }
        if state.is_ending {
            let failure = Failure::unable("the program is ending");
            return Err(Refusal::of(id, message::command_error(&failure)));
        }
        if state.unanswered >= MOST {
            let failure = Failure::unable(format!("{MOST} requests are in progress")).help("wait for an answer");
            return Err(Refusal::of(id, message::command_error(&failure)));
        }
        let (cancel, is_cancelled) = watch::channel(false);
        state.calls.insert(id.to_string(), RunningCall { cancel, only_reads: method.only_reads });
        state.unanswered += 1;
        Ok(is_cancelled)
    }

    /// Cancels a call. Without effect if it has ended.
    pub(crate) fn cancel(&self, id: &Value) {
        if let Some(running) = self.lock().calls.get(&id.to_string()) {
            running.cancel.send_replace(true);
        }
    }

    /// Makes the id of a call available again.
    pub(crate) fn free(&self, id: &Value) {
        self.lock().calls.remove(&id.to_string());
    }

    /// Ends a call that is answered. With the last one, processes end that agents have left behind.
    pub(crate) fn leave(&self, method: &Method) {
        let mut state = self.lock();
        state.unanswered -= 1;
        state.has_started |= !method.only_reads;
        if state.unanswered == 0 && std::mem::take(&mut state.has_started) {
            let _ = state.orphans.take().map(Orphans::end);
            state.orphans = process::adopt_orphans();
        }
        self.left.notify_all();
    }

    /// Cancels all calls except those that only read, and waits until none is left.
    pub(crate) fn end(&self) {
        let mut state = self.lock();
        state.is_ending = true;
        for running in state.calls.values().filter(|running| !running.only_reads) {
            running.cancel.send_replace(true);
        }
        let ended = self.left.wait_timeout_while(state, PATIENCE, |state| state.unanswered > 0);
        drop(ended);
    }
}
