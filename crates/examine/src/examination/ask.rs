//! Turns in which the agent requests something of the client that a proposal describes.

use acp_registry_plan::text::quote;
use serde_json::{Value, json};

use super::agent::StartedAgent;
use super::client::AgentCall;
use super::failure::{CheckFailure, not_exercised};
use super::messages::ResponseContent;

impl StartedAgent {
    /// Ends the check with `NotExercised` if another turn was tried in vain.
    pub(super) fn needs_turns(&self) -> Result<(), CheckFailure> {
        self.access.turnless.clone().map_or(Ok(()), |reason| Err(CheckFailure::NotExercised(reason)))
    }

    /// Remembers that a turn does not end. Without a model, agents try again for minutes, so that each further turn would
    /// take its whole time limit.
    pub(super) fn gives_up_turns(&mut self) {
        if self.access.model.is_none() {
            self.access.turnless = Some("the agent ends no turn without a model".to_owned());
        }
    }

    /// Carries out a turn, unless another one was tried in vain.
    pub(super) async fn possible_turn(&mut self, session: &str, prompt: &str) -> Result<ResponseContent, CheckFailure> {
        self.needs_turns()?;
        let answer = self.turn(session, prompt).await;
        if matches!(answer, Err(CheckFailure::Silent(_))) {
            self.gives_up_turns();
        }
        answer
    }

    /// Carries out a turn, and returns the parameters of the questions that the agent asked in it. If it asked none, the
    /// check is not exercised.
    pub(super) async fn asks(&mut self, session: &str, prompt: &str) -> Result<Vec<Value>, CheckFailure> {
        self.needs_turns()?;
        let answer = self.possible_turn(session, prompt).await;
        let calls = self.client.calls.iter().filter(|call| call.method == "elicitation/create");
        let asked: Vec<Value> = calls.map(|call| call.params.clone()).collect();
        if asked.is_empty() {
            return Err(not_asked());
        }
        answer.map(|_| asked)
    }

    /// Carries out a turn in a session with an MCP server that is reached over the connection, and returns the requests
    /// that concern the server. If there are none, the check is not exercised.
    pub(super) async fn calls_to_server(&mut self, server: &'static str) -> Result<Vec<AgentCall>, CheckFailure> {
        self.needs("/mcpCapabilities/acp")?;
        self.needs_turns()?;
        self.client.drafts.server = Some(server);
        let params =
            self.session_params_with("mcpServers", json!([{ "type": "acp", "name": "acp-registry", "id": server }]));
        let session = self.open_session_with(&params).await?;
        let turn = self.possible_turn(&session.id, "Call the tool `acp_registry_color`.").await;
        let calls: Vec<AgentCall> =
            self.client.calls.iter().filter(|call| call.method.starts_with("mcp/")).cloned().collect();
        if calls.is_empty() {
            let reason = "the agent does not connect to the MCP server in the turn of this check";
            return not_exercised(reason);
        }
        turn.map(|_| calls)
    }

    /// The texts that the agent wrote through the client to files of this name, in order.
    pub(super) fn written<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let calls = self.client.calls.iter().filter(|call| call.method == "fs/write_text_file");
        let of_file = calls.filter(move |call| call.params["path"].as_str().is_some_and(|path| path.ends_with(name)));
        of_file.filter_map(|call| call.params["content"].as_str())
    }
}

/// The reason of checks of questions, if the agent asks none.
pub(super) fn not_asked() -> CheckFailure {
    CheckFailure::NotExercised("the agent does not send `elicitation/create` in the turn of this check".to_owned())
}

/// What is wrong with an `elicitation/create` to a client that offers forms, if anything.
pub(super) fn form_problem(params: &Value) -> Option<String> {
    // The base of extensions: the client refuses their modes.
    if params["mode"].as_str().is_some_and(|mode| mode.starts_with('_')) {
        return None;
    }
    if params["mode"] != "form" {
        let mode = quote(params["mode"].as_str().unwrap_or_default());
        return Some(format!("with the mode {mode}, which the client has not advertised"));
    }
    if !params["message"].is_string() {
        return Some("without a `message`".to_owned());
    }
    if params["sessionId"].is_null() == params["requestId"].is_null() {
        return Some("without exactly one of `sessionId` and `requestId`".to_owned());
    }
    let schema = &params["requestedSchema"];
    let Some(properties) = schema["properties"].as_object().filter(|_| schema["type"] == "object") else {
        return Some("with a `requestedSchema` that is not an object with `properties`".to_owned());
    };
    let wrong = properties.iter().find(|(_, property)| !is_simple(property));
    wrong.map(|(name, _)| format!("with the field {}, which is of no simple type", quote(name)))
}

fn is_simple(property: &Value) -> bool {
    match property["type"].as_str() {
        Some("string" | "number" | "integer" | "boolean") => true,
        Some("array") => property["items"]["anyOf"].is_array() || property["items"]["enum"].is_array(),
        Some(extension) => extension.starts_with('_'),
        None => false,
    }
}
