//! What an agent says while a person signs in, and what the person types in answer.

use std::io::{self, BufRead as _, Read as _};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;

use acp_registry::handshake::{Conversation, Listener};

use super::choose::may_ask;
use super::ui::Ui;

/// The longest line that is handed on, in bytes.
const LINE: u64 = 4096;

/// Lets the person hear the agent, from when that is asked for until it is over.
#[derive(Clone, Default)]
pub(super) struct Relay(Arc<(Mutex<Heard>, Condvar)>);

#[derive(Default)]
struct Heard {
    is_on: bool,
    /// Whether the agent has said anything since.
    has_spoken: bool,
}

impl Relay {
    /// Shows what the agent says, if it is to be heard.
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

    /// Lets the person hear the agent from now on and, at a terminal, answer: once it has said something, each line that
    /// is typed goes to its stdin.
    pub(super) fn begin(&self, conversation: &Conversation) {
        let Self(shared) = self.clone();
        shared.0.lock().unwrap_or_else(PoisonError::into_inner).is_on = true;
        if !may_ask() {
            return;
        }
        let agent = conversation.relay();
        // Nothing can wake a thread that reads from a terminal: it ends with the process.
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

    /// The person hears nothing more.
    pub(super) fn end(&self) {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner).is_on = false;
    }
}

/// One line of stdin without its end; `None` when there are no more.
fn typed() -> Option<String> {
    let mut line = Vec::new();
    let read = io::stdin().lock().take(LINE).read_until(b'\n', &mut line).ok()?;
    (read > 0).then(|| String::from_utf8_lossy(&line).trim_end().to_owned())
}
