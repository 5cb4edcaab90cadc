//! A running agent, as checks use it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use acp_registry_host::process::{Exit, Home, LaunchSpec, RunDelays};
use acp_registry_plan::json::weight;
use acp_registry_plan::text::quote;
use acp_registry_protocol::handshake::{HandshakeOptions, Peer, Silence, StartError, refusal};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::access::{Access, OpenSession, SharedSession};
use super::client::{ClientOffer, ClientState};
use super::drafts::ClientReply;
use super::exchange::{CLOSES, Exchange, TERMINATES};
use super::failure::{BUSY, CheckFailure, fail, not_exercised};
use super::messages::{AgentMessage, OutputViolations, ResponseContent, RpcError};
use super::schema::SchemaVersion;

/// A method that no agent implements. The protocol reserves names that begin with an underscore for extensions, and
/// requires a response even to unknown ones.
pub(super) const PING: &str = "_acp-registry/ping";

/// The directory of projects in the home of an agent.
const PROJECTS: &str = "projects";

/// The id of a session that no agent has.
pub(super) const NO_SESSION: &str = "acp-registry-no-such-session";

/// Time limit for the first response of an agent that was started again, as a multiple of the patience.
pub(super) const STARTS: u32 = 3;

/// Maximum memory of responses that no check has waited for, in bytes. Further ones are dropped.
const ANSWERS: usize = 8 << 20;

/// Maximum length of a response to the agent, in bytes: it repeats ids and texts of the agent, which need not read it.
const RESPONSE: usize = 512 << 10;

/// Adds the directories of [projects](StartedAgent::project) to the home of an agent.
pub(super) fn add_projects(options: &mut HandshakeOptions) {
    if options.home == Home::Empty {
        let readme = |project: &str| (format!("{PROJECTS}/{project}/README.md"), "# A project\n".to_owned());
        options.files.extend(["first", "second"].map(readme));
    }
}

/// A started agent.
pub(super) struct StartedAgent {
    pub(super) peer: Peer,
    /// All that it and the client have written.
    pub(super) exchange: Exchange,
    /// The `acp-registry` executable, which can be an MCP server.
    pub(super) program: Option<PathBuf>,
    /// Time limit for a response.
    patience: Duration,
    next_id: u64,
    /// The methods of the requests that were sent, by id as JSON.
    pub(super) sent: BTreeMap<String, String>,
    /// Responses that no check has waited for yet.
    answers: Vec<(Value, ResponseContent)>,
    /// Answers the agent's requests, and records what it sends.
    pub(super) client: ClientState,
    /// How it opens sessions.
    pub(super) access: Access,
    /// What several checks use.
    pub(super) kept: SharedSession,
    /// The session that the checks of this instance share.
    pub(super) session: Option<OpenSession>,
    /// Whether it can no longer be used.
    pub(super) has_ended: bool,
    /// Whether it has answered any request: its start is over.
    pub(super) has_started: bool,
    /// How long the last response was waited for in vain.
    pub(super) waited: Duration,
    /// Number of responses after the one to `initialize`.
    pub(super) answered: usize,
    pub(super) heard: OutputViolations,
    /// The result of `initialize`, or the description of its error. `null` before it was answered.
    pub(super) initialized: Result<Value, String>,
    /// Whether a check has used it.
    pub(super) is_used: bool,
    /// How long it had waited for a processor when that was looked at last.
    run_delays: RunDelays,
}

impl StartedAgent {
    pub(super) async fn start(
        launch: &LaunchSpec,
        options: &HandshakeOptions,
        offer: ClientOffer,
        patience: Duration,
    ) -> Result<Self, StartError> {
        let mut options = options.clone();
        add_projects(&mut options);
        Ok(Self {
            peer: Peer::start(launch, &options).await?,
            exchange: Exchange::default(),
            program: launch.launcher.clone(),
            patience,
            next_id: 1,
            sent: BTreeMap::new(),
            answers: Vec::new(),
            client: ClientState::new(offer),
            access: Access::default(),
            kept: SharedSession::default(),
            session: None,
            has_ended: false,
            has_started: false,
            waited: Duration::ZERO,
            answered: 0,
            heard: OutputViolations::default(),
            initialized: Ok(Value::Null),
            is_used: false,
            run_delays: RunDelays::default(),
        })
    }

