//! Turns that follow a script of the model, as the checks of the level `turns` use them.

use std::path::PathBuf;
use std::time::Duration;

use acp_registry_plan::text::quote;
use acp_registry_protocol::handshake::Silence;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::access::{METHOD_NOT_FOUND, OpenSession};
use super::agent::{StartedAgent, silent};
use super::client::SessionUpdate;
use super::exchange::RELEASES;
use super::failure::{CheckFailure, ensure, fail, needs, not_exercised};
use super::messages::ResponseContent;
use crate::model::{ModelRequest, Play, Script, Step, ToolCall};

/// A turn that has begun.
#[derive(Debug)]
pub(super) struct Turn {
    /// The model's script.
    pub(super) play: Play,
    pub(super) session: String,
    /// The id of the request `session/prompt`.
    pub(super) id: Value,
    /// Number of updates before it.
    updates: usize,
    /// Number of the agent's requests before it.
    calls: usize,
}

impl Turn {
    /// The requests of the turn to the model, without those beside it.
    pub(super) fn requests(&self) -> Vec<ModelRequest> {
        let mut requests = self.play.requests();
        requests.retain(|request| request.step.is_some());
        requests
    }

    /// Whether a text that the model has got in the turn is as wanted.
    pub(super) fn any_text(&self, is_wanted: impl Fn(&str) -> bool) -> bool {
        self.requests().iter().flat_map(|request| &request.texts).any(|text| is_wanted(text))
    }

    /// Whether a result of a tool that the model has got in the turn is as wanted.
    pub(super) fn any_result(&self, is_wanted: impl Fn(&str) -> bool) -> bool {
        self.requests().iter().flat_map(|request| &request.results).any(|result| is_wanted(result))
    }

    /// Whether the model has got the prompt of an earlier turn.
    pub(super) fn recalls(&self, conversation: &Conversation) -> bool {
        let prompt = plain(&conversation.prompt);
        self.any_text(|text| plain(text).contains(&prompt))
    }

    /// Ends the check with `NotExercised` if the agent does not offer the model a tool that its script calls.
    pub(super) fn needs_tools(&self) -> Result<(), CheckFailure> {
        match self.play.missing().first() {
            Some(tool) => not_exercised(format!("the agent does not offer the model {tool}")),
            None => Ok(()),
        }
    }
}

/// A turn that has ended, in a session of its own.
#[derive(Debug)]
pub(super) struct Conversation {
    pub(super) session: OpenSession,
    /// The beginning of the prompt, and the text of the model.
    pub(super) prompt: String,
    pub(super) answer: &'static str,
}

impl StartedAgent {
    /// A session in the work directory, which the checks of one instance share.
    pub(super) async fn shared_session(&mut self) -> Result<OpenSession, CheckFailure> {
        if let Some(session) = &self.session {
            return Ok(session.clone());
        }
        let session = self.open_session().await?;
        self.session = Some(session.clone());
        Ok(session)
    }

    /// Begins a turn in which the model follows a script.
    pub(super) async fn play(&mut self, session: &OpenSession, script: Script) -> Result<Turn, CheckFailure> {
        self.play_with(session, script, "", &[]).await
    }

    /// Like [`play`](Self::play), with a text and content blocks that are added to the prompt.
    pub(super) async fn play_with(
        &mut self,
        session: &OpenSession,
        script: Script,
        text: &str,
        blocks: &[Value],
    ) -> Result<Turn, CheckFailure> {
        if let Some(reason) = &self.access.unled {
            return not_exercised(reason.clone());
        }
        let Some(model) = &self.access.model else {
            return not_exercised("there is no scripted model");
        };
        let play = model.play(script.clone());
        self.exchange.play(play.number(), &script);
        let text = json!({ "type": "text", "text": format!("Examination {}. Please go on. {text}", play.marker()) });
        let prompt: Vec<Value> = [text].into_iter().chain(blocks.iter().cloned()).collect();
        if let Some(mode) = self.access.mode.clone() {
            // An agent that refuses stays in its default mode.
            let _ = self.ask("session/set_mode", &json!({ "sessionId": session.id, "modeId": mode })).await?;
        }
        let (updates, calls) = (self.client.updates.len(), self.client.calls.len());
        let id = self.begin_prompt(&session.id, &json!(prompt)).await;
        Ok(Turn { play, session: session.id.clone(), id, updates, calls })
    }

