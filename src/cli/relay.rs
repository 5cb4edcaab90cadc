//! Relays an agent's output and the user's input while the user signs in.

use std::io::{self, BufRead as _, Read as _};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;

use acp_registry::handshake::{Conversation, Listener};

use super::choose::may_ask;
use super::ui::Ui;

/// The longest line that is relayed, in bytes.
const LINE: u64 = 4096;

/// Relays between agent and user while it is switched on.
#[derive(Clone, Default)]
pub(super) struct Relay(Arc<(Mutex<Heard>, Condvar)>);

#[derive(Default)]
struct Heard {
    is_on: bool,
    /// Whether the agent has printed anything since the relay was switched on.
    has_spoken: bool,
}

impl Relay {
    /// Returns a listener that shows the agent's output while the relay is on.
    pub(super) fn listener(&self) -> Listener {
        let Self(shared) = self.clone();
        Arc::new(move |line: &str| {
            let mut heard = shared.0.lock().unwrap_or_else(PoisonError::into_inner);
            if heard.is_on {
                Ui::said(line);
                heard.has_spoken = true;
                shared.1.notify_all();
            }
        })
    }

    /// Switches the relay on. On a terminal, each line that the user types is sent to the agent's stdin once the agent
    /// has printed something.
    pub(super) fn begin(&self, conversation: &Conversation) {
        let Self(shared) = self.clone();
        shared.0.lock().unwrap_or_else(PoisonError::into_inner).is_on = true;
        if !may_ask() {
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
    pub(super) fn end(&self) {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner).is_on = false;
    }
}

/// Reads one line of stdin without its line ending; `None` at end of file.
fn typed() -> Option<String> {
    let mut line = Vec::new();
    let read = io::stdin().lock().take(LINE).read_until(b'\n', &mut line).ok()?;
    (read > 0).then(|| String::from_utf8_lossy(&line).trim_end().to_owned())
}
