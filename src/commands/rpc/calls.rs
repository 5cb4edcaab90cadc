//! The calls in progress.

use std::collections::HashMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use acp_registry::host::process::{self, Orphans};
use serde_json::Value;
use tokio::sync::watch;

use crate::commands::rpc::message::{self, INVALID_REQUEST, Refusal};
use crate::commands::rpc::methods::{Effect, Method};
use acp_registry::failure::Failure;

/// The most calls at once.
const MOST: usize = 32;

/// How long calls may take to end once stdin has ended. Removing the files of an interrupted installation takes seconds.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

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
    /// The same of a call that may have opened a browser.
    has_signed_in: bool,
    orphans: Option<Orphans>,
    /// Whether the program ends, so that no call begins.
    is_ending: bool,
}

struct RunningCall {
    id: Value,
    cancel: watch::Sender<bool>,
    effect: Effect,
}

impl Calls {
    pub(crate) fn new() -> Self {
        let state = CallsState {
            calls: HashMap::new(),
            unanswered: 0,
            has_started: false,
            has_signed_in: false,
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
        state.calls.insert(id.to_string(), RunningCall { id: id.clone(), cancel, effect: method.effect });
        state.unanswered += 1;
        Ok(is_cancelled)
    }

    /// Cancels a call. Without effect if it has ended.
    pub(crate) fn cancel(&self, id: &Value) {
        if let Some(running) = self.lock().calls.get(&id.to_string()) {
            running.cancel.send_replace(true);
        }
    }

    /// Makes the id of a call available again. Returns whether the call is still to be answered.
    pub(crate) fn free(&self, id: &Value) -> bool {
        self.lock().calls.remove(&id.to_string()).is_some()
    }

    /// Ends a call that is answered. With the last one, processes end that agents have left behind, unless a person has signed
    /// in meanwhile.
    pub(crate) fn leave(&self, method: &Method) {
        let mut state = self.lock();
        state.unanswered -= 1;
        state.has_started |= method.effect == Effect::Start;
        state.has_signed_in |= method.effect == Effect::SignIn;
        if state.unanswered == 0 {
            let has_started = std::mem::take(&mut state.has_started);
            if std::mem::take(&mut state.has_signed_in) {
                // Which of them is the person's browser is not known. From now on, all of them are kept.
                state.orphans = process::adopt_orphans();
            } else if has_started {
                let _ = state.orphans.take().map(Orphans::end);
                state.orphans = process::adopt_orphans();
            }
        }
        self.left.notify_all();
    }

    /// Cancels all calls except those that only read, and waits until none is left. Returns the answers to those that take longer.
    pub(crate) fn end(&self, patience: Duration) -> Vec<Refusal> {
        let mut state = self.lock();
        state.is_ending = true;
        for running in state.calls.values().filter(|running| running.effect != Effect::None) {
            running.cancel.send_replace(true);
        }
        let ended = self.left.wait_timeout_while(state, patience, |state| state.unanswered > 0);
        let (mut state, _) = ended.unwrap_or_else(PoisonError::into_inner);
        let failure = Failure::unable("the program has ended before the request");
        state.calls.drain().map(|(_, call)| Refusal::of(&call.id, message::command_error(&failure))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::rpc::methods::METHODS;
    use serde_json::json;

    #[test]
    fn each_call_is_answered_once_even_if_the_program_ends_before_it() {
        let calls = Calls::new();
        let list = METHODS.iter().find(|method| method.name == "list").unwrap();
        let (quick, slow) = (json!(1), json!("slow"));
        let _cancels = [&quick, &slow].map(|id| calls.begin(id, list).unwrap());
        assert!(calls.free(&quick));
        let left: Vec<Value> = calls.end(Duration::ZERO).into_iter().map(|refusal| refusal.id).collect();
        assert_eq!(left, std::slice::from_ref(&slow));
        assert!(!calls.free(&slow));
        assert!(calls.begin(&quick, list).is_err());
    }
}
