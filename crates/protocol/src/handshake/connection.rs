//! The conversation with a running agent. Nothing that it does, or does not do, makes a call here outlast its deadline.

use std::collections::VecDeque;

use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::lines::{Lines, MESSAGES, Overflow};
use super::message::{self, Id, Message, Response};
use super::request;
use super::spoken::{Listener, Spoken};
use super::warnings::Unasked;
use super::wire::{Silence, Wire};
use acp_registry_core::sys::process::{Pipes, Tail, Tree};

const BOM: &[u8] = "\u{feff}".as_bytes();

/// Answers that belong to no request.
#[derive(Debug, Clone)]
pub(super) enum Stray {
    /// An error for a request that the agent could not name.
    Error(String),
    /// An id that was not used, as it was written.
    Id(String),
}

/// The messages of a running agent.
pub(super) struct Connection {
    wire: Wire,
    is_at_start: bool,
    received: VecDeque<Message>,
    /// The end of what it wrote to stdout that is not JSON-RPC.
    noise: Tail,
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
        Self {
            wire: Wire::new(pipes, Lines::default(), listener.clone()),
            is_at_start: true,
            received: VecDeque::new(),
            noise: Tail::default(),
            unasked: Unasked::default(),
            stray: None,
            told: listener.map(Spoken::new),
        }
    }

    /// What hands the agent lines as they are, beside the protocol.
    pub(super) fn relay(&self) -> Relay {
        Relay(self.wire.outgoing.clone())
    }

    /// Sends a request. One that the agent does not read is lost, and will go unanswered.
    pub(super) fn send(&mut self, id: u64, method: &str, params: &Value) {
        let _ = self.wire.outgoing.try_send(request::request(id, method, params));
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
                    if self.wire.outgoing.try_send(request::refusal(&id, &method)).is_err() {
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
        loop {
            if let Some(message) = self.received.pop_front() {
                return Ok(message);
            }
            for line in self.wire.lines(tree, deadline).await? {
                self.take_line(&line);
            }
            if self.wire.take_open_end() {
                self.unasked.open_end();
            }
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

    /// What the agent has begun to write, and not ended.
    pub(super) fn unfinished(&self) -> &[u8] {
        self.wire.unfinished()
    }

    /// The end of what an agent that has ended had written to stderr. What is under way is waited for a moment.
    pub(super) async fn stderr(&mut self) -> String {
        self.wire.stderr().await
    }

    /// The end of what the agent wrote to stdout that is not JSON-RPC.
    pub(super) fn noise(&mut self) -> String {
        self.noise.text()
    }

    /// Closes the agent's stdin. What it still writes is read and forgotten, so that it does not wait for a reader.
    pub(super) fn hang_up(&mut self) {
        self.wire.hang_up();
    }
}
