//! What checks of proposals share: turns that are held at a permission, questions to the client, MCP over the connection, and
//! turns of version 2.

use acp_registry_plan::text::quote;
use acp_registry_protocol::handshake::Silence;
use serde_json::{Value, json};
use tokio::time::{Duration, Instant};

use super::agent::{StartedAgent, silent};
use super::client::{AgentCall, Permission};
use super::failure::{CheckFailure, fail, needs, not_exercised};
use super::messages::ResponseContent;

/// Code of the error for `session/inject` and its kin if they do not fit the state of the session or message.
pub(super) const PRECONDITION: i64 = -32_010;

/// How long to watch for something that must not happen.
pub(super) const WATCHED: Duration = Duration::from_millis(300);

/// A turn that waits for the client's decision on a permission.
pub(super) struct PendingTurn {
    pub(super) session: String,
    /// The id of `session/prompt`.
    pub(super) prompt: Value,
}

/// The content of a message with one text.
pub(super) fn text(text: &str) -> Value {
    json!([{ "type": "text", "text": text }])
}

impl StartedAgent {
    /// Ends the check with `NotExercised` if the agent uses version 1.
    pub(super) fn needs_version_2(&self) -> Result<(), CheckFailure> {
        let version = &self.result()["protocolVersion"];
        needs(self.is_version_2(), format!("the agent answers version 2 of the protocol with version {version}"))
    }

    /// Ends the check with `NotExercised` unless the agent advertises this mode of `session/inject`.
    pub(super) fn needs_inject(&self, mode: &str) -> Result<(), CheckFailure> {
        self.needs_version_2()?;
        self.needs("/session/inject")?;
        let modes = self.capabilities()["session"]["inject"]["modes"].as_array();
        let is_known = modes.is_some_and(|modes| modes.iter().any(|known| known == mode));
        needs(is_known, format!("the agent does not advertise the mode `{mode}` of `session/inject`"))
    }

    /// Waits for a condition, up to the time limit of a turn.
    pub(super) async fn until(&mut self, is_done: impl Fn(&Self) -> bool) -> Result<(), Silence> {
        self.read_until(Instant::now() + self.turn_limit(), is_done).await
    }

    /// Opens a session and begins a turn with a command for a shell, which then waits for a permission. `name` is a part
    /// of the command.
    pub(super) async fn hold_turn(&mut self, name: &str) -> Result<PendingTurn, CheckFailure> {
        self.needs_turns()?;
        let session = self.open_session().await?.id;
        self.client.permission = Permission::Hold;
        let command = format!("Run the command `touch acp-registry-{name}` in a shell.");
        let prompt = self.begin_prompt(&session, &text(&command)).await;
        let is_over = |agent: &Self| {
            let is_answered = agent.other_ids().any(|id| *id == prompt);
            is_answered && (!agent.is_version_2() || agent.is_idle(&session) || agent.refused(&prompt))
        };
        let waited = self.until(|agent| agent.client.held() > 0 || is_over(agent)).await;
        match waited {
            Ok(()) if self.client.held() > 0 => Ok(PendingTurn { session, prompt }),
            Ok(()) | Err(Silence::Timeout | Silence::Starved(_)) => {
                if waited.is_err() {
                    self.gives_up_turns();
                }
                not_exercised("the agent asks for no permission in the turn of this check")
            }
            Err(silence) => Err(silent(silence, "session/prompt")),
        }
    }

    /// Allows what the turn waits for.
    pub(super) async fn allow(&mut self) {
        self.client.permission = Permission::Allow;
        self.release_permissions(true).await;
    }

    /// Whether a session of version 2 has ended a turn.
    pub(super) fn is_idle(&self, session: &str) -> bool {
        self.idle_at(session).is_some()
    }

    /// The place of the first `idle` among all updates.
    pub(super) fn idle_at(&self, session: &str) -> Option<usize> {
        self.client.updates.iter().position(|update| {
            update.session == session && update.kind() == "state_update" && update.body["state"] == "idle"
        })
    }