    /// Time limit for a response.
    pub(super) fn patience(&self) -> Duration {
        self.patience
    }

    /// The directory for sessions.
    pub(super) fn work(&self) -> PathBuf {
        self.peer.work()
    }

    /// A directory with one file, for sessions that must not be in the [work directory](Self::work): `first` or `second`.
    pub(super) fn project(&self, name: &str) -> Result<PathBuf, CheckFailure> {
        let path = self.peer.directory().join("home").join(PROJECTS).join(name);
        let reason =
            || CheckFailure::NotExercised("the agent has no private home, in which the project would be".to_owned());
        path.is_dir().then_some(path).ok_or_else(reason)
    }

    /// The directory that was created for the agent. Its name differs between runs.
    pub(super) fn directory(&self) -> &std::path::Path {
        self.peer.directory()
    }

    /// Sends `initialize` and stores the result.
    pub(super) async fn initialize(&mut self, offer: ClientOffer, limit: Duration) -> Result<(), Silence> {
        let id = self.request("initialize", &offer.params(offer.version())).await;
        let answer = self.answer_until(&id, Instant::now() + limit).await?;
        self.initialized = answer.map_err(|error| format!("answers `initialize` with {error}"));
        self.heard.version = if self.is_version_2() { SchemaVersion::V2 } else { SchemaVersion::V1 };
        Ok(())
    }

    /// Sends `initialize` as a client with this offer, to an agent that was sent nothing yet.
    pub(super) async fn introduce(&mut self, offer: ClientOffer) -> Result<(), CheckFailure> {
        self.client = ClientState::new(offer);
        let started = self.initialize(offer, self.patience * STARTS).await;
        started.map_err(|silence| silent(silence, "initialize"))?;
        match &self.initialized {
            Ok(_) => Ok(()),
            Err(text) => not_exercised(format!("the agent {text}")),
        }
    }

    /// The result of `initialize`, or `null`.
    pub(super) fn result(&self) -> &Value {
        self.initialized.as_ref().unwrap_or(&Value::Null)
    }

    /// The parameters for a session in an empty directory.
    pub(super) fn session_params(&self) -> Value {
        json!({ "cwd": self.peer.work().to_string_lossy(), "mcpServers": [] })
    }

    /// Like [`session_params`](Self::session_params), with this value of a member.
    pub(super) fn session_params_with(&self, member: &str, value: impl Into<Value>) -> Value {
        let mut params = self.session_params();
        params[member] = value.into();
        params
    }

    /// Sends a request with the next id, and returns the id.
    pub(super) async fn request(&mut self, method: &str, params: &Value) -> Value {
        let id = Value::from(self.next_id);
        self.next_id += 1;
        self.request_as(&id, method, params).await;
        id
    }

    /// Sends a request with this id.
    pub(super) async fn request_as(&mut self, id: &Value, method: &str, params: &Value) {
        let line = self.request_line(id, method, params);
        self.write(&line).await;
    }

