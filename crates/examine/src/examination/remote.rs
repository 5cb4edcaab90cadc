//! An agent on a network, as checks of the level `transport` speak with its server.

use std::path::PathBuf;
use std::pin::Pin;
use std::time::Duration;

use acp_registry_plan::text::{printable, quote};
use acp_registry_remote::{Answer, CONNECTION, EventStream, SESSION, Socket, Wire};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::agent::PING;
use super::client::ClientOffer;
use super::failure::{CheckFailure, fail, not_exercised};

/// The function of a check that speaks with a server.
pub(super) type Visit =
    for<'a> fn(&'a mut Remote) -> Pin<Box<dyn Future<Output = Result<(), CheckFailure>> + Send + 'a>>;

/// The headers of a message.
pub(super) const JSON: (&str, &str) = ("content-type", "application/json");

/// The header of a request for a stream.
pub(super) const EVENTS: (&str, &str) = ("accept", "text/event-stream");

/// A server, and what its checks share.
pub(super) struct Remote {
    wire: Wire,
    patience: Duration,
    /// For sessions.
    work: PathBuf,
    /// A connection that no check changes, with an open session if one was needed.
    shared: Option<Line>,
    session: Option<String>,
    /// The ids of all connections that may be open.
    open: Vec<String>,
    /// Why no connection can be opened.
    closed: Option<CheckFailure>,
}

/// A connection, with the stream that belongs to no session.
pub(super) struct Line {
    pub(super) id: String,
    pub(super) stream: Stream,
}

/// A stream, and what was read of it.
pub(super) struct Stream {
    events: EventStream,
    /// The messages before the last one that was waited for.
    pub(super) seen: Vec<Value>,
    /// The data of an event that is no message.
    pub(super) odd: Option<Vec<u8>>,
}

impl Remote {
    pub(super) fn new(wire: Wire, patience: Duration, work: PathBuf) -> Self {
        Self { wire, patience, work, shared: None, session: None, open: Vec::new(), closed: None }
    }

