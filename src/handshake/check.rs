//! The whole of a check.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::answer::Handshake;
use super::connection::{Connection, Silence, Stray};
use super::lines::{LINE, MESSAGES, Overflow, TOTAL};
use super::message::{Body, Id, Response};
use super::outcome::{Failure, Outcome, Reason, Timing, Verdict};
use super::{message, probes, request};
use crate::sys::fs::PathError;
use crate::sys::process::{Launch, Sandbox, Tree};
use crate::text::quote;

/// The id of `initialize`.
const ID: u64 = 1;

/// How a check is made.
#[derive(Debug, Clone)]
pub struct Options {
    /// The version of the protocol that is asked for: 1, or 2 to see a draft.
    pub protocol_version: u16,
    /// How long the answer to `initialize` may take, counted from the start of the process.
    pub timeout: Duration,
    /// How long all further requests may take together; `None` for none. They change no verdict.
    pub probe: Option<Duration>,
    /// Where the sandbox is made.
    pub temporary: PathBuf,
    /// Whether the sandbox stays, for people to look at.
    pub keep: bool,
}

impl Options {
    /// Version 1, 60 s for `initialize` and 10 s for the rest, with the sandbox made below this directory.
    #[must_use]
    pub fn new(temporary: PathBuf) -> Self {
        let probe = Some(Duration::from_secs(10));
        Self { protocol_version: 1, timeout: Duration::from_mins(1), probe, temporary, keep: false }
    }
}

/// Why a check could not be made, for which the agent cannot be blamed.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// There is no place for the sandbox.
    #[error("cannot make a temporary directory: {0}")]
    Sandbox(PathError),
}

/// Starts an agent, speaks to it, judges its answer, and ends it with everything that it has started.
///
/// Lasts as long as the timeout, the limit for probes and the end of the processes (up to 4 s, and 5 s more against
/// agents that keep making processes) at the very most, and then for the removal of what the agent has written. When
/// the future is dropped, all processes are killed and all files removed before the drop returns. Needs a runtime of
/// tokio with its IO and time drivers.
///
/// # Errors
/// [`SetupError`]; what the agent does wrong is an [`Outcome`].
pub async fn check(launch: &Launch, options: &Options) -> Result<Outcome, SetupError> {
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
    };
    // Before the tree, so that it outlives it.
    let sandbox = Sandbox::below(&options.temporary).map_err(SetupError::Sandbox)?;
    match Tree::start(launch, &sandbox).await {
        Err(error) => outcome.judge(Err(Failure::new(Reason::SpawnFailed, error.to_string()))),
        Ok((mut tree, pipes)) => {
            let mut connection = Connection::new(pipes);
            converse(&mut connection, &mut tree, &mut outcome, &sandbox, options, started).await;
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
        }
    }
    if options.keep {
        sandbox.keep();
    } else if let Err(error) = sandbox.remove() {
        outcome.left = Some(error.to_string());
    }
    outcome.timing.total = started.elapsed();
    Ok(outcome)
}

fn processes(number: usize) -> String {
    if number == 1 { "1 process".to_owned() } else { format!("{number} processes") }
}

async fn converse(
    connection: &mut Connection,
    tree: &mut Tree,
    outcome: &mut Outcome,
    sandbox: &Sandbox,
    options: &Options,
    started: Instant,
) {
    connection.send(ID, "initialize", &request::initialize(options.protocol_version));
    let reply = connection.response(tree, &[ID], started + options.timeout).await;
    if reply.is_ok() {
        outcome.timing.start_to_response = Some(started.elapsed());
    }
    let unasked = std::mem::take(&mut connection.unasked);
    let judgement = match reply {
        Err(silence) => Err(explain(connection, silence, options.timeout).await),
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
    if let (Some(limit), Some(_)) = (options.probe, handshake.protocol_version)
        && judgement.as_ref().err().is_none_or(|failure| failure.reason != Reason::ProtocolVersion)
    {
        probes::run(connection, tree, handshake, &sandbox.work(), limit).await;
        handshake.warnings.extend(connection.unasked.warnings("after the response"));
    }
    for (method, number) in unasked.notifications.iter().chain(&connection.unasked.notifications) {
        *handshake.notifications.entry(method.clone()).or_default() += number;
    }
    for (method, number) in unasked.requests.iter().chain(&connection.unasked.requests) {
        *handshake.requests.entry(method.clone()).or_default() += number;
    }
    if handshake.requests.keys().any(|method| method.starts_with("elicitation/")) {
        handshake.features.observe("elicitation");
    }
    outcome.judge(judgement);
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

/// Why there was no answer, as far as can be told from what there was.
async fn explain(connection: &mut Connection, silence: Silence, timeout: Duration) -> Failure {
    if let Some(stray) = &connection.stray {
        return match stray {
            Stray::Error(error) => {
                Failure::new(Reason::AgentError, format!("the agent answers, without naming the request, with {error}"))
            }
            Stray::Id(id) => Failure::new(
                Reason::InvalidResponse,
                format!("the response has the id {}, where the request has the number {ID}", quote(id)),
            ),
        };
    }
    match silence {
        Silence::Timeout => {
            let mut message = format!("the agent did not answer `initialize` within {} s", timeout.as_secs_f64());
            let unfinished = connection.unfinished();
            if message::read(unfinished).is_ok() {
                message.push_str("; it wrote a message without the line end that every message must have");
            } else if !unfinished.trim_ascii().is_empty() {
                let beginning = String::from_utf8_lossy(&unfinished[..unfinished.len().min(1000)]).into_owned();
                message.push_str(&format!("; it stopped in the middle of a line: {}", quote(&beginning)));
            }
            Failure::new(Reason::Timeout, message)
        }
        Silence::Exited(exit) => {
            let stderr = connection.stderr().await;
            let mut message = format!("the agent ended before it answered ({})", exit.describe());
            if let Some(last) = stderr.lines().rev().find(|line| !line.trim().is_empty()) {
                message.push_str(&format!("; the last line on stderr: {}", quote(last.trim())));
            }
            Failure::new(Reason::Exited, message)
        }
        Silence::Closed => {
            Failure::new(Reason::InvalidResponse, "the agent closed its stdout without an answer, and went on running")
        }
        Silence::Overflow(overflow) => {
            let what = match overflow {
                Overflow::Line => format!("more than {} MiB to stdout without a line end", LINE >> 20),
                Overflow::Total => format!("more than {} MiB to stdout without an answer", TOTAL >> 20),
                Overflow::Messages => format!("more than {MESSAGES} messages without an answer"),
            };
            Failure::new(Reason::InvalidResponse, format!("the agent wrote {what}"))
        }
    }
}
