//! A conversation with an agent, from its start to its end.

use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::answer::Handshake;
use super::connection::{Connection, Relay};
use super::failure::{Failure, Reason, Verdict};
use super::message::{Body, Id, Response};
use super::options::{Options, SetupError};
use super::outcome::{Outcome, Timing};
use super::probe::Probe;
use super::probes;
use super::request;
use super::silence::explain;
use super::spoken::Listener;
use super::warnings::Unasked;
use acp_registry_core::sys::process::{Launch, Sandbox, Tree};
use acp_registry_core::text::quote;

/// The id of `initialize`, the first request.
const ID: u64 = 1;

/// An agent that was started.
///
/// Dropping it kills all its processes, and removes what was made for it.
pub struct Conversation {
    outcome: Outcome,
    connection: Connection,
    tree: Tree,
    // After the tree, so that it outlives it.
    sandbox: Sandbox,
    keep: bool,
    started: Instant,
    next_id: u64,
}

/// What an agent has said to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// What it came to.
    pub probe: Probe,
    /// The same as a sentence, unless the agent has done what it was asked for. Printable.
    pub message: Option<String>,
}

/// Why there is no conversation.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The agent cannot be blamed for it.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// The agent cannot be spoken to, and was ended.
    #[error("{}", .0.message.as_deref().unwrap_or("the agent does not answer"))]
    Agent(Box<Outcome>),
}

impl Conversation {
    /// Starts an agent, which has [`Options::timeout`] to answer `initialize`. `listener` hears what it writes to
    /// stderr.
    ///
    /// Whether a person can sign in is not judged. Needs a runtime of tokio with its IO and time drivers.
    ///
    /// # Errors
    /// [`OpenError`]
    pub async fn open(launch: &Launch, options: &Options, listener: Option<Listener>) -> Result<Self, OpenError> {
        let mut conversation = Self::start(launch, options, listener).await?;
        match conversation.initialize(options).await {
            Ok(()) => Ok(conversation),
            Err(failure) if [Reason::NoAuthMethods, Reason::NoSupportedAuthType].contains(&failure.reason) => {
                Ok(conversation)
            }
            Err(failure) => Err(OpenError::Agent(Box::new(conversation.end(Err(failure)).await))),
        }
    }

    pub(super) async fn start(
        launch: &Launch,
        options: &Options,
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
        let sandbox = Sandbox::below(&options.temporary, options.home).map_err(SetupError::Sandbox)?;
        match Tree::start(launch, &sandbox).await {
            Ok((tree, pipes)) => {
                outcome.isolation = tree.isolation();
                let connection = Connection::new(pipes, listener);
                let keep = options.keep;
                Ok(Self { outcome, connection, tree, sandbox, keep, started, next_id: ID + 1 })
            }
            Err(error) => {
                outcome.judge(Err(Failure::new(Reason::SpawnFailed, error.to_string())));
                close(sandbox, options.keep, &mut outcome);
                outcome.timing.total = started.elapsed();
                Err(OpenError::Agent(Box::new(outcome)))
            }
        }
    }