    /// Builds the line of a request, to be sent with [`write`](Self::write).
    pub(super) fn request_line(&mut self, id: &Value, method: &str, params: &Value) -> String {
        self.sent.insert(id.to_string(), method.to_owned());
        format!("{}\n", json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
    }

    pub(super) async fn notify(&mut self, method: &str, params: &Value) {
        self.write(&format!("{}\n", json!({ "jsonrpc": "2.0", "method": method, "params": params }))).await;
    }

    /// Writes a text unchanged. Errors are ignored: they show as a missing response.
    pub(super) async fn write(&mut self, text: &str) {
        self.exchange.client(text);
        let _ = self.peer.send(text.as_bytes().to_vec(), Instant::now() + self.patience).await;
    }

    /// Writes a text one byte at a time, with pauses so that the agent receives the bytes separately.
    pub(super) async fn write_bytewise(&mut self, text: &str) {
        self.exchange.client(text);
        let until = Instant::now() + self.patience;
        for byte in text.bytes() {
            if !self.peer.send(vec![byte], until).await {
                return;
            }
            sleep(Duration::from_millis(1)).await;
        }
    }

    /// Sends a request and waits for its response.
    pub(super) async fn ask(&mut self, method: &str, params: &Value) -> Result<ResponseContent, CheckFailure> {
        let id = self.request(method, params).await;
        self.answer(&id).await.map_err(|silence| silent(silence, method))
    }

    /// Waits for the response with this id: longer for the first, before which the agent may have to start.
    pub(super) async fn answer(&mut self, id: &Value) -> Result<ResponseContent, Silence> {
        let limit = self.patience * if self.has_started { 1 } else { STARTS };
        self.answer_until(id, Instant::now() + limit).await
    }

    pub(super) async fn answer_until(&mut self, id: &Value, deadline: Instant) -> Result<ResponseContent, Silence> {
        let is_there = |agent: &Self| agent.answers.iter().any(|(known, _)| known == id);
        self.read_until(deadline, is_there).await?;
        let at = self.answers.iter().position(|(known, _)| known == id);
        // The loop ends only when the response is there.
        Ok(self.answers.swap_remove(at.unwrap_or_default()).1)
    }

    /// Reads messages, and answers the agent's requests, until a condition holds.
    pub(super) async fn read_until(
        &mut self,
        deadline: Instant,
        is_done: impl Fn(&Self) -> bool,
    ) -> Result<(), Silence> {
        let began = Instant::now();
        while !is_done(self) {
            let line = match self.peer.line(deadline).await {
                Ok(line) => line,
                Err(silence) => {
                    self.has_ended |= !silence.is_timeout();
                    self.waited = began.elapsed();
                    return Err(silence);
                }
            };
            self.exchange.agent(&line);
            let sent = &self.sent;
            match self.heard.read(&line, |id| sent.get(&id.to_string()).cloned()) {
                Some(AgentMessage::Answer(id, answer)) => {
                    self.has_started = true;
                    self.answered += usize::from(self.initialized.as_ref().is_ok_and(|result| !result.is_null()));
                    let size = |(id, answer): &(Value, ResponseContent)| weight(id) + answer.as_ref().map_or(0, weight);
                    let new = (id, answer);
                    if self.answers.iter().chain([&new]).map(size).sum::<usize>() <= ANSWERS {
                        self.answers.push(new);
                    }
                }
                Some(AgentMessage::Request { id, method, params }) => {
                    self.serve(&id, &method, &params, deadline).await;
                }
                Some(AgentMessage::Notification { method, params }) => self.client.notified(method, params),
                None => {}
            }
        }
        Ok(())
    }

    /// How long it has waited for a processor since this was asked last.
    pub(super) fn starved(&mut self) -> Duration {
        let before = std::mem::replace(&mut self.run_delays, self.peer.run_delays());
        self.run_delays.since(&before)
    }

    /// Reads messages for a while: those that arrive without being asked for.
    pub(super) async fn read_for(&mut self, time: Duration) {
        // Silence is expected here, and the next request shows whether the agent has ended.
        let _ = self.read_until(Instant::now() + time, |_| false).await;
    }

    /// Answers a request of the agent.
    async fn serve(&mut self, id: &Value, method: &str, params: &Value, deadline: Instant) {
        let response = match self.client.requested(id, method, params) {
            ClientReply::Later => return,
            ClientReply::Result(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
            ClientReply::Error(code, message) => {
                json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
            }
            ClientReply::Refusal => {
                let Ok(id) = RawValue::from_string(id.to_string()) else { return };
                return self.respond(refusal(&id, method), deadline).await;
            }
        };
        self.respond(format!("{response}\n").into_bytes(), deadline).await;
    }

    async fn respond(&mut self, line: Vec<u8>, deadline: Instant) {
        if line.len() <= RESPONSE {
            self.exchange.client(&String::from_utf8_lossy(&line));
            let _ = self.peer.send(line, deadline).await;
        }
    }

    /// Answers the requests for permission that were held back: allows them, or cancels them.
    pub(super) async fn release_permissions(&mut self, is_allowed: bool) {
        for (id, result) in self.client.release(is_allowed) {
            self.write(&format!("{}\n", json!({ "jsonrpc": "2.0", "id": id, "result": result }))).await;
        }
    }

    /// Checks that the agent still answers, with a request for an unknown method.
    pub(super) async fn is_alive(&mut self, after: &str) -> Result<(), CheckFailure> {
        match self.ask(PING, &json!({})).await {
            Ok(_) => Ok(()),
            Err(CheckFailure::Silent(_)) => Err(CheckFailure::Silent(format!("stops answering after {after}"))),
            Err(CheckFailure::Fail(text)) => fail(format!("{text}, after {after}")),
            Err(other) => Err(other),
        }
    }

    /// Takes a response with the id `null`: the response of an agent that wrongly answers a notification.
    pub(super) fn nameless_answer(&mut self) -> Option<ResponseContent> {
        let at = self.answers.iter().position(|(id, _)| id.is_null())?;
        Some(self.answers.swap_remove(at).1)
    }

    /// The ids of responses that no check has waited for.
    pub(super) fn other_ids(&self) -> impl Iterator<Item = &Value> {
        self.answers.iter().map(|(id, _)| id)
    }

    /// Whether the response with this id has arrived, and is an error.
    pub(super) fn refused(&self, id: &Value) -> bool {
        self.answers.iter().any(|(known, answer)| known == id && answer.is_err())
    }

    /// Closes the agent's stdin and waits for it to exit. Nothing can be sent afterwards.
    pub(super) async fn close_input(&mut self, limit: Duration) -> Option<Exit> {
        self.exchange.client(CLOSES);
        self.peer.close_input(Instant::now() + limit).await
    }

    /// Sends SIGTERM and waits for the agent to exit. Nothing can be sent afterwards.
    pub(super) async fn terminate(&mut self, limit: Duration) -> Option<Exit> {
        self.exchange.client(TERMINATES);
        self.peer.terminate(Instant::now() + limit).await
    }

    /// What it and the client have written, as a text that can be sent again; `None` if it is too long.
    pub(super) fn exchange(&self) -> Option<String> {
        let program = self.program.as_deref().map(|path| path.to_string_lossy().into_owned());
        let model = self.access.model.as_ref().map(|model| model.address().to_string());
        self.exchange.to_text(&[
            (self.directory().to_string_lossy().into_owned(), "$SANDBOX"),
            (program.unwrap_or_default(), "$PROGRAM"),
            (model.unwrap_or_default(), "$MODEL"),
        ])
    }

    /// Ends the agent. Returns the violations in its output, and why its directory could not be removed, if so.
    pub(super) async fn end(self) -> (OutputViolations, Option<String>) {
        (self.heard, self.peer.end().await)
    }
}

/// Describes a request without a response.
pub(super) fn silent(silence: Silence, method: &str) -> CheckFailure {
    let method = quote(method);
    match silence {
        Silence::Timeout => CheckFailure::Silent(format!("does not answer {method}")),
        Silence::Starved(starved) => CheckFailure::Unjudged(format!(
            "{BUSY}: the agent does not answer {method}, but waited {} s for a processor",
            starved.as_secs_f64().round()
        )),
        Silence::Exited(exit) => {
            CheckFailure::Fail(format!("ends ({}) instead of answering {method}", exit.describe()))
        }
        Silence::Closed => CheckFailure::Fail(format!("closes its stdout instead of answering {method}")),
        Silence::Overflow(_) => CheckFailure::Fail(format!("exceeds the output limit instead of answering {method}")),
        Silence::Array => CheckFailure::Fail(format!("writes messages in an array instead of answering {method}")),
    }
}

/// Checks that a response is an error. A request for authentication is inconclusive: it says nothing about the request.
pub(super) fn refused(answer: &ResponseContent, what: &str) -> Result<(), CheckFailure> {
    match answer {
        Err(error) if error.asks_for_sign_in() => not_exercised(needs_sign_in(error)),
        Err(_) => Ok(()),
        Ok(_) => fail(format!("accepts {what}")),
    }
}

/// Why a check cannot run before signing in.
pub(super) fn needs_sign_in(error: &RpcError) -> String {
    format!("the agent requires a sign-in: {error}")
}

/// Checks that a response is an error with this code.
pub(super) fn error_of_code(answer: &ResponseContent, code: i64, what: &str) -> Result<(), CheckFailure> {
    match answer {
        Err(error) if error.code == Some(code) => Ok(()),
        Err(error) => fail(format!("answers {what} with {error} instead of the code {code}")),
        Ok(_) => fail(format!("answers {what} with a result instead of the code {code}")),
    }
}
