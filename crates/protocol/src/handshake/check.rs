//! The complete check of an agent.

use std::time::Duration;

use super::conversation::{Conversation, OpenError};
use super::failure::FailReason;
use super::options::{HandshakeOptions, SetupError};
use super::outcome::Outcome;
use acp_registry_host::process::LaunchSpec;

/// The time limit for an agent that took `start` to start. A machine that slows the start also slows further answers.
fn in_proportion(limit: Duration, start: Option<Duration>) -> Duration {
    limit.max(start.unwrap_or_default() * 3).min(limit * 6)
}

/// Starts an agent, sends requests, judges the answers, and ends the agent with all processes that it has started.
///
/// Takes at most the timeout, plus the time for further requests ([`HandshakeOptions::probe`]), plus the time to end the processes
/// (up to 4 s, and 5 s more if they keep starting others), plus the time to remove the agent's files. When the future is
/// dropped, all processes are killed and all files are removed before the drop returns. Requires a tokio runtime with the
/// IO and time drivers.
///
/// # Errors
/// Returns [`SetupError`] if the check cannot run. Failures of the agent are part of the [`Outcome`].
pub async fn check(launch: &LaunchSpec, options: &HandshakeOptions) -> Result<Outcome, SetupError> {
    let mut conversation = match Conversation::start(launch, options, None).await {
        Ok(conversation) => conversation,
        Err(OpenError::Agent(outcome)) => return Ok(*outcome),
        Err(OpenError::Setup(error)) => return Err(error),
    };
    let judgement = conversation.initialize(options).await;
    if let (Some(limit), Some(_)) = (options.probe, conversation.handshake().protocol_version)
        && judgement.as_ref().err().is_none_or(|failure| failure.reason != FailReason::ProtocolVersion)
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
