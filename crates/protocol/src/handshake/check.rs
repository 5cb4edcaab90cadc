//! The whole of a check.

use std::time::Duration;

use super::conversation::{Conversation, OpenError};
use super::failure::Reason;
use super::options::{Options, SetupError};
use super::outcome::Outcome;
use acp_registry_core::sys::process::Launch;

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