    /// Begins a turn in which the model writes to a file in the work directory with a command. Returns the file as well.
    pub(super) async fn play_command(
        &mut self,
        session: &OpenSession,
        name: &str,
        then: &str,
    ) -> Result<(Turn, PathBuf), CheckFailure> {
        let file = self.work().join(name);
        let command = format!("echo acp-registry > '{}'", file.display());
        Ok((self.play(session, Script::calling(ToolCall::Shell { command }, then)).await?, file))
    }

    /// Begins a turn with a link to a file in the work directory, which has this text.
    pub(super) async fn play_link(&mut self, name: &str, text: &str, then: &str) -> Result<Turn, CheckFailure> {
        let session = self.shared_session().await?;
        let uri = format!("file://{}", self.file(name, text)?.display());
        let link = json!({ "type": "resource_link", "uri": uri, "name": name, "mimeType": "text/plain" });
        self.play_with(&session, Script::new(vec![Step::say(then)]), "", &[link]).await
    }

    /// Writes a file in the work directory.
    pub(super) fn file(&self, name: &str, text: &str) -> Result<PathBuf, CheckFailure> {
        let file = self.work().join(name);
        match std::fs::write(&file, text) {
            Ok(()) => Ok(file),
            Err(error) => not_exercised(format!("a file for the agent cannot be written: {error}")),
        }
    }

    /// Begins a turn in which the model never ends its text, and waits for the first of it. An agent that sends text only at
    /// the end is waited for in vain.
    pub(super) async fn stalled_turn(&mut self, session: &OpenSession) -> Result<Turn, CheckFailure> {
        let turn = self.play(session, Script::new(vec![Step::Stall])).await?;
        self.until_within(&turn, self.patience(), |agent| agent.text(&turn).contains("Waiting")).await;
        Ok(turn)
    }

    /// Number of updates of a turn with text so far.
    pub(super) fn pieces(&self, turn: &Turn) -> usize {
        let chunks = self.updates(turn).into_iter().filter(|update| update.kind() == "agent_message_chunk");
        chunks.filter(|update| !update.text().trim().is_empty()).count()
    }

    /// Waits until the client has a state, or the turn has ended, as long as for a response. Returns whether it has.
    pub(super) async fn shows(&mut self, turn: &Turn, is_so: impl Fn(&Self) -> bool) -> Result<bool, CheckFailure> {
        let is_done = |agent: &Self| is_so(agent) || agent.other_ids().any(|id| *id == turn.id);
        match self.read_until(Instant::now() + self.patience(), is_done).await {
            Err(silence @ Silence::Starved(_)) => Err(silent(silence, "session/prompt")),
            Ok(()) | Err(_) => Ok(is_so(self)),
        }
    }

    /// Lets the model end an answer that it holds.
    pub(super) fn release(&mut self, turn: &Turn) {
        self.exchange.client(RELEASES);
        turn.play.release();
    }

    /// Waits for the response that ends a turn. If the turn has not reached the model, the check is not exercised.
    pub(super) async fn ended(&mut self, turn: &Turn) -> Result<ResponseContent, CheckFailure> {
        let ended = self.end_of_turn(&turn.id).await;
        if !turn.requests().is_empty() {
            self.access.is_led = true;
            return ended.map_err(|silence| silent(silence, "session/prompt"));
        }
        let what = match ended {
            Ok(Ok(_)) => "the agent ends a turn without a request to the scripted model".to_owned(),
            Ok(Err(error)) => {
                format!("the agent answers `session/prompt` without a request to the scripted model, with {error}")
            }
            Err(silence) if silence.is_timeout() => {
                self.cancel(turn).await;
                // The turn may go on.
                self.session = None;
                "the agent does not reach the scripted model".to_owned()
            }
            Err(silence) => return Err(silent(silence, "session/prompt")),
        };
        if !self.access.is_led {
            self.access.unled = Some(what.clone());
        }
        not_exercised(what)
    }

    /// Waits for the end of a turn, which must not be an error. Returns the stop reason.
    pub(super) async fn stop_reason(&mut self, turn: &Turn) -> Result<String, CheckFailure> {
        stop_reason(self.ended(turn).await?)
    }

    /// Waits for the end of a turn whose stop reason must be `wanted`.
    pub(super) async fn stops_with(&mut self, turn: &Turn, wanted: &str) -> Result<(), CheckFailure> {
        is_reason(&self.stop_reason(turn).await?, wanted)
    }