    /// Sends the first request, and judges what comes back.
    pub(super) async fn initialize(&mut self, options: &Options) -> Result<(), Failure> {
        let (connection, outcome) = (&mut self.connection, &mut self.outcome);
        connection.send(ID, "initialize", &request::initialize(options.protocol_version));
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

    /// Asks for everything that the agent has advertised. `limit` is for all of it together.
    pub(super) async fn probe(&mut self, limit: Duration) {
        let (connection, handshake) = (&mut self.connection, &mut self.outcome.handshake);
        probes::run(connection, &mut self.tree, handshake, &self.sandbox.work(), limit).await;
        handshake.warnings.extend(connection.unasked.warnings("after the response"));
    }

    /// How long the agent took to answer `initialize`.
    pub(super) fn start_to_response(&self) -> Option<Duration> {
        self.outcome.timing.start_to_response
    }

    /// What the agent has answered to `initialize`.
    #[must_use]
    pub fn handshake(&self) -> &Handshake {
        &self.outcome.handshake
    }

    /// What hands the agent lines that a person has typed, while it waits for them.
    #[must_use]
    pub fn relay(&self) -> Relay {
        self.connection.relay()
    }

    /// Asks the agent to sign the person in by a method of its own, and waits while it does so.
    pub async fn authenticate(&mut self, method: &str, limit: Duration) -> Reply {
        self.ask(request::authenticate(self.version(), method), limit).await
    }

    /// Asks the agent to sign the person out. Only for agents with the feature `auth/logout`.
    pub async fn log_out(&mut self, limit: Duration) -> Reply {
        self.ask(request::log_out(self.version()), limit).await
    }

    /// Asks the agent for a new session in an empty directory.
    pub async fn new_session(&mut self, limit: Duration) -> Reply {
        let params = request::in_directory(&self.sandbox.work());
        self.ask(("session/new", params), limit).await
    }

    fn version(&self) -> i64 {
        self.outcome.handshake.protocol_version.unwrap_or(1)
    }

    async fn ask(&mut self, (method, params): (&'static str, Value), limit: Duration) -> Reply {
        let id = self.next_id;
        self.next_id += 1;
        // An earlier message answers something else.
        self.connection.stray = None;
        self.connection.send(id, method, &params);
        let response = self.connection.response(&mut self.tree, &[id], Instant::now() + limit).await;
        let (probe, message) = match response.map(|(_, response)| response.body()) {
            Ok(Ok(Body::Result(_))) => return Reply { probe: Probe::Ok, message: None },
            Ok(Ok(Body::Error(error))) => {
                (Probe::of(&error), format!("the agent answers {} with {}", quote(method), error.describe()))
            }
            Ok(Err(problem)) => (Probe::Error, format!("the response to {} {problem}", quote(method))),
            Err(silence) => {
                let failure = explain(&mut self.connection, silence, (id, method), limit).await;
                let probe = if failure.reason == Reason::Timeout { Probe::Timeout } else { Probe::Error };
                (probe, failure.message)
            }
        };
        Reply { probe, message: Some(message) }
    }

    /// Ends the agent with everything that it has started.
    pub async fn close(self) -> Outcome {
        self.end(Ok(())).await
    }

    pub(super) async fn end(self, judgement: Result<(), Failure>) -> Outcome {
        let Self { mut outcome, mut connection, tree, sandbox, keep, started, next_id: _ } = self;
        let handshake = &mut outcome.handshake;
        count(handshake, &connection.unasked);
        if handshake.requests.keys().any(|method| method.starts_with("elicitation/")) {
            handshake.features.observe("elicitation");
        }
        connection.hang_up();
        let ending = tree.end().await;
        outcome.exit = ending.exit;
        outcome.stderr_tail = connection.stderr().await;
        let warnings = &mut outcome.handshake.warnings;
        if ending.left_behind > 0 {
            warnings.push(format!("left {} behind when it ended", processes(ending.left_behind)));
        }
        if ending.survivors > 0 {
            warnings.push(format!("{} could not be ended", processes(ending.survivors)));
        }
        outcome.judge(judgement);
        close(sandbox, keep, &mut outcome);
        outcome.timing.total = started.elapsed();
        outcome
    }
}

impl std::fmt::Debug for Conversation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Conversation").field("outcome", &self.outcome).finish_non_exhaustive()
    }
}

fn close(sandbox: Sandbox, keep: bool, outcome: &mut Outcome) {
    if keep {
        sandbox.keep();
    } else if let Err(error) = sandbox.remove() {
        outcome.left = Some(error.to_string());
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
fn result(response: &Response) -> Result<Value, Failure> {
    let malformed = |problem: &str| Failure::new(Reason::InvalidResponse, format!("the response {problem}"));
    if response.id(ID) == Id::AsText {
        return Err(malformed(&format!("has the id `\"{ID}\"`, a string, where the request has the number {ID}")));
    }
    match response.body() {
        Err(problem) => Err(malformed(&problem)),
        Ok(Body::Error(error)) => {
            Err(Failure::new(Reason::AgentError, format!("the agent answers `initialize` with {}", error.describe())))
        }
        Ok(Body::Result(result)) => Ok(result),
    }
}
