//! Sessions and prompts, as the checks of levels above `protocol` use them.

use std::time::Duration;

use acp_registry_plan::text::quote;
use acp_registry_protocol::handshake::{Silence, Wait};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::access::{Cancelled, Interrupted, OpenSession};
use super::agent::{StartedAgent, silent};
use super::failure::{CheckFailure, ensure, needs, not_exercised};
use super::messages::{ResponseContent, RpcError};
use crate::mcp::Record;
use crate::model::{ModelRequest, Script, ToolCall};

/// Time limit for opening a session, as a multiple of the patience.
const OPENS: u32 = 3;

/// Time limit for a turn, as a multiple of the patience.
const TURN: u32 = 4;

/// Number of requests for a session without a response after which no further one is sent.
const SILENT: usize = 2;

/// Time limit for commands after a session was opened.
const COMMANDS: Duration = Duration::from_millis(1500);

/// Maximum number of authentication methods to try.
const TRIED: usize = 3;

impl StartedAgent {
    /// Time limit for a turn.
    pub(super) fn turn_limit(&self) -> Duration {
        self.patience() * TURN
    }

    /// What the agent advertises: `capabilities` in version 2, `agentCapabilities` in version 1.
    pub(super) fn capabilities(&self) -> &Value {
        &self.result()[if self.is_version_2() { "capabilities" } else { "agentCapabilities" }]
    }

    /// Whether the agent has agreed to version 2 of the protocol.
    pub(super) fn is_version_2(&self) -> bool {
        self.result()["protocolVersion"] == 2
    }

    /// Whether the agent advertises a capability: its value, by a JSON pointer below [`capabilities`], is an object or
    /// `true`.
    ///
    /// [`capabilities`]: Self::capabilities
    pub(super) fn advertises(&self, pointer: &str) -> bool {
        let value = self.capabilities().pointer(pointer);
        value.is_some_and(|value| value.is_object() || *value == json!(true))
    }

    /// Ends the check with `NotExercised` if the agent does not advertise a capability.
    pub(super) fn needs(&self, pointer: &str) -> Result<(), CheckFailure> {
        let name = pointer.trim_start_matches('/').replace('/', ".");
        needs(self.advertises(pointer), format!("the agent does not advertise {}", quote(&name)))
    }

    /// Opens a session in the work directory, without MCP servers.
    pub(super) async fn open_session(&mut self) -> Result<OpenSession, CheckFailure> {
        let params = self.session_params();
        self.open_session_with(&params).await
    }

    /// A session in the work directory, which other checks use too.
    pub(super) async fn any_session(&mut self) -> Result<OpenSession, CheckFailure> {
        if let Some((session, _)) = &self.kept.session {
            return Ok(session.clone());
        }
        let session = self.open_session().await?;
        self.kept.session = Some((session.clone(), Instant::now()));
        Ok(session)
    }

    /// A session whose mode and options a check may change, if it sets them back. A check that does not is repeated on
    /// another instance.
    pub(super) async fn changing_session(&mut self) -> Result<OpenSession, CheckFailure> {
        if let Some(session) = &self.kept.changing {
            return Ok(session.clone());
        }
        let session = self.open_session().await?;
        self.kept.changing = Some(session.clone());
        Ok(session)
    }

    /// A session that no other check uses any more.
    pub(super) async fn spare_session(&mut self) -> Result<OpenSession, CheckFailure> {
        match self.kept.spare.pop() {
            Some(session) => Ok(session),
            None => self.open_session().await,
        }
    }

    /// What the MCP server of a session has recorded: once the agent has sent it `initialize`, or
    /// after a time limit.
    pub(super) async fn mcp_session(&mut self) -> Result<Record, CheckFailure> {
        if let Some(server) = &self.kept.mcp {
            return Ok(self.recorded(server));
        }
        let server = self.mcp_server("session")?;
        self.any_session().await?;
        let params = self.session_params_with("mcpServers", json!([server.params]));
        self.new_session(&params).await?.map_err(|error| {
            CheckFailure::Fail(format!("answers `session/new` with an MCP server in it with {error}"))
        })?;
        let record = self.connected(&server, |record| record.has("initialize")).await;
        self.kept.mcp = Some(server);
        Ok(record)
    }