    /// Waits for the end of a turn that calls a tool.
    pub(super) async fn end_with_tools(&mut self, turn: &Turn) -> Result<(), CheckFailure> {
        let ended = self.stop_reason(turn).await;
        turn.needs_tools()?;
        ended.map(|_| ())
    }

    /// The updates of a turn so far.
    pub(super) fn updates(&self, turn: &Turn) -> Vec<&SessionUpdate> {
        self.updates_since(turn, turn.updates).collect()
    }

    fn updates_since(&self, turn: &Turn, known: usize) -> impl Iterator<Item = &SessionUpdate> {
        let updates = self.client.updates.get(known..).unwrap_or_default();
        updates.iter().filter(move |update| update.session == turn.session)
    }

    /// The agent's requests for permission in a turn so far.
    pub(super) fn permissions(&self, turn: &Turn) -> Vec<&Value> {
        self.calls(turn, "session/request_permission")
    }

    /// The parameters of the agent's requests of a method in a turn so far.
    pub(super) fn calls(&self, turn: &Turn, method: &str) -> Vec<&Value> {
        let calls = self.client.calls.get(turn.calls..).unwrap_or_default();
        calls.iter().filter(|call| call.method == method).map(|call| &call.params).collect()
    }

    /// Checks that the agent's requests of a method in a turn name its session, by which clients find what they are about.
    pub(super) fn names_session(&self, turn: &Turn, method: &str) -> Result<(), CheckFailure> {
        let is_named = self.calls(turn, method).iter().all(|params| params["sessionId"] == turn.session.as_str());
        ensure(is_named, format!("sends `{method}` with another `sessionId` than that of the turn"))
    }

    /// Ends the check with `NotExercised` if the agent has not asked for permission in a turn.
    pub(super) fn needs_permission(&self, turn: &Turn) -> Result<(), CheckFailure> {
        needs(!self.permissions(turn).is_empty(), "the agent does not ask for permission")
    }

    /// The text of a turn so far, without white space.
    pub(super) fn text(&self, turn: &Turn) -> String {
        self.text_since(turn, turn.updates)
    }

    fn text_since(&self, turn: &Turn, known: usize) -> String {
        let chunks = self.updates_since(turn, known).filter(|update| update.kind() == "agent_message_chunk");
        chunks.map(|update| plain(update.text())).collect()
    }

    /// Waits for late text after the end of a turn while updates arrive: how fast an agent writes is no matter of checks.
    /// Returns whether the text contains `wanted`.
    pub(super) async fn has_text(&mut self, turn: &Turn, wanted: &str) -> bool {
        let (wanted, end) = (plain(wanted), Instant::now() + self.turn_limit());
        // An agent may send its text in very many pieces: each is read once.
        let (mut text, mut known) = (String::new(), turn.updates);
        loop {
            text += &self.text_since(turn, known);
            known = self.client.updates.len();
            if text.len() >= wanted.len() && text.contains(&wanted) {
                return true;
            }
            let deadline = end.min(Instant::now() + self.patience());
            if self.read_until(deadline, |agent| agent.client.updates.len() > known).await.is_err() {
                return false;
            }
        }
    }

    /// Waits until the client has a state, or the turn has ended, up to a limit. Returns whether it has.
    pub(super) async fn until_within(&mut self, turn: &Turn, limit: Duration, is_so: impl Fn(&Self) -> bool) -> bool {
        let deadline = Instant::now() + limit;
        let is_done = |agent: &Self| is_so(agent) || agent.other_ids().any(|id| *id == turn.id);
        let _ = self.read_until(deadline, is_done).await;
        is_so(self)
    }

    /// Sends `session/cancel`.
    pub(super) async fn cancel(&mut self, turn: &Turn) {
        self.notify("session/cancel", &json!({ "sessionId": turn.session })).await;
    }

    /// Whether a turn ends within a time.
    pub(super) async fn has_ended_within(&mut self, turn: &Turn, limit: Duration) -> bool {
        self.until_within(turn, limit, |_| false).await;
        self.other_ids().any(|id| *id == turn.id)
    }

