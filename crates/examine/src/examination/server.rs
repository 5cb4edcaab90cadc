//! The MCP server of an examination, as checks give it to agents.

use std::time::Duration;

use acp_registry_protocol::handshake::Wait;
use serde_json::json;
use tokio::time::Instant;

use super::access::{McpRecord, McpServer, OpenSession};
use super::agent::StartedAgent;
use super::failure::{CheckFailure, ensure, not_exercised};
use super::turn::Turn;
use crate::mcp::{ECHO, HEADER, MCP, Record, TOOL, VARIABLE};
use crate::model::{Script, ToolCall};

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
            return not_exercised("the path of the `acp-registry` executable, which is the MCP server, is unknown");
        };
        let record = self.work().join(format!("{name}.mcp.jsonl"));
        let params = json!({
            "name": NAME,
            "command": program.to_string_lossy(),
            "args": [MCP, record.to_string_lossy()],
            "env": [{ "name": VARIABLE, "value": VALUE }],
        });
        Ok(McpServer { record: McpRecord::File(record), params })
    }

    /// Describes an MCP server that the agent can reach over HTTP, beside the scripted model.
    pub(super) fn http_mcp_server(&self) -> Result<McpServer, CheckFailure> {
        let Some(model) = &self.access.model else {
            return not_exercised("there is no scripted model, which serves it");
        };
        let (number, path) = model.serve_mcp();
        let params = json!({
            "type": "http",
            "name": NAME,
            "url": format!("http://{}{path}", model.address()),
            "headers": [{ "name": HEADER, "value": VALUE }],
        });
        Ok(McpServer { record: McpRecord::Served(number), params })
    }

    /// What the server has recorded.
    pub(super) fn recorded(&self, server: &McpServer) -> Record {
        match &server.record {
            McpRecord::File(path) => {
                let directory = self.work().canonicalize().unwrap_or_else(|_| self.work());
                Record::read(path, &directory)
            }
            McpRecord::Served(number) => {
                self.access.model.as_ref().map(|model| model.mcp_record(*number)).unwrap_or_default()
            }
        }
    }

    /// Opens a session with a server, and waits until the agent has asked it for its tools, or for as long as it may take.
    pub(super) async fn session_with(&mut self, server: &McpServer) -> Result<(OpenSession, Record), CheckFailure> {
        let params = self.session_params_with("mcpServers", json!([server.params]));
        let session = self.open_session_with(&params).await?;
        let record = self.connected(server, |record| record.has("tools/list")).await;
        Ok((session, record))
    }

    /// Begins a turn in which the model calls the tool of a session's server with a text.
    pub(super) async fn play_echo(&mut self, session: &OpenSession, text: &str) -> Result<Turn, CheckFailure> {
        let call = ToolCall::Named { name: TOOL.to_owned(), arguments: json!({ "text": text }) };
        self.play(session, Script::calling(call, "Called")).await
    }

    /// Checks that the agent has called the tool in a turn that has ended, with its text, and passed on the result.
    pub(super) fn has_echoed(&self, server: &McpServer, turn: &Turn, text: &str) -> Result<(), CheckFailure> {
        let record = self.recorded(server);
        let mut calls = record.requested.iter().filter(|requested| requested.method == "tools/call").peekable();
        ensure(calls.peek().is_some(), "does not call a tool of an MCP server that the model calls")?;
        let is_right = calls.any(|call| call.params["name"] == TOOL && call.params["arguments"]["text"] == text);
        ensure(is_right, "calls a tool of an MCP server with other arguments than those of the model")?;
        let has_result = turn.any_result(|result| result.contains(&format!("{ECHO}{text}")));
        ensure(has_result, "does not pass the result of an MCP server's tool to the model")
    }

    /// Waits until the record fulfills a condition, up to [`CONNECTS`] if the agent starts the server, and up to half the
    /// patience if it does not. Returns the last one.
    pub(super) async fn connected(&mut self, server: &McpServer, is_enough: impl Fn(&Record) -> bool) -> Record {
        let begin = Instant::now();
        let mut waits = [CONNECTS.min(self.patience() / 2), CONNECTS].map(|limit| Wait::until(begin + limit));
        loop {
            let record = self.recorded(server);
            if is_enough(&record) || self.peer.is_over(&mut waits[usize::from(!record.started.is_empty())]) {
                return record;
            }
            self.read_for(PAUSE).await;
        }
    }
}
