//! Speaks the Agent Client Protocol with agents over a network, and serves agents that speak it on stdin and stdout.
//!
//! | module | what it does |
//! |---|---|
//! | `endpoint` | the address of an agent, and the headers of each request |
//! | `bridge` | the client: passes lines between two pipes and an agent, by streams of events or by WebSocket |
//! | `serve` | the server: one process of an agent for each connection |
//! | `message` | what both read of a message: its id, its method and its session |
//! | `media` | the types of contents that headers name |
//! | `events` | the format of event streams |
//! | `client` | the requests of one conversation, with its headers and cookies |
//! | `wire` | single requests and their answers, for an examination of a server |
//!
//! Messages are passed on byte by byte, except for line breaks, which end messages on stdin and stdout.

#![warn(missing_docs, clippy::must_use_candidate)]

mod bridge;
mod client;
mod endpoint;
mod events;
mod media;
mod message;
mod serve;
#[cfg(test)]
mod tests;
mod wire;

pub use bridge::{BridgeError, BridgeOptions, bridge};
pub use endpoint::{Endpoint, EndpointError, Headers, TemplateError};
pub use events::EventStream;
pub use serve::{Secret, ServeOptions, router, serve};
pub use wire::{Answer, Socket, Wire};

/// The header that names a connection.
pub const CONNECTION: &str = "acp-connection-id";

/// The header that names a session of a connection.
pub const SESSION: &str = "acp-session-id";

/// The largest message, in bytes.
const MESSAGE: usize = 32 << 20;

/// How many bytes of a WebSocket wait until the other side reads, at most: the largest message, and answers to pings. The
/// library drops further answers, and refuses a message, which ends the connection.
const UNREAD: usize = MESSAGE + (1 << 20);

/// The longest id of a request that is remembered, together with its session, in bytes.
const NAMES: usize = 1024;
