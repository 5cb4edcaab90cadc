//! The whole of a check.

use std::path::PathBuf;
use std::time::Duration;

use super::conversation::{Conversation, OpenError};
use super::outcome::{Outcome, Reason};
use acp_registry_core::sys::fs::PathError;
use acp_registry_core::sys::process::{Home, Launch};

/// How a check is made.
#[derive(Debug, Clone)]
pub struct Options {
    /// The version of the protocol that is asked for: 1, or 2 to see a draft.
    pub protocol_version: u16,
    /// How long the answer to `initialize` may take, counted from the start of the process.
    pub timeout: Duration,
    /// How long an agent may be silent when it is asked further; `None` for no further requests. An agent that is silent from
    /// the start costs this once; one that goes on answering, at most six times this. An agent whose own start took long, as
    /// on a busy machine, gets three times that start instead, and at most six times this limit. They change no verdict.
    pub probe: Option<Duration>,
    /// Where the sandbox is made.
    pub temporary: PathBuf,
    /// The home that the agent gets.
    pub home: Home,
    /// Whether the sandbox stays, for people to look at.
    pub keep: bool,
}

/// How many times the limit for further requests an agent gets that is asked once more.
const PATIENCE: u32 = 3;

impl Options {
    /// The same for an agent that has left a request unanswered: three times as long for what comes after `initialize`.
    #[must_use]
    pub fn patient(&self) -> Self {
        Self { probe: self.probe.map(|limit| limit * PATIENCE), ..self.clone() }
    }

    /// Version 1, 60 s for `initialize` and 5 s for the rest, with the sandbox made below this directory, and an empty
    /// home in it.
    #[must_use]
    pub fn new(temporary: PathBuf) -> Self {
        let probe = Some(Duration::from_secs(5));
        Self { protocol_version: 1, timeout: Duration::from_mins(1), probe, temporary, home: Home::Empty, keep: false }
    }
}

/// Why a check could not be made, for which the agent cannot be blamed.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// There is no place for the sandbox.
    #[error("cannot make a temporary directory: {0}")]
    Sandbox(PathError),
}

/// The limit for an agent that took this long to start. A machine that slows its start down slows down what follows.
fn in_proportion(limit: Duration, start: Option<Duration>) -> Duration {
    limit.max(start.unwrap_or_default() * 3).min(limit * 6)
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
    let mut conversation = match Conversation::start(launch, options, None).await {
        Ok(conversation) => conversation,
        Err(OpenError::Agent(outcome)) => return Ok(*outcome),
        Err(OpenError::Setup(error)) => return Err(error),
    };
    let judgement = conversation.initialize(options).await;
    if let (Some(limit), Some(_)) = (options.probe, conversation.handshake().protocol_version)
        && judgement.as_ref().err().is_none_or(|failure| failure.reason != Reason::ProtocolVersion)
    {
        conversation.probe(in_proportion(limit, conversation.start_to_response())).await;
    }
    Ok(conversation.end(judgement).await)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_start_gives_more_time_and_a_silent_agent_costs_no_more_than_the_limit() {
        let limit =
            |start: Option<u64>| in_proportion(Duration::from_secs(5), start.map(Duration::from_secs)).as_secs();
        assert_eq!([None, Some(0), Some(1), Some(4), Some(60)].map(limit), [5, 5, 5, 12, 30]);
    }
}
