//! What a check speaks to.

use std::time::Duration;

use acp_registry_core::sys::process::{Exit, Launch};
use acp_registry_core::text::quote;
use acp_registry_protocol::handshake::{Options, Peer, Silence, StartError, initialize_params, refusal};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::messages::{Answer, Heard, Message, RpcError, Sent};

/// A method that no agent has. The protocol reserves names that begin with an underscore, and requires an answer.
pub(super) const PING: &str = "_acp-registry/ping";

/// A session that no agent has.
pub(super) const NO_SESSION: &str = "acp-registry-no-such-session";

/// What a check does not pass with. Texts are sentences about the agent, and printable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Trouble {
    /// The agent did what it should not.
    Fail(String),
    /// The agent did not answer.
    Silent(String),
    /// The check cannot be made with this agent, for this reason.
    NotExercised(String),
}

impl Trouble {
    /// The text, whatever the trouble is.
    pub(super) fn into_text(self) -> String {
        match self {
            Self::Fail(text) | Self::Silent(text) | Self::NotExercised(text) => text,
        }
    }
}

/// A started agent.
pub(super) struct Agent {
    peer: Peer,
    /// How long an answer may take.
    patience: Duration,
    next_id: u64,
    sent: Sent,
    /// Answers that were not asked for yet.
    answers: Vec<(Value, Answer)>,
    /// Methods of what the agent asked for.
    asked: Vec<String>,
    /// How many requests after `initialize` it has answered.
    pub(super) answered: usize,
    pub(super) heard: Heard,
    /// What it has answered to `initialize`; an error as a sentence. `null` before.
    pub(super) initialized: Result<Value, String>,
    /// Whether a check has spoken to it.
    pub(super) is_used: bool,
}

impl Agent {
    pub(super) async fn start(launch: &Launch, options: &Options, patience: Duration) -> Result<Self, StartError> {
        Ok(Self {
            peer: Peer::start(launch, options).await?,
            patience,
            next_id: 1,
            sent: Sent::default(),
            answers: Vec::new(),
            asked: Vec::new(),
            answered: 0,
            heard: Heard::default(),
            initialized: Ok(Value::Null),
            is_used: false,
        })
    }

    /// The directory that was made for it, which has another name each time.
    pub(super) fn directory(&self) -> &std::path::Path {
        self.peer.directory()
    }

    /// Sends `initialize` as a client that can do everything, or nothing, and keeps the result.
    pub(super) async fn initialize(&mut self, version: u16, is_bare: bool, limit: Duration) -> Result<(), Silence> {
        let mut params = initialize_params(version);
        if is_bare {
            params["clientCapabilities"] = json!({});
        }
        let id = self.request("initialize", &params).await;
        let answer = self.answer_until(&id, Instant::now() + limit).await?;
        self.initialized = answer.map_err(|error| format!("answers `initialize` with {}", error.describe()));
        Ok(())
    }

    /// The result of `initialize`, or `null`.
    pub(super) fn result(&self) -> &Value {
        self.initialized.as_ref().unwrap_or(&Value::Null)
    }

    /// The parameters of a session in an empty directory.
    pub(super) fn session_params(&self) -> Value {
        json!({ "cwd": self.peer.work().to_string_lossy(), "mcpServers": [] })
    }

    /// A request with an id of this conversation, which is returned.
    pub(super) async fn request(&mut self, method: &str, params: &Value) -> Value {
        let id = Value::from(self.next_id);
        self.next_id += 1;
        self.request_as(&id, method, params).await;
        id
    }

    /// A request with this id.
    pub(super) async fn request_as(&mut self, id: &Value, method: &str, params: &Value) {
        let line = self.line_of(id, method, params);
        self.write(&line).await;
    }

