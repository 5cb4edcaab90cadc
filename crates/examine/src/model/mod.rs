//! MODEL: a scripted language model on loopback, so that an agent can carry out whole turns without an account.
//!
//! ```text
//! request ─→ route ─→ api (read) ─→ conversation ─→ state: script, step ─→ tools ─→ reply ─→ api (write) ─→ body
//! ```
//!
//! * [`Model`]: the server; [`Model::variables`] and [`Model::provider_settings`] point an agent to it
//! * [`Script`], [`Step`], [`ToolCall`]: what the model answers in a turn
//! * [`Play`]: a script that is being played, with its marker, and the [`ModelRequest`]s that belong to it
//! * [`Api`]: the APIs that it speaks
//! * [`Model::serve_mcp`]: an [MCP server](crate::mcp) over HTTP, at the same address
//!
//! The marker of a script is a unique text. A client puts it into its prompt, and the model finds it in the user's text
//! of each request. The number of the model's turns after it in the conversation is the step of the script, so retries,
//! parallel sessions, token counts and generated titles do not disturb a script. Requests without a marker, or with a JSON schema for the output, get harmless answers.

mod api;
mod body;
mod conversation;
mod reply;
mod sample;
mod script;
mod server;
mod settings;
mod state;
mod tools;

#[cfg(test)]
mod tests;

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use tokio::task::JoinHandle;

pub use api::Api;
pub use script::{Script, Step, ToolCall};
pub use state::{ModelRequest, Play};

use state::Shared;

/// A running server. It stops, and closes all connections, when this value is dropped.
#[derive(Debug)]
pub struct Model {
    address: SocketAddr,
    state: Arc<Shared>,
    server: JoinHandle<()>,
}

impl Model {
    /// Serves the model on `listener`, which may belong to another network namespace.
    ///
    /// # Errors
    ///
    /// The listener cannot be used.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime with the IO and time drivers.
    pub fn start(listener: TcpListener) -> io::Result<Self> {
        let address = listener.local_addr()?;
        listener.set_nonblocking(true)?;
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let state = Arc::new(Shared::default());
        let server = tokio::spawn(server::serve(listener, Arc::clone(&state)));
        Ok(Self { address, state, server })
    }

    /// The address that the server listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Environment variables by which most agents find a model: base URLs, a model's name and keys without value.
    pub fn variables(&self) -> Vec<(String, String)> {
        settings::variables(self.address)
    }

    /// The parameters of `providers/set` for each provider in a result of `providers/list` whose API the model speaks.
    pub fn provider_settings(&self, list: &serde_json::Value) -> Vec<serde_json::Value> {
        settings::providers(self.address, list)
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        // Connections are tasks of the server's own set, which ends with it.
        self.server.abort();
    }
}
