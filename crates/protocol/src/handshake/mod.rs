//! HANDSHAKE: starts a program, acts as an ACP client, judges its answers, and ends it.
//!
//! ```text
//! request ─→ connection ─→ answer ─→ auth, features ─→ verdict
//!          wire, lines ─┴─ message             probes ─┘
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
//! use acp_registry_protocol::handshake::{Options, check};
//! use acp_registry_host::process::{Environment, Isolation, Launch};
//!
//! # async fn example() -> Result<(), acp_registry_protocol::handshake::SetupError> {
//! let launch = Launch {
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
//! let outcome = check(&launch, &Options::new(std::env::temp_dir())).await?;
//! println!("{:?}: {:?}", outcome.verdict, outcome.message);
//! # Ok(())
//! # }
//! ```

mod answer;
mod auth;
mod check;
mod connection;
mod conversation;
mod failure;
mod features;
mod lines;
mod message;
mod options;
mod outcome;
mod peer;
mod probe;
mod probes;
mod request;
mod session;
mod silence;
mod spoken;
mod variables;
mod warnings;
mod way;
mod wire;

pub use answer::Handshake;
pub use auth::{AuthMethod, TypeSource};
pub use check::check;
pub use connection::Relay;
pub use conversation::{Conversation, OpenError, RequestResult};
pub use failure::{FailReason, Verdict};
pub use features::Features;
pub use lines::Overflow;
pub use options::{HandshakeOptions, SetupError};
pub use outcome::{Outcome, Timing};
pub use peer::{Peer, StartError};
pub use probe::{Probe, Probes};
pub use request::{initialize as initialize_params, refusal};
pub use session::{ConfigOption, SessionChoices};
pub use spoken::Listener;
pub use variables::{ReservedVariable, set_variables};
pub use way::{TerminalWay, Variable, Way, WayError};
pub use wire::Silence;
