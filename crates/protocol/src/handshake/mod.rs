//! HANDSHAKE: a program is started, spoken to as an ACP client does, judged, and ended.
//!
//! ```text
//! request ─→ connection ─→ answer ─→ auth, features ─→ verdict
//!          wire, lines ─┴─ message             probes ─┘
//! ```
//!
//! * [`check()`]: the whole of it, from the launch to the [`Outcome`]
//! * [`Conversation`]: the same step by step, to sign in and out: an [`AuthMethod`] and its [`Way`]
//! * [`Peer`]: a running agent that is spoken to in raw lines
//! * [`Outcome`]: what programs and people are told, with its JSON form
//! * [`Handshake`], [`AuthMethod`], [`Features`]: what the agent has answered
//! * [`set_variables`]: the variables that a manifest or a person adds, without those that belong to the system
//!
//! The client reads raw JSON-RPC. Typed libraries are tolerant on purpose: they drop a method that they do not
//! understand and take a broken list for an empty one, which is what a gate must see.
//!
//! ```no_run
//! use acp_registry_protocol::handshake::{Options, check};
//! use acp_registry_core::sys::process::{Environment, Isolation, Launch};
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
pub use conversation::{Conversation, OpenError, Reply};
pub use failure::{Reason, Verdict};
pub use features::Features;
pub use lines::Overflow;
pub use options::{Options, SetupError};
pub use outcome::{Outcome, Timing};
pub use peer::{Peer, StartError};
pub use probe::{Probe, Probes};
pub use request::{initialize as initialize_params, refusal};
pub use session::{ConfigOption, Session};
pub use spoken::Listener;
pub use variables::{ReservedVariable, set_variables};
pub use way::{TerminalWay, Variable, Way, WayError};
pub use wire::Silence;
