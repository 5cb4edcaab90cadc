//! The conversation with a running agent. No behavior of the agent can make a call exceed its deadline.

use std::collections::VecDeque;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::message::{self, Id, Message, Response};
use super::verdict::{FailReason, HandshakeFailure};
use super::warnings::Unasked;
use super::wire::{LINE, Lines, Listener, MESSAGES, Overflow, Silence, Spoken, TOTAL, Wire};
use acp_registry_host::cause;
use acp_registry_host::process::{Pipes, ProcessTree, Tail};
use acp_registry_plan::text::quote;

const BOM: &[u8] = "\u{feff}".as_bytes();

/// A response that belongs to no request.
#[derive(Debug, Clone)]
pub(super) enum Stray {
    /// An error without the id of a request.
    Error(String),
    /// An unknown id, as written.
    Id(String),
}

/// The messages of a running agent.
pub(super) struct Connection {
    pub(super) wire: Wire,
    is_at_start: bool,
    received: VecDeque<Message>,
    /// The last part of its stdout that is not JSON-RPC.
    noise: Tail,
    pub(super) unasked: Unasked,
    pub(super) stray: Option<Stray>,
    /// Whether it has written messages in an array.
    has_array: bool,
    /// Passes on the agent's other output on stdout, which is meant for people.
    told: Option<Spoken>,
}

/// Passes the user's typed answers to an agent that asks for them.
#[derive(Debug, Clone)]
pub struct Relay(mpsc::Sender<Vec<u8>>);

impl Relay {
    /// Writes a line to the agent's stdin, unchanged. Returns whether the agent still runs and reads.
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
            has_array: false,
            told: listener.map(Spoken::new),
        }
    }

    /// Writes lines to the agent outside the protocol.
    pub(super) fn relay(&self) -> Relay {
        Relay(self.wire.outgoing.clone())
    }

    /// Sends a request. If the agent does not read it, the request is lost and stays unanswered.
    pub(super) fn send(&mut self, id: u64, method: &str, params: &Value) {
        let _ = self.wire.outgoing.try_send(message::request(id, method, params));
    }

    /// Waits for the response to one of these requests. Other messages before it are answered or counted.
    pub(super) async fn response(
        &mut self,
        tree: &mut ProcessTree,
        waiting: &[u64],
        deadline: Instant,
    ) -> Result<(u64, Response), Silence> {
        for _ in 0..MESSAGES {
            match self.receive(tree, deadline).await? {
                Message::Notification { method } => self.unasked.notification(&method),
                Message::Request { id, method } => {
                    self.unasked.request(&method);
                    if self.wire.outgoing.try_send(message::refusal(&id, &method)).is_err() {
                        self.unasked.unanswered += 1;
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
            (Id::Missing, Some(error)) => Stray::Error(error.describe()),
            (Id::Missing, None) => Stray::Id("null".to_owned()),
            (Id::Other(id), _) => Stray::Id(id),
            (Id::Same | Id::AsText, _) => Stray::Id("0".to_owned()),
        };
        self.stray.get_or_insert(stray);
    }

    /// Returns the next message.
    async fn receive(&mut self, tree: &mut ProcessTree, deadline: Instant) -> Result<Message, Silence> {
        loop {
            if let Some(message) = self.received.pop_front() {
                return Ok(message);
            }
            for line in self.wire.lines(tree, deadline).await? {
                self.take_line(&line);
            }
            if self.has_array && self.received.is_empty() {
                return Err(Silence::Array);
            }
            self.unasked.has_open_end |= std::mem::take(&mut self.wire.has_open_end);
        }
    }

    fn take_line(&mut self, mut line: &[u8]) {
        // Whatever comes after an array, and with it or later, the result is the same.
        if self.has_array {
            return;
        }
        if std::mem::take(&mut self.is_at_start)
            && let Some(rest) = line.strip_prefix(BOM)
        {
            self.unasked.has_bom = true;
            line = rest;
        }
        if line.trim_ascii().is_empty() {
            return;
        }
        if let Ok(message) = message::read(line) {
            self.received.extend([message]);
            return;
        }
        self.has_array |= message::is_array(line);
        self.unasked.noise(line);
        self.noise.push(line);
        self.noise.push(b"\n");
        if let Some(told) = &mut self.told {
            told.push(line);
            told.push(b"\n");
        }
    }
}

/// Why a request with this id and method was not answered.
pub(super) async fn explain(
    connection: &mut Connection,
    silence: Silence,
    (id, method): (u64, &str),
    timeout: Duration,
) -> HandshakeFailure {
    let (reason, message) = match (&connection.stray, silence) {
        (Some(Stray::Error(error)), _) => {
            (FailReason::AgentError, format!("the agent answers, without naming the request, with {error}"))
        }
        (Some(Stray::Id(stray)), _) => (
            FailReason::InvalidResponse,
            format!("the response has the id {}, where the request has the number {id}", quote(stray)),
        ),
        (None, Silence::Timeout) => {
            let mut message = format!("the agent did not answer {} within {} s", quote(method), timeout.as_secs_f64());
            let unfinished = connection.wire.unfinished();
            if message::read(unfinished).is_ok() {
                message.push_str("; it wrote a message without the line end that every message must have");
            } else if !unfinished.trim_ascii().is_empty() {
                let beginning = String::from_utf8_lossy(&unfinished[..unfinished.len().min(1000)]).into_owned();
                message.push_str(&format!("; it stopped in the middle of a line: {}", quote(&beginning)));
            }
            (FailReason::Timeout, message)
        }
        (None, Silence::Starved(starved)) => {
            let (method, starved) = (quote(method), starved.as_secs_f64().round());
            let why = format!("it did not answer {method}, but waited {starved} s for a processor");
            (FailReason::MachineBusy, format!("the machine was too busy to judge the agent: {why}"))
        }
        (None, Silence::Exited(exit)) => {
            let stderr = connection.wire.stderr().await;
            let mut message = format!("the agent ended before it answered ({})", exit.describe());
            // Some agents write error messages to stdout.
            if let Some(cause) = cause::quoted(&stderr).or_else(|| cause::quoted(&connection.noise.text())) {
                message.push_str(&format!(": {cause}"));
            }
            (FailReason::Exited, message)
        }
        (None, Silence::Closed) => {
            let message = "the agent closed its stdout without an answer, and went on running";
            (FailReason::InvalidResponse, message.to_owned())
        }
        (None, Silence::Overflow(overflow)) => {
            let what = match overflow {
                Overflow::Line => format!("more than {} MiB to stdout without a line end", LINE >> 20),
                Overflow::Total => format!("more than {} MiB to stdout without an answer", TOTAL >> 20),
                Overflow::Messages => format!("more than {MESSAGES} messages without an answer"),
            };
            (FailReason::InvalidResponse, format!("the agent wrote {what}"))
        }
        (None, Silence::Array) => {
            let message = "the agent wrote messages in an array, and each must be a line of its own";
            (FailReason::InvalidResponse, message.to_owned())
        }
    };
    HandshakeFailure { reason, message }
}