    /// Carries out a turn in a new session, in which the model answers with a text. That it ends well is the matter of
    /// another check.
    pub(super) async fn conversation(&mut self, answer: &'static str) -> Result<Conversation, CheckFailure> {
        let session = self.open_session().await?;
        let turn = self.play(&session, Script::new(vec![Step::say(answer)])).await?;
        self.stops_with(&turn, "end_turn").await.map_err(CheckFailure::into_obstacle)?;
        Ok(Conversation { session, prompt: format!("Examination {}.", turn.play.marker()), answer })
    }

    /// Like [`reopen`](Self::reopen), for a session that had a turn, which the agent must not refuse. One that cannot close
    /// a session may refuse because it is open.
    pub(super) async fn reopen_after_turn(
        &mut self,
        method: &str,
        conversation: &Conversation,
    ) -> Result<(), CheckFailure> {
        let id = &conversation.session.id;
        let Err(error) = self.reopen(method, id).await? else { return Ok(()) };
        let text = format!("answers `{method}` after a turn with {}", error.to_string().replace(id, "$SESSION"));
        Err(if self.advertises("/sessionCapabilities/close") || error.code == Some(METHOD_NOT_FOUND) {
            CheckFailure::Fail(text)
        } else {
            CheckFailure::NotExercised(format!("the agent {text}, for a session that is open"))
        })
    }

    /// Carries out a turn in which the model fails once, and a further one with the text `next`. An agent that waits
    /// long before it repeats its request is told from one that does not answer by `session/cancel`.
    pub(super) async fn survives(
        &mut self,
        session: &OpenSession,
        script: Script,
        after: &str,
        next: &str,
    ) -> Result<(), CheckFailure> {
        let turn = self.play(session, script).await?;
        match self.ended(&turn).await {
            Ok(_) => self.goes_on(session, after, next).await,
            Err(CheckFailure::Silent(text)) => {
                self.cancel(&turn).await;
                self.session = None;
                match self.answer(&turn.id).await {
                    Ok(_) => not_exercised("the agent waits long before it repeats a request"),
                    Err(_) => Err(CheckFailure::Silent(format!("{text} after {after}"))),
                }
            }
            Err(other) => Err(other.with(&format!("after {after}"))),
        }
    }

    /// Checks that a further turn in the same session works.
    pub(super) async fn goes_on(&mut self, session: &OpenSession, after: &str, next: &str) -> Result<(), CheckFailure> {
        self.next_turn(session, after, next).await.map(drop)
    }

    /// Checks that a conversation that was opened again goes on, and that the model knows what was said in it.
    pub(super) async fn goes_on_from(
        &mut self,
        conversation: &Conversation,
        method: &str,
        next: &str,
    ) -> Result<(), CheckFailure> {
        let turn = self.next_turn(&conversation.session, &format!("`{method}`"), next).await?;
        ensure(turn.recalls(conversation), format!("does not tell the model what was said before `{method}`"))
    }

    async fn next_turn(&mut self, session: &OpenSession, after: &str, next: &str) -> Result<Turn, CheckFailure> {
        let turn = self.play(session, Script::new(vec![Step::say(next)])).await?;
        let add = |text: String| format!("{text}, in the turn after {after}");
        match self.stops_with(&turn, "end_turn").await {
            Ok(()) if self.has_text(&turn, next).await => Ok(turn),
            Ok(()) => fail(format!("does not send the text of the model in the turn after {after}")),
            Err(CheckFailure::Fail(text)) => fail(add(text)),
            Err(CheckFailure::Silent(text)) => Err(CheckFailure::Silent(add(text))),
            // An earlier turn has reached the model.
            Err(CheckFailure::NotExercised(text)) if self.access.is_led => {
                let text = text.strip_prefix("the agent ").unwrap_or(&text).to_owned();
                fail(add(text))
            }
            Err(other) => Err(other),
        }
    }
}

/// The stop reason of a turn, which must not end with an error.
pub(super) fn stop_reason(answer: ResponseContent) -> Result<String, CheckFailure> {
    match answer {
        Ok(result) => Ok(result["stopReason"].as_str().unwrap_or_default().to_owned()),
        Err(error) => fail(format!("answers `session/prompt` with {error}")),
    }
}

/// Checks a stop reason.
pub(super) fn is_reason(reason: &str, wanted: &str) -> Result<(), CheckFailure> {
    ensure(reason == wanted, format!("ends the turn with the stop reason {} instead of `{wanted}`", quote(reason)))
}

/// A text without white space: agents may wrap lines and trim texts.
pub(super) fn plain(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}