    /// The `availableCommands` of the first update about commands in a session.
    pub(super) async fn commands(&mut self) -> Result<Value, CheckFailure> {
        self.any_session().await?;
        let opened = self.kept.session.as_ref().map_or_else(Instant::now, |(_, opened)| *opened);
        // Silence means that there are none.
        let _ = self.read_until(opened + COMMANDS, |agent| agent.client.commands.is_some()).await;
        let reason = || CheckFailure::NotExercised("the agent sends no `available_commands_update`".to_owned());
        self.client.commands.clone().ok_or_else(reason)
    }

    /// Sends `session/load` or a method with the same parameters, for a session in the work directory. If the agent
    /// refuses because the session is open, as some do, it is closed and the request is repeated.
    pub(super) async fn reopen(&mut self, method: &str, session: &str) -> Result<ResponseContent, CheckFailure> {
        let params = self.session_params_with("sessionId", session);
        let limit = self.patience() * OPENS;
        let first = self.ask_within(method, &params, limit).await?;
        if first.is_ok() || method == "session/fork" || !self.advertises("/sessionCapabilities/close") {
            return Ok(first);
        }
        let is_closed = self.ask("session/close", &json!({ "sessionId": session })).await?.is_ok();
        if is_closed { self.ask_within(method, &params, limit).await } else { Ok(first) }
    }

    /// Opens a session. If the agent refuses, the check is not exercised.
    pub(super) async fn open_session_with(&mut self, params: &Value) -> Result<OpenSession, CheckFailure> {
        if let Some(reason) = &self.access.closed {
            return not_exercised(reason.clone());
        }
        match self.new_session(params).await? {
            Ok(result) => {
                let id = result["sessionId"].as_str().unwrap_or_default().to_owned();
                ensure(!id.is_empty(), "opens a session without a `sessionId`")?;
                Ok(OpenSession { id, result })
            }
            Err(error) => {
                let reason = if error.is_about_sign_in() {
                    format!("needs sign-in: the agent answers `session/new` with {error}")
                } else {
                    format!("the agent answers `session/new` with {error}")
                };
                // Other parameters may be the cause.
                if *params == self.session_params() {
                    self.access.closed = Some(reason.clone());
                }
                not_exercised(reason)
            }
        }
    }

    /// Sends `session/new`, after signing in if the agent demands it, and returns the response.
    pub(super) async fn new_session(&mut self, params: &Value) -> Result<ResponseContent, CheckFailure> {
        if !self.access.is_prepared {
            self.access.is_prepared = true;
            self.set_providers().await?;
            if let Some(method) = self.access.sign_in.clone() {
                // A refusal shows in the response to `session/new`.
                let _ = self.sign_in(&method).await?;
            }
        }
        let first = self.ask_within("session/new", params, self.patience() * OPENS).await;
        if matches!(first, Err(CheckFailure::Silent(_))) {
            self.access.silent += 1;
            if self.access.silent >= SILENT {
                self.access.closed = Some("the agent does not answer `session/new`".to_owned());
            }
        }
        let first = first?;
        let is_refused = first.as_ref().is_err_and(RpcError::is_about_sign_in);
        if !is_refused || self.access.sign_in.is_some() {
            return Ok(first);
        }
        for method in key_methods(self.result()) {
            if self.sign_in(&method).await?.is_err() {
                continue;
            }
            let again = self.ask_within("session/new", params, self.patience() * OPENS).await?;
            if again.is_ok() {
                self.access.sign_in = Some(method);
                return Ok(again);
            }
        }
        Ok(first)
    }

    async fn sign_in(&mut self, method: &str) -> Result<ResponseContent, CheckFailure> {
        let request = if self.is_version_2() { "auth/login" } else { "authenticate" };
        self.ask_within(request, &json!({ "methodId": method }), self.patience() * OPENS).await
    }