    /// The line of a request that is then sent by [`write`](Self::write).
    pub(super) fn line_of(&mut self, id: &Value, method: &str, params: &Value) -> String {
        self.sent.add(id, method);
        format!("{}\n", json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
    }

    pub(super) async fn notify(&mut self, method: &str, params: &Value) {
        self.write(&format!("{}\n", json!({ "jsonrpc": "2.0", "method": method, "params": params }))).await;
    }

    /// Writes a text as it is. One that is not read goes unanswered.
    pub(super) async fn write(&mut self, text: &str) {
        let _ = self.peer.send(text.as_bytes().to_vec(), Instant::now() + self.patience).await;
    }

    /// Writes a text in single bytes, with time between them to be read one by one.
    pub(super) async fn write_bytewise(&mut self, text: &str) {
        let until = Instant::now() + self.patience;
        for byte in text.bytes() {
            if !self.peer.send(vec![byte], until).await {
                return;
            }
            sleep(Duration::from_millis(1)).await;
        }
    }

    /// Sends a request and waits for its answer.
    pub(super) async fn ask(&mut self, method: &str, params: &Value) -> Result<Answer, Trouble> {
        let id = self.request(method, params).await;
        self.answer(&id).await.map_err(|silence| silent(silence, method))
    }

    /// Waits for the answer to a request of this id.
    pub(super) async fn answer(&mut self, id: &Value) -> Result<Answer, Silence> {
        self.answer_until(id, Instant::now() + self.patience).await
    }

    async fn answer_until(&mut self, id: &Value, deadline: Instant) -> Result<Answer, Silence> {
        loop {
            if let Some(at) = self.answers.iter().position(|(known, _)| known == id) {
                return Ok(self.answers.swap_remove(at).1);
            }
            let line = self.peer.line(deadline).await?;
            let sent = &self.sent;
            match self.heard.read(&line, |id| sent.method(id)) {
                Some(Message::Answer(id, answer)) => {
                    self.answered += usize::from(self.initialized.as_ref().is_ok_and(|result| !result.is_null()));
                    self.answers.push((id, answer));
                }
                Some(Message::Request { id, method }) => self.refuse(&id, method, deadline).await,
                Some(Message::Notification) | None => {}
            }
        }
    }

    async fn refuse(&mut self, id: &Value, method: String, deadline: Instant) {
        if let Ok(id) = RawValue::from_string(id.to_string()) {
            let _ = self.peer.send(refusal(&id, &method), deadline).await;
        }
        if self.asked.len() < 100 {
            self.asked.push(method);
        }
    }

    /// Makes sure that the agent still answers, by a request of which it knows nothing.
    pub(super) async fn is_alive(&mut self, after: &str) -> Result<(), Trouble> {
        match self.ask(PING, &json!({})).await {
            Ok(_) => Ok(()),
            Err(Trouble::Silent(_)) => Err(Trouble::Silent(format!("answers nothing any more after {after}"))),
            Err(Trouble::Fail(text)) => Err(Trouble::Fail(format!("{text}, after {after}"))),
            Err(other) => Err(other),
        }
    }

    /// An answer that names no request: what an agent sends that answers a notification. Taken only once.
    pub(super) fn nameless_answer(&mut self) -> Option<Answer> {
        let at = self.answers.iter().position(|(id, _)| id.is_null())?;
        Some(self.answers.swap_remove(at).1)
    }

    /// The answers that have come so far and that nothing has waited for, by id.
    pub(super) fn other_ids(&self) -> impl Iterator<Item = &Value> {
        self.answers.iter().map(|(id, _)| id)
    }

    /// Methods of what the agent has asked for so far.
    pub(super) fn asked(&self) -> &[String] {
        &self.asked
    }

    /// Closes its stdin, and waits for its end. It cannot be spoken to afterwards.
    pub(super) async fn close_input(&mut self, limit: Duration) -> Option<Exit> {
        self.peer.close_input(Instant::now() + limit).await
    }

    /// Asks it by a signal to end, and waits for its end. It cannot be spoken to afterwards.
    pub(super) async fn terminate(&mut self, limit: Duration) -> Option<Exit> {
        self.peer.terminate(Instant::now() + limit).await
    }

    /// Ends it. Returns what was heard from it, and why what was made for it could not be removed.
    pub(super) async fn end(self) -> (Heard, Option<String>) {
        (self.heard, self.peer.end().await)
    }
}

/// That a request went unanswered.
pub(super) fn silent(silence: Silence, method: &str) -> Trouble {
    let method = quote(method);
    match silence {
        Silence::Timeout => Trouble::Silent(format!("does not answer {method}")),
        Silence::Exited(exit) => Trouble::Fail(format!("ends ({}) instead of answering {method}", exit.describe())),
        Silence::Closed => Trouble::Fail(format!("closes its stdout instead of answering {method}")),
        Silence::Overflow(_) => Trouble::Fail(format!("writes more than is read instead of answering {method}")),
    }
}

/// Whether an answer refuses: what an agent that wants to be signed in to first answers says nothing of the request.
pub(super) fn refused(answer: &Answer, what: &str) -> Result<(), Trouble> {
    match answer {
        Err(error) if error.asks_for_sign_in() => Err(Trouble::NotExercised(needs_sign_in(error))),
        Err(_) => Ok(()),
        Ok(_) => Err(Trouble::Fail(format!("accepts {what}"))),
    }
}

/// Why a check cannot be made before signing in.
pub(super) fn needs_sign_in(error: &RpcError) -> String {
    format!("needs a sign-in: {}", error.describe())
}

/// Whether an answer is an error of this code.
pub(super) fn error_of_code(answer: &Answer, code: i64, what: &str) -> Result<(), Trouble> {
    match answer {
        Err(error) if error.code == Some(code) => Ok(()),
        Err(error) => {
            Err(Trouble::Fail(format!("answers {what} with {} instead of the code {code}", error.describe())))
        }
        Ok(_) => Err(Trouble::Fail(format!("answers {what} with a result instead of the code {code}"))),
    }
}
