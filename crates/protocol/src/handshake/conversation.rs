//! A conversation with an agent, from its start to its end.

use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::answer::Handshake;
use super::connection::{Connection, Relay, explain};
use super::message::{Body, Id, Response};
use super::options::{HandshakeOptions, SetupError, close};
use super::outcome::{Outcome, Timing};
use super::probe::Probe;
use super::verdict::{FailReason, HandshakeFailure, Verdict};
use super::warnings::Unasked;
use super::wire::Listener;
use super::{message, requests};
use acp_registry_host::process::{LaunchDirectories, LaunchSpec, ProcessTree};
use acp_registry_plan::text::quote;

/// The id of `initialize`, the first request.
const ID: u64 = 1;

/// A started agent.
///
/// Dropping it kills all its processes, and removes its sandbox.
pub struct Conversation {
    outcome: Outcome,
    connection: Connection,
    tree: ProcessTree,
    // Declared after the tree, so that it is dropped later.
    sandbox: LaunchDirectories,
    keep: bool,
    started: Instant,
    next_id: u64,
}

/// How the agent has answered one request of a conversation, such as to sign in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestResult {
    /// The outcome.
    pub probe: Probe,
    /// A message about the outcome, unless the request succeeded. Safe to print.
    pub message: Option<String>,
}

/// Why a conversation could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The setup failed, which is not the agent's fault.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// The handshake failed, and the agent was ended.
    #[error("{}", .0.message.as_deref().unwrap_or("the agent does not answer"))]
    Agent(Box<Outcome>),
}

impl Conversation {
    /// Starts an agent, which must answer `initialize` within [`HandshakeOptions::timeout`]. `listener` receives its stderr.
    ///
    /// Authentication methods are not judged. Requires a tokio runtime with the IO and time drivers.
    ///
    /// # Errors
    /// Returns [`OpenError`] if the setup or the handshake fails.
    pub async fn open(
        launch: &LaunchSpec,
        options: &HandshakeOptions,
        listener: Option<Listener>,
    ) -> Result<Self, OpenError> {
        let mut conversation = Self::start(launch, options, listener).await?;
        match conversation.initialize(options).await {
            Ok(()) => Ok(conversation),
            Err(failure) if [FailReason::NoAuthMethods, FailReason::NoSupportedAuthType].contains(&failure.reason) => {
                Ok(conversation)
            }
            Err(failure) => Err(OpenError::Agent(Box::new(conversation.end(Err(failure)).await))),
        }
    }

    pub(super) async fn start(
        launch: &LaunchSpec,
        options: &HandshakeOptions,
        listener: Option<Listener>,
    ) -> Result<Self, OpenError> {
        let started = Instant::now();
        let mut outcome = Outcome {
            verdict: Verdict::Error,
            reason: None,
            message: None,
            handshake: Handshake::default(),
            timing: Timing { start_to_response: None, total: Duration::ZERO },
            exit: None,
            stderr_tail: String::new(),
            isolation: launch.isolation.as_str(),
            left: None,
            is_flaky: false,
        };
        let sandbox = options.sandbox()?;
        match ProcessTree::start(launch, &sandbox).await {
            Ok((tree, pipes)) => {
                outcome.isolation = tree.isolation();
                let connection = Connection::new(pipes, listener);
                let keep = options.keep;
                Ok(Self { outcome, connection, tree, sandbox, keep, started, next_id: ID + 1 })
            }
            Err(error) => {
                outcome.judge(Err(HandshakeFailure::new(FailReason::SpawnFailed, error.to_string())));
                outcome.left = close(sandbox, options.keep);
                outcome.timing.total = started.elapsed();
                Err(OpenError::Agent(Box::new(outcome)))
            }
        }
    }

    /// Sends the first request, and judges its response.
    pub(super) async fn initialize(&mut self, options: &HandshakeOptions) -> Result<(), HandshakeFailure> {
        let (connection, outcome) = (&mut self.connection, &mut self.outcome);
        connection.send(ID, "initialize", &message::initialize(options.protocol_version));
        let reply = connection.response(&mut self.tree, &[ID], self.started + options.timeout).await;
        if reply.is_ok() {
            outcome.timing.start_to_response = Some(self.started.elapsed());
        }
        let unasked = std::mem::take(&mut connection.unasked);
        let judgement = match reply {
            Err(silence) => Err(explain(connection, silence, (ID, "initialize"), options.timeout).await),
            Ok((_, response)) => result(&response).and_then(|result| {
                let (handshake, judgement) = Handshake::read(&result, options.protocol_version);
                outcome.handshake = handshake;
                judgement
            }),
        };
        let handshake = &mut outcome.handshake;
        handshake.warnings.splice(0..0, unasked.warnings("before the response"));
        if judgement.is_ok() && connection.stray.take().is_some() {
            handshake.warnings.push("wrote an answer that belongs to no request".to_owned());
        }
        count(handshake, &unasked);
        judgement
    }

