//! The MCP server of an examination, as checks give it to agents.

use std::time::Duration;

use acp_registry_protocol::handshake::Wait;
use serde_json::json;
use tokio::time::Instant;

use super::access::McpServer;
use super::agent::StartedAgent;
use super::failure::CheckFailure;
use crate::mcp::{MCP, Record, VARIABLE};

/// The name of the server.
pub(super) const NAME: &str = "acp-registry";

/// The value of its environment variable: characters that a shell, or a careless parser, would change.
pub(super) const VALUE: &str = "a=b 'c' $HOME";

/// Time limit for a connection to a server after a session was opened.
const CONNECTS: Duration = Duration::from_secs(4);

/// Time between two looks at the record.
const PAUSE: Duration = Duration::from_millis(50);

impl StartedAgent {
    /// Describes an MCP server that the agent can start over stdio. `name` is the name of its record, which is in the work
    /// directory: each check must use one of its own.
    pub(super) fn mcp_server(&self, name: &str) -> Result<McpServer, CheckFailure> {
        let Some(program) = &self.program else {
            let reason = "the path of the `acp-registry` executable, which is the MCP server, is unknown";
            return Err(CheckFailure::NotExercised(reason.to_owned()));
        };
        let record = self.work().join(format!("{name}.mcp.jsonl"));
        let params = json!({
            "name": NAME,
            "command": program.to_string_lossy(),
            "args": [MCP, record.to_string_lossy()],
            "env": [{ "name": VARIABLE, "value": VALUE }],
        });
        Ok(McpServer { record, params })
    }

    /// What the server has recorded.
    pub(super) fn recorded(&self, server: &McpServer) -> Record {
        let directory = self.work().canonicalize().unwrap_or_else(|_| self.work());
        Record::read(&server.record, &directory)
    }

    /// Waits until the record fulfills a condition, up to [`CONNECTS`] if the agent starts the server, and up to half the
    /// patience if it does not. Returns the last one.
    pub(super) async fn connected(&mut self, server: &McpServer, is_enough: impl Fn(&Record) -> bool) -> Record {
        let begin = Instant::now();
        let mut waits = [CONNECTS.min(self.patience() / 2), CONNECTS].map(|limit| Wait::until(begin + limit));
        loop {
            let record = self.recorded(server);
            if is_enough(&record) || self.is_over(&mut waits[usize::from(!record.started.is_empty())]) {
                return record;
            }
            self.read_for(PAUSE).await;
        }
    }
}