    /// Waits for a server, which must not take longer than other agents.
    pub(super) async fn wait<T>(
        &self,
        what: &str,
        answer: impl Future<Output = Result<T, String>>,
    ) -> Result<T, CheckFailure> {
        match timeout(self.patience, answer).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(reason)) => fail(format!("does not answer {what}: {}", printable(&reason))),
            Err(_) => Err(CheckFailure::Silent(format!("does not answer {what}"))),
        }
    }

    /// A text without what the server repeats of secrets.
    pub(super) fn hide(&self, text: &str) -> String {
        self.wire.hide(text)
    }

    /// What the server has said. Its secrets are hidden before it is cut.
    pub(super) fn quote(&self, text: &[u8]) -> String {
        quote(self.hide(&String::from_utf8_lossy(text)).trim())
    }

    /// Sends a request.
    pub(super) async fn ask(
        &self,
        method: &str,
        headers: &[(&str, &str)],
        message: &str,
    ) -> Result<Answer, CheckFailure> {
        if self.wire.is_socket() {
            let text = "the address is that of a WebSocket; with `http` instead of `ws`, streams are examined, too";
            return not_exercised(text);
        }
        self.wait(&format!("a {method}"), self.wire.ask(method, headers, message)).await
    }

    /// Sends a request that must be answered with this status.
    pub(super) async fn demand(
        &self,
        status: u16,
        what: &str,
        (method, headers, message): (&str, &[(&str, &str)], &str),
    ) -> Result<Answer, CheckFailure> {
        let answer = self.ask(method, headers, message).await?;
        if answer.status == status {
            return Ok(answer);
        }
        fail(format!("answers {what} with {} instead of {status}", answer.status))
    }

    /// Sends a message of a connection, and of a session if it has one.
    pub(super) async fn post(
        &self,
        connection: &str,
        session: Option<&str>,
        message: &Value,
    ) -> Result<Answer, CheckFailure> {
        let headers: Vec<_> =
            [JSON, (CONNECTION, connection)].into_iter().chain(session.map(|id| (SESSION, id))).collect();
        self.ask("POST", &headers, &message.to_string()).await
    }

    /// Asks for the stream of a connection, or of a session.
    pub(super) async fn stream(&self, connection: &str, session: Option<&str>) -> Result<Answer, CheckFailure> {
        let headers: Vec<_> =
            [EVENTS, (CONNECTION, connection)].into_iter().chain(session.map(|id| (SESSION, id))).collect();
        self.ask("GET", &headers, "").await
    }

    pub(super) async fn initialize(&mut self) -> Result<Answer, CheckFailure> {
        let answer = self.ask("POST", &[JSON], &initialize().to_string()).await?;
        self.open.extend(answer.header(CONNECTION).map(str::to_owned));
        Ok(answer)
    }

    /// Opens a connection and its stream; how that is done is the matter of other checks.
    pub(super) async fn connect(&mut self) -> Result<Line, CheckFailure> {
        if let Some(reason) = &self.closed {
            return Err(reason.clone());
        }
        let connected = self.begin().await;
        self.closed = connected.as_ref().err().cloned();
        connected
    }

    async fn begin(&mut self) -> Result<Line, CheckFailure> {
        let answer = self.initialize().await.map_err(CheckFailure::into_obstacle)?;
        let Some(id) = answer.header(CONNECTION).filter(|_| answer.status == 200).map(str::to_owned) else {
            let text = self.quote(&answer.body);
            let text = format!("the agent opens no connection: it answers {} {text}", answer.status);
            return not_exercised(text);
        };
        let answer = self.stream(&id, None).await.map_err(CheckFailure::into_obstacle)?;
        let status = answer.status;
        let stream = Stream::try_from(answer).map_err(|()| {
            CheckFailure::NotExercised(format!("the agent answers {status} to the stream of a connection"))
        })?;
        Ok(Line { id, stream })
    }

    /// The id of a connection that no check changes.
    pub(super) async fn connection(&mut self) -> Result<String, CheckFailure> {
        let line = match self.shared.take() {
            Some(line) => line,
            None => self.connect().await?,
        };
        Ok(self.shared.insert(line).id.clone())
    }

    /// That connection and a session of it.
    pub(super) async fn session(&mut self) -> Result<(String, String), CheckFailure> {
        let id = self.connection().await?;
        if let (None, Some(mut line)) = (&self.session, self.shared.take()) {
            let session = self.open_session(&mut line).await;
            self.shared = Some(line);
            self.session = Some(session?);
        }
        Ok((id, self.session.clone().unwrap_or_default()))
    }

    /// Opens a session, which is the matter of other levels.
    pub(super) async fn open_session(&self, line: &mut Line) -> Result<String, CheckFailure> {
        let request = request("session", "session/new", &json!({ "cwd": self.work, "mcpServers": [] }));
        self.post(&line.id, None, &request).await.map_err(CheckFailure::into_obstacle)?;
        let answer = self.answer(&mut line.stream, "session").await.map_err(CheckFailure::into_obstacle)?;
        let id = answer["result"]["sessionId"].as_str().map(str::to_owned);
        id.ok_or_else(|| {
            let text = self.quote(answer.to_string().as_bytes());
            CheckFailure::NotExercised(format!("the agent opens no session: {text}"))
        })
    }

    /// Waits for the answer with an id.
    pub(super) async fn answer(&self, stream: &mut Stream, id: &str) -> Result<Value, CheckFailure> {
        let mut left = BEFORE_ANSWER;
        let answer = async {
            loop {
                let data = stream.events.next().await?.ok_or("the stream ends")?;
                let size = data.len() + size_of::<Value>();
                left = left.checked_sub(size).ok_or("too many other messages come before")?;
                match serde_json::from_slice::<Value>(&data).ok().filter(Value::is_object) {
                    Some(message) if message["id"] == id && message.get("method").is_none() => return Ok(message),
                    Some(message) => stream.seen.push(message),
                    None => stream.odd = stream.odd.take().or(Some(data)),
                }
            }
        };
        self.wait("a request on the stream where its answer belongs", answer).await
    }

    /// Whether a stream ends.
    pub(super) async fn ends(&self, mut stream: Stream) -> bool {
        timeout(self.patience, async { while let Ok(Some(_)) = stream.events.next().await {} }).await.is_ok()
    }

    /// Whether the server speaks HTTP/2.
    pub(super) async fn has_http2(&self) -> Result<bool, CheckFailure> {
        // Says that it is no WebSocket.
        self.ask("GET", &[], "").await?;
        self.wait("HTTP/2", self.wire.has_http2()).await
    }

    /// Opens a WebSocket, and returns the answer.
    pub(super) async fn upgrade(&self) -> Result<(Socket, Answer), CheckFailure> {
        match self.wait("the handshake of a WebSocket", self.wire.upgrade()).await? {
            (Some(socket), answer) => Ok((socket, answer)),
            (None, answer) => {
                let text = format!("the agent answers {} to the handshake of a WebSocket", answer.status);
                not_exercised(text)
            }
        }
    }

    /// The next message of a WebSocket with one of these ids.
    pub(super) async fn frame(&self, socket: &mut Socket, ids: &[Value]) -> Result<Value, CheckFailure> {
        let answer = async {
            loop {
                let data = socket.next().await?.ok_or("the WebSocket is closed")?;
                let message = serde_json::from_slice::<Value>(&data).unwrap_or_default();
                if message.get("method").is_none() && ids.contains(&message["id"]) {
                    return Ok(message);
                }
            }
        };
        self.wait("a request by WebSocket", answer).await
    }

    /// Closes all connections, or those that the next check does not use.
    pub(super) async fn close(&mut self, is_last: bool) {
        let shared = self.shared.take().filter(|_| !is_last);
        let kept = shared.as_ref().map(|line| line.id.clone());
        for id in std::mem::take(&mut self.open).into_iter().filter(|id| kept.as_ref() != Some(id)) {
            let _ = self.ask("DELETE", &[(CONNECTION, &id)], "").await;
        }
        self.open.extend(kept);
        self.shared = shared;
    }
}

impl TryFrom<Answer> for Stream {
    type Error = ();

    fn try_from(answer: Answer) -> Result<Self, ()> {
        Ok(Self { events: answer.events.ok_or(())?, seen: Vec::new(), odd: None })
    }
}

/// How many bytes of other messages may come before an answer: they are kept.
const BEFORE_ANSWER: usize = 4 << 20;

pub(super) fn request(id: &str, method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

pub(super) fn initialize() -> Value {
    request("initialize", "initialize", &ClientOffer::Nothing.params(1))
}

/// A request that changes nothing.
pub(super) fn ping(id: &str) -> Value {
    request(id, PING, &json!({}))
}

/// A request of a session that changes nothing.
pub(super) fn set_unknown_mode(id: &str, session: &str) -> Value {
    request(id, "session/set_mode", &json!({ "sessionId": session, "modeId": "acp-registry-unknown" }))
}