    /// Sends requests for everything that the agent advertises. `limit` is the longest silence to wait for.
    pub(super) async fn probe(&mut self, limit: Duration) {
        let (connection, handshake) = (&mut self.connection, &mut self.outcome.handshake);
        requests::run(connection, &mut self.tree, handshake, &self.sandbox.work(), limit).await;
        handshake.warnings.extend(connection.unasked.warnings("after the response"));
    }

    /// How long the agent took to answer `initialize`.
    pub(super) fn start_to_response(&self) -> Option<Duration> {
        self.outcome.timing.start_to_response
    }

    /// The agent's response to `initialize`.
    #[must_use]
    pub fn handshake(&self) -> &Handshake {
        &self.outcome.handshake
    }

    /// Sends lines that the user has typed to the agent, while it waits for them.
    #[must_use]
    pub fn relay(&self) -> Relay {
        self.connection.relay()
    }

    /// Requests that the agent signs the user in with one of its methods, and waits for the result.
    pub async fn authenticate(&mut self, method: &str, limit: Duration) -> RequestResult {
        self.ask(message::authenticate(self.version(), method), limit).await
    }

    /// Requests that the agent signs the user out. Only for agents with the feature `auth/logout`.
    pub async fn log_out(&mut self, limit: Duration) -> RequestResult {
        self.ask(message::log_out(self.version()), limit).await
    }

    /// Requests a new session in an empty directory.
    pub async fn new_session(&mut self, limit: Duration) -> RequestResult {
        let params = message::in_directory(&self.sandbox.work());
        self.ask(("session/new", params), limit).await
    }

    fn version(&self) -> i64 {
        self.outcome.handshake.protocol_version.unwrap_or(1)
    }

    async fn ask(&mut self, (method, params): (&'static str, Value), limit: Duration) -> RequestResult {
        let id = self.next_id;
        self.next_id += 1;
        // An earlier stray message does not belong to this request.
        self.connection.stray = None;
        self.connection.send(id, method, &params);
        let response = self.connection.response(&mut self.tree, &[id], Instant::now() + limit).await;
        let (probe, message) = match response.map(|(_, response)| response.body()) {
            Ok(Ok(Body::Result(_))) => return RequestResult { probe: Probe::Ok, message: None },
            Ok(Ok(Body::Error(error))) => {
                (Probe::of(&error), format!("the agent answers {} with {}", quote(method), error.describe()))
            }
            Ok(Err(problem)) => (Probe::Error, format!("the response to {} {problem}", quote(method))),
            Err(silence) => {
                let failure = explain(&mut self.connection, silence, (id, method), limit).await;
                let probe = if failure.reason == FailReason::Timeout { Probe::Timeout } else { Probe::Error };
                (probe, failure.message)
            }
        };
        RequestResult { probe, message: Some(message) }
    }

    /// Ends the agent and all processes that it has started.
    pub async fn close(self) -> Outcome {
        self.end(Ok(())).await
    }

    pub(super) async fn end(self, judgement: Result<(), HandshakeFailure>) -> Outcome {
        let Self { mut outcome, mut connection, tree, sandbox, keep, started, next_id: _ } = self;
        let handshake = &mut outcome.handshake;
        count(handshake, &connection.unasked);
        if handshake.requests.keys().any(|method| method.starts_with("elicitation/")) {
            handshake.features.observe("elicitation");
        }
        connection.wire.hang_up();
        let ending = tree.end().await;
        outcome.exit = ending.exit;
        outcome.stderr_tail = connection.wire.stderr().await;
        let warnings = &mut outcome.handshake.warnings;
        if ending.left_behind > 0 {
            warnings.push(format!("left {} behind when it ended", processes(ending.left_behind)));
        }
        if ending.survivors > 0 {
            warnings.push(format!("{} could not be ended", processes(ending.survivors)));
        }
        outcome.judge(judgement);
        outcome.left = close(sandbox, keep);
        outcome.timing.total = started.elapsed();
        outcome
    }
}

impl std::fmt::Debug for Conversation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Conversation").field("outcome", &self.outcome).finish_non_exhaustive()
    }
}

fn count(handshake: &mut Handshake, unasked: &Unasked) {
    for (method, number) in &unasked.notifications {
        *handshake.notifications.entry(method.clone()).or_default() += number;
    }
    for (method, number) in &unasked.requests {
        *handshake.requests.entry(method.clone()).or_default() += number;
    }
}

fn processes(number: usize) -> String {
    if number == 1 { "1 process".to_owned() } else { format!("{number} processes") }
}

/// The `result` of a response to `initialize`.
fn result(response: &Response) -> Result<Value, HandshakeFailure> {
    let malformed =
        |problem: &str| HandshakeFailure::new(FailReason::InvalidResponse, format!("the response {problem}"));
    if response.id(ID) == Id::AsText {
        return Err(malformed(&format!("has the id `\"{ID}\"`, a string, where the request has the number {ID}")));
    }
    match response.body() {
        Err(problem) => Err(malformed(&problem)),
        Ok(Body::Error(error)) => Err(HandshakeFailure::new(
            FailReason::AgentError,
            format!("the agent answers `initialize` with {}", error.describe()),
        )),
        Ok(Body::Result(result)) => Ok(result),
    }
}