    /// Points the agent's providers to the scripted model, if it advertises that this can be done.
    async fn set_providers(&mut self) -> Result<(), CheckFailure> {
        let Some(model) = self.access.model.clone().filter(|_| self.advertises("/providers")) else { return Ok(()) };
        let Ok(listed) = self.ask("providers/list", &json!({})).await? else { return Ok(()) };
        for params in model.provider_settings(&listed) {
            // A refusal shows when a session is opened.
            let _ = self.ask_within("providers/set", &params, self.patience() * OPENS).await?;
        }
        Ok(())
    }

    /// Sends a request, and waits for its response up to a limit.
    pub(super) async fn ask_within(
        &mut self,
        method: &str,
        params: &Value,
        limit: Duration,
    ) -> Result<ResponseContent, CheckFailure> {
        let id = self.request(method, params).await;
        self.answer_within(&id, method, limit).await
    }

    /// Like [`ask_within`](Self::ask_within), for a method that the agent does not advertise: its response need not follow
    /// the schema.
    pub(super) async fn ask_unadvertised(
        &mut self,
        method: &str,
        params: &Value,
        limit: Duration,
    ) -> Result<ResponseContent, CheckFailure> {
        let id = self.request(method, params).await;
        self.sent.remove(&id.to_string());
        self.answer_within(&id, method, limit).await
    }

    async fn answer_within(
        &mut self,
        id: &Value,
        method: &str,
        limit: Duration,
    ) -> Result<ResponseContent, CheckFailure> {
        self.answer_until(id, Instant::now() + limit).await.map_err(|silence| silent(silence, method))
    }

    /// Sends a prompt, and returns the id of the request. `blocks` are its content blocks.
    pub(super) async fn begin_prompt(&mut self, session: &str, blocks: &Value) -> Value {
        self.request("session/prompt", &json!({ "sessionId": session, "prompt": blocks })).await
    }

    /// Waits for the end of a turn, up to [`turn_limit`](Self::turn_limit).
    pub(super) async fn end_of_turn(&mut self, id: &Value) -> Result<ResponseContent, Silence> {
        self.answer_until(id, Instant::now() + self.turn_limit()).await
    }

    /// Carries out a turn with a prompt of one text block.
    pub(super) async fn turn(&mut self, session: &str, text: &str) -> Result<ResponseContent, CheckFailure> {
        let id = self.begin_prompt(session, &json!([{ "type": "text", "text": text }])).await;
        self.end_of_turn(&id).await.map_err(|silence| silent(silence, "session/prompt"))
    }
}

/// The ids of authentication methods that need only a key from the environment, by their type or their name. Others
/// may open a browser or wait for a person.
fn key_methods(result: &Value) -> Vec<String> {
    let methods = result["authMethods"].as_array().into_iter().flatten();
    let is_for_keys = |method: &&Value| {
        let text = |name: &str| method[name].as_str().unwrap_or_default().to_lowercase();
        let words = format!("{} {}", text("id"), text("name")).replace(['-', '_'], " ");
        match method["type"].as_str() {
            Some("env_var") => true,
            Some("terminal") => false,
            _ => ["api key", "apikey", "openai"].iter().any(|word| words.contains(word)),
        }
    };
    let ids = methods.filter(is_for_keys).filter_map(|method| method["id"].as_str().or(method["methodId"].as_str()));
    ids.take(TRIED).map(str::to_owned).collect()
}

/// How long the agent is listened to after the response.
const LATE: Duration = Duration::from_millis(300);

/// Time between two lines of a command that is interrupted.
const LINE: Duration = Duration::from_millis(200);

/// Updates about the content of a turn and its tool calls. Others, such as those of commands, belong to no turn.
pub(super) const CONTENT: &[&str] = &["agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update"];

