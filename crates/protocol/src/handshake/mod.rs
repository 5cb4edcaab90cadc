//! HANDSHAKE: starts a program, acts as an ACP client, judges its answers, and ends it.
//!
//! ```text
//! request ─→ connection ─→ answer ─→ auth, features ─→ verdict
//!                wire ─┴─ message           requests ─┘
//! ```
//!
//! * [`check()`]: the complete check, from the launch to the [`Outcome`]
//! * [`Conversation`]: the same in single steps, to sign in and out with an [`AuthMethod`] and its [`Way`]
//! * [`Peer`]: a running agent that exchanges raw lines
//! * [`Outcome`]: the result, with its JSON form
//! * [`Handshake`], [`AuthMethod`], [`Features`]: the agent's answers
//! * [`set_variables`]: adds variables of a manifest or user, except those that belong to the system
//!
//! The client parses raw JSON-RPC. Typed libraries are lenient by design: they drop methods that they do not know, and
//! treat an invalid list as empty. A registry must detect both.
//!
//! ```no_run
//! use acp_registry_protocol::handshake::{HandshakeOptions, check};
//! use acp_registry_host::process::{Environment, Isolation, LaunchSpec};
//!
//! # async fn example() -> Result<(), acp_registry_protocol::handshake::SetupError> {
//! let launch = LaunchSpec {
//!     program: "someagent".into(),
//!     arguments: vec!["acp".into()],
//!     directory: None,
//!     environment: Environment::from_host(std::env::vars_os()),
//!     isolation: Isolation::Environment,
//!     readable: Vec::new(),
//!     // Without it, the agent has no limits.
//!     launcher: Some("/usr/local/bin/acp-registry".into()),
//!     namespace: None,
//! };
//! let outcome = check(&launch, &HandshakeOptions::new(std::env::temp_dir())).await?;
//! println!("{:?}: {:?}", outcome.verdict, outcome.message);
//! # Ok(())
//! # }
//! ```

mod answer;
mod auth;
mod connection;
mod conversation;
mod features;
mod message;
mod options;
mod outcome;
mod peer;
mod probe;
mod requests;
mod verdict;
mod warnings;
mod way;
mod wire;

use acp_registry_plan::failure::Failure;
use std::time::Duration;

use acp_registry_host::process::{Environment, LaunchSpec};
use acp_registry_plan::manifest::env_name;
use acp_registry_plan::text::quote;
pub use answer::Handshake;
pub use auth::{AuthMethod, TypeSource};
pub use connection::Relay;
pub use conversation::{Conversation, OpenError, RequestResult};
pub use features::Features;
pub use message::{initialize as initialize_params, refusal};
pub use options::{HandshakeOptions, SetupError};
pub use outcome::{Outcome, Timing};
pub use peer::{Peer, StartError};
pub use probe::{ConfigOption, Probe, Probes, SessionChoices};
pub use verdict::{FailReason, Verdict};
pub use way::{TerminalWay, Variable, Way, WayError};
pub use wire::{LONGER, Listener, Overflow, Silence, Wait};

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

/// A variable that must not be set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the environment variable {} {problem}", quote(name))]
pub struct ReservedVariable {
    name: String,
    problem: &'static str,
}

/// Adds variables to an environment: all of them, or none if one is not allowed.
///
/// # Errors
/// Returns [`ReservedVariable`] for a name that affects which code runs or which credentials are used, such as `PATH`
/// or `NODE_OPTIONS`, and for values that contain NUL.
pub fn set_variables<'a>(
    environment: &mut Environment,
    variables: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Result<(), ReservedVariable> {
    let variables: Vec<_> = variables.into_iter().collect();
    for (name, value) in &variables {
        if let Some(problem) = env_name::problem_with_value(name, value) {
            return Err(ReservedVariable { name: (*name).to_owned(), problem });
        }
    }
    for (name, value) in variables {
        environment.set(name, value);
    }
    Ok(())
}

impl From<ReservedVariable> for Failure {
    fn from(error: ReservedVariable) -> Self {
        Self::usage(error)
    }
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

    #[test]
    fn one_reserved_name_stops_all() {
        let mut environment = Environment::default();
        let error = set_variables(&mut environment, [("EXAMPLE", "1"), ("LD_PRELOAD", "x")]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the environment variable `LD_PRELOAD` belongs to the system or to another program"
        );
        assert_eq!(environment, Environment::default());

        set_variables(&mut environment, [("EXAMPLE", "1")]).unwrap();
        assert_eq!(environment.get("EXAMPLE"), Some("1".as_ref()));
        assert!(set_variables(&mut environment, [("EXAMPLE", "a\0b")]).is_err());
    }
}
