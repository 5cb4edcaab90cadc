//! Relays an agent's output and the user's input while the user signs in.

use std::io::{self, BufRead as _, Read as _};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;

use acp_registry::handshake::{Conversation, Listener};
use acp_registry::ops;
use acp_registry::text::printable;

use crate::documents::Event;
use crate::terminal::call::EventSink;
use crate::terminal::streams::write_stderr;
use crate::terminal::ui::Ui;

/// The longest line that is relayed, in bytes.
const LINE: u64 = 4096;

/// Relays between agent and user while it is switched on.
pub(crate) struct Relay {
    shared: Arc<(Mutex<RelayState>, Condvar)>,
    /// The receiver of the agent's output; stderr if there is none.
    events: Option<EventSink>,
    may_ask: bool,
}

#[derive(Default)]
struct RelayState {
    is_on: bool,
    /// Whether the agent has printed anything since the relay was switched on.
    has_spoken: bool,
}

impl Relay {
    pub(crate) fn new(ui: &Ui) -> Self {
        Self { shared: Arc::default(), events: ui.events(), may_ask: ui.may_ask() }
    }
}

impl ops::Relay for Relay {
    /// Returns a listener that shows the agent's output while the relay is on.
    fn listener(&self) -> Listener {
        let (shared, events) = (self.shared.clone(), self.events.clone());
        Arc::new(move |line: &str| {
            let mut heard = shared.0.lock().unwrap_or_else(PoisonError::into_inner);
            if heard.is_on {
                match &events {
                    Some(events) => events.send(&Event::Text { message: &printable(line) }),
                    None => write_stderr(&format!("  | {}\n", printable(line))),
                }
                heard.has_spoken = true;
                shared.1.notify_all();
            }
        })
    }

    /// Switches the relay on. On a terminal, each line that the user types is sent to the agent's stdin once the agent
    /// has printed something.
    fn begin(&self, conversation: &Conversation) {
        let shared = self.shared.clone();
        shared.0.lock().unwrap_or_else(PoisonError::into_inner).is_on = true;
        if !self.may_ask {
            return;
        }
        let agent = conversation.relay();
        // A blocking read of the terminal cannot be cancelled: the thread ends with the process.
        thread::spawn(move || {
            let heard = shared.0.lock().unwrap_or_else(PoisonError::into_inner);
            drop(shared.1.wait_while(heard, |heard| !heard.has_spoken));
            while let Some(line) = typed() {
                if !agent.say(&line) {
                    break;
                }
            }
        });
    }

    /// Switches the output of the agent off.
    fn end(&self) {
        self.shared.0.lock().unwrap_or_else(PoisonError::into_inner).is_on = false;
    }
}

/// Reads one line of stdin without its line ending; `None` at end of file.
fn typed() -> Option<String> {
    let mut line = Vec::new();
    let read = io::stdin().lock().take(LINE).read_until(b'\n', &mut line).ok()?;
    (read > 0).then(|| String::from_utf8_lossy(&line).trim_end().to_owned())
}