impl StartedAgent {
    /// Carries out a turn and cancels it while text arrives, once for all checks of the instance.
    pub(super) async fn cancelled_turn(&mut self) -> Result<Cancelled, CheckFailure> {
        if let Some((cancelled, messages)) = &self.kept.cancelled {
            self.exchange.repeat(messages);
            return Ok(cancelled.clone());
        }
        let before = self.exchange.len();
        let session = self.shared_session().await?;
        let turn = self.stalled_turn(&session).await?;
        self.cancel(&turn).await;
        let mut cancelled = Cancelled { session, ended: self.ended(&turn).await, late: None, is_aborted: true };
        if cancelled.is_cancelled() {
            let before = self.updates(&turn).len();
            self.read_for(LATE).await;
            let updates = self.updates(&turn);
            let late = updates[before..].iter().find(|update| CONTENT.contains(&update.kind()));
            cancelled.late = late.map(|update| quote(update.kind()));
            let is_aborted = |request: &ModelRequest| request.step.is_none() || request.is_aborted;
            let mut wait = Wait::until(Instant::now() + self.patience());
            cancelled.is_aborted = loop {
                let is_aborted = turn.play.wait(LINE, |requests| requests.iter().all(is_aborted)).await;
                if is_aborted || self.peer.is_over(&mut wait) {
                    break is_aborted;
                }
            };
        } else {
            // The turn may go on.
            self.session = None;
        }
        self.kept.cancelled = Some((cancelled.clone(), self.exchange.since(before)));
        Ok(cancelled)
    }

    /// Carries out a turn and cancels it while a command runs, once for all checks of the instance.
    pub(super) async fn interrupted_command(&mut self) -> Result<Interrupted, CheckFailure> {
        if let Some((interrupted, messages)) = &self.kept.interrupted {
            self.exchange.repeat(messages);
            return Ok(interrupted.clone());
        }
        let before = self.exchange.len();
        let session = self.shared_session().await?;
        let file = self.work().join("running.txt");
        let size = || std::fs::metadata(&file).map_or(0, |file| file.len());
        // Writes five lines a second, and ends by itself long after any limit of a turn: an agent that waits for its end must
        // not answer in time on some machines only.
        let count = "n=0; while [ $n -lt 3000 ] && sleep 0.2; do n=$((n+1)); echo $n; done";
        let command = format!("{count} > '{}'", file.display());
        let script = Script::calling(ToolCall::Shell { command }, "Not cancelled");
        let turn = self.play(&session, script).await?;
        let mut wait = Wait::until(Instant::now() + self.turn_limit());
        while size() == 0 {
            if self.has_ended_within(&turn, LINE).await || self.peer.is_over(&mut wait) {
                self.end_with_tools(&turn).await?;
                return not_exercised("the agent does not run the command of the model");
            }
        }
        self.cancel(&turn).await;
        let mut interrupted = Interrupted { ended: self.ended(&turn).await, runs_on: false };
        if matches!(interrupted.ended, Ok(Ok(_))) {
            // Five lines are missed before the command counts as ended.
            let mut wait = Wait::until(Instant::now() + self.patience());
            let mut before = 0;
            while !interrupted.runs_on && size() != before {
                before = size();
                self.read_for(LINE * 5).await;
                interrupted.runs_on = size() != before && self.peer.is_over(&mut wait);
            }
        } else {
            // The turn may go on.
            self.session = None;
        }
        self.kept.interrupted = Some((interrupted.clone(), self.exchange.since(before)));
        Ok(interrupted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_methods_that_need_a_key_alone_are_tried() {
        let result = json!({ "authMethods": [
            { "id": "oauth-personal", "name": "Log in with Google" },
            { "id": "gemini-api-key", "name": "Use a key" },
            { "id": "vars", "name": "Variables", "type": "env_var" },
            { "id": "console", "name": "Console API key", "type": "terminal" },
            { "id": "a", "name": "API key (A)" },
            { "id": "openai", "name": "OpenAI" },
            { "name": "API key without an id" },
        ] });
        assert_eq!(key_methods(&result), ["gemini-api-key", "vars", "a"]);
        assert_eq!(key_methods(&json!({})), [""; 0]);
        assert_eq!(key_methods(&json!({ "authMethods": "API key" })), [""; 0]);
    }
}