    /// The place of the `user_message` with this id among all updates, and its text.
    pub(super) fn delivery(&self, session: &str, message: &str) -> Option<(usize, &str)> {
        let updates = self.client.updates.iter().enumerate();
        let mut delivered = updates.filter(|(_, update)| {
            update.session == session && update.kind() == "user_message" && update.body["messageId"] == message
        });
        delivered.next().map(|(at, update)| (at, update.body["content"][0]["text"].as_str().unwrap_or_default()))
    }

    /// Waits until a message is delivered.
    pub(super) async fn until_delivered(
        &mut self,
        session: &str,
        message: &str,
        when: &str,
    ) -> Result<(), CheckFailure> {
        match self.until(|agent| agent.delivery(session, message).is_some()).await {
            Ok(()) => Ok(()),
            Err(Silence::Timeout) => Err(CheckFailure::Silent(format!("does not deliver {} {when}", quote(message)))),
            Err(silence) => Err(silent(silence, "session/inject")),
        }
    }

    /// Sends `session/inject`.
    pub(super) async fn inject(
        &mut self,
        session: &str,
        mode: &str,
        content: &str,
    ) -> Result<ResponseContent, CheckFailure> {
        self.ask("session/inject", &json!({ "sessionId": session, "mode": mode, "content": text(content) })).await
    }

    /// Sends `session/inject` during a turn, and returns the id of the accepted message.
    pub(super) async fn injected(&mut self, session: &str, mode: &str, content: &str) -> Result<String, CheckFailure> {
        match self.inject(session, mode, content).await? {
            Ok(result) => match result["messageId"].as_str().filter(|id| !id.is_empty()) {
                Some(id) => Ok(id.to_owned()),
                None => fail("answers `session/inject` without a `messageId`"),
            },
            Err(error) => fail(format!("answers `session/inject` during a turn with {error}")),
        }
    }

    /// Like [`injected`](Self::injected) with the mode `queue`, for checks of what is pending: whether a message is
    /// accepted is left to another check.
    pub(super) async fn queued(&mut self, session: &str, content: &str) -> Result<String, CheckFailure> {
        match self.injected(session, "queue", content).await {
            Err(CheckFailure::Fail(text)) => not_exercised(format!("the agent {text}")),
            other => other,
        }
    }

    /// Sends a prompt of version 2, which is answered when it is accepted.
    pub(super) async fn prompt_2(&mut self, session: &str, prompt: &str) -> Result<ResponseContent, CheckFailure> {
        let params = json!({ "sessionId": session, "prompt": text(prompt) });
        self.ask_within("session/prompt", &params, self.turn_limit()).await
    }

    /// Ends the check with `NotExercised` unless the agent announces `_session/steering`.
    pub(super) fn needs_steering(&self) -> Result<(), CheckFailure> {
        let is_supported = self.result()["_meta"]["steering"]["supported"] == true;
        needs(is_supported, "the agent does not announce `steering.supported` in `_meta`")
    }

    /// Sends `_session/steering`, and returns the outcome.
    pub(super) async fn steer(&mut self, session: &str, content: &str) -> Result<String, CheckFailure> {
        let meta = json!({ "steering": { "idleBehavior": "promptRequired" } });
        let params = json!({ "sessionId": session, "prompt": text(content), "_meta": meta });
        match self.ask("_session/steering", &params).await? {
            Ok(result) => Ok(result["outcome"].as_str().unwrap_or_default().to_owned()),
            Err(error) => fail(format!("answers `_session/steering` with {error}")),
        }
    }

    /// Ends the check with `NotExercised` if another turn was tried in vain.
    pub(super) fn needs_turns(&self) -> Result<(), CheckFailure> {
        self.access.turnless.clone().map_or(Ok(()), not_exercised)
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
        needs(!calls.is_empty(), "the agent does not connect to the MCP server in the turn of this check")?;
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
