//! The client: passes lines between two pipes and an agent that is served over a network.
//!
//! ```text
//! stdin ─→ thread ─→ one POST at a time ─→ agent
//! stdout ←─ thread ←─ outbox ←─ streams of events, or a WebSocket ←─ agent
//! ```
//!
//! No message is sent twice. A request whose answer cannot arrive any more is answered here, with an error that says why.

mod listen;

use std::collections::{HashMap, HashSet, VecDeque};
use std::io::{BufRead, Write};
use std::pin::pin;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use acp_registry_plan::failure::Failure;
use acp_registry_plan::text::printable;
use futures_util::future::{BoxFuture, FutureExt as _, OptionFuture};
use reqwest::Method;
use reqwest::header::{CONTENT_TYPE, HeaderValue};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};

use crate::client::{Client, EXCERPT, body, cause, is_stream};
use crate::endpoint::Endpoint;
use crate::message::{Envelope, LineError, failure, into_line, next_line_blocking};
use crate::{CONNECTION, MESSAGE, NAMES};

/// How many messages wait for the reader of the output before no more are read from the agent.
const OUTBOX: usize = 64;

/// How many bytes they have: two messages of the greatest length.
const ROOM: usize = 2 * MESSAGE;

/// How long a message waits for the stream that would bring its answer. Some servers send the headers of a stream with its
/// first event.
const OPENING: Duration = Duration::from_millis(300);

/// How long the stream of a session must be silent before the answer to `session/load` is passed on, which arrives by
/// another stream and could overtake the history.
const SETTLED: Duration = Duration::from_millis(30);

/// How long a server may take to accept a message after the end of the input, and to close.
const END: Duration = Duration::from_secs(1);

/// How long it may then take for `initialize`: the agent may have to start first.
const START: Duration = Duration::from_secs(10);

/// How long a server may take to open a WebSocket.
const HANDSHAKE: Duration = Duration::from_secs(30);

/// How long messages are waited for that cannot be sent any more.
const LEFT: Duration = Duration::from_millis(50);

/// How many unanswered requests are answered here at most when a connection is lost.
const REQUESTS: usize = 1000;

/// How many requests of an agent are remembered until they are answered.
const ASKED: usize = 4096;

/// How many sessions have a stream at a time. A server decides how many there are.
const STREAMS: usize = 256;

/// How many different notes are said.
const NOTES: usize = 256;

/// Why a bridge has ended before its input.
#[derive(Debug, thiserror::Error)]
pub enum BridgeError {
    /// There is no connection, or it has ended; the address and the reason.
    #[error("the connection to {0} is lost: {1}")]
    Lost(String, String),
    /// The input has a message that cannot be passed on.
    #[error("the input cannot be read: {0}")]
    Input(String),
    /// The output cannot be written; the reason.
    #[error("the output cannot be written: {0}")]
    Output(String),
    /// The caller wants no more.
    #[error("the bridge was stopped")]
    Stopped,
}

impl From<BridgeError> for Failure {
    fn from(error: BridgeError) -> Self {
        let failure = Self::unable(printable(&error.to_string()));
        match error {
            BridgeError::Lost(..) => failure.help(
                "see that a server answers there, start it again, and open an earlier session with `session/load`",
            ),
            _ => failure,
        }
    }
}

/// What the tasks that listen report.
enum Event {
    /// A stream is open: that of a session, or of the connection. It does not use HTTP/2.
    Open {
        session: Option<String>,
        is_old: bool,
    },
    /// The server has answered another status than 200, with this text.
    Refused {
        session: Option<String>,
        status: u16,
        text: String,
    },
    Message {
        session: Option<String>,
        data: Vec<u8>,
        room: OwnedSemaphorePermit,
    },
    End {
        session: Option<String>,
        reason: String,
    },
}

/// Takes what the tasks that listen report. Messages wait until there is room for them.
#[derive(Clone)]
struct Reports {
    events: mpsc::Sender<Event>,
    room: Arc<Semaphore>,
}

impl Reports {
    /// Whether anything is still taken.
    async fn send(&self, event: Event) -> bool {
        self.events.send(event).await.is_ok()
    }

    async fn send_message(&self, session: Option<String>, data: Vec<u8>) -> bool {
        let bytes = u32::try_from(data.len().min(ROOM)).unwrap_or(u32::MAX);
        let Ok(room) = self.room.clone().acquire_many_owned(bytes).await else { return false };
        self.send(Event::Message { session, data, room }).await
    }
}

/// The lines of the input.
type Lines = mpsc::Receiver<Result<Vec<u8>, LineError>>;

/// A message for the output, and its room while it waits.
type Line = (Vec<u8>, Option<OwnedSemaphorePermit>);

/// A request that the agent has not answered.
struct Pending {
    session: Option<String>,
    opens_session: bool,
}

/// The stream of a session, or of the connection.
enum Stream {
    Opening(Instant),
    /// With the time of its last message.
    Open(Instant),
    Refused,
}

/// An answer to a POST.
struct Posted {
    status: u16,
    connection: Option<HeaderValue>,
    is_stream: bool,
    body: Vec<u8>,
}

/// How a bridge passes messages.
#[derive(Debug, Clone, Copy)]
pub struct BridgeOptions {
    /// How long the server may send nothing while a request is unanswered.
    pub silence: Duration,
    /// Whether an examination reads the output, and repeats parts of it: what the agent repeats of secrets is hidden, no
    /// request is answered in place of an agent that is not reached, and after the end of the input, unanswered requests are
    /// given up as soon as a server must have accepted them.
    pub is_examined: bool,
}

/// A POST that is not answered yet, and the room for its answer.
struct Posting {
    envelope: Envelope,
    room: OwnedSemaphorePermit,
    answer: BoxFuture<'static, Result<Posted, String>>,
}

/// Passes lines between the pipes and the agent until the input ends, or `stop`; then closes the connection. `note` shows
/// what no message can say.
///
/// # Errors
/// Returns [`BridgeError`] if the connection ends first. All requests are answered then, with errors.
pub async fn bridge(
    endpoint: &Endpoint,
    input: impl BufRead + Send + 'static,
    output: impl Write + Send + 'static,
    options: BridgeOptions,
    stop: impl Future<Output = ()>,
    note: &(dyn Fn(&str) + Sync),
) -> Result<(), BridgeError> {
    let (sender, events) = mpsc::channel(OUTBOX);
    let client = Client::new(endpoint);
    let (output, written) = write_on_thread(output, options.is_examined.then(|| client.clone()));
    let mut bridge = Bridge {
        client,
        reports: Reports { events: sender, room: Arc::new(Semaphore::new(ROOM)) },
        events,
        output,
        outbox: VecDeque::new(),
        held: Vec::new(),
        head: None,
        socket: None,
        connection: None,
        pending: HashMap::new(),
        answered: HashSet::new(),
        asked: HashMap::new(),
        streams: HashMap::new(),
        known: HashSet::new(),
        is_one_stream: false,
        ends_at: None,
        options,
        note,
        said: HashSet::new(),
        tasks: JoinSet::new(),
    };
    let mut stop = pin!(stop);
    let input = read_on_thread(input);
    let result = tokio::select! {
        result = bridge.run_to_end(input) => result,
        () = &mut stop => {
            bridge.close().await;
            return Err(BridgeError::Stopped);
        }
    };
    drop(bridge);
    let written = tokio::select! { written = written => written, () = stop => return Err(BridgeError::Stopped) };
    match written {
        Ok(Err(error)) if result.is_ok() => Err(BridgeError::Output(error.to_string())),
        _ => result,
    }
}

/// Reading blocks, which must not keep the agent's messages from being passed on.
fn read_on_thread(mut input: impl BufRead + Send + 'static) -> Lines {
    let (sender, lines) = mpsc::channel(1);
    thread::spawn(move || {
        while let Some(line) = next_line_blocking(&mut input).transpose() {
            let is_last = line.is_err();
            if sender.blocking_send(line).is_err() || is_last {
                break;
            }
        }
    });
    lines
}

/// Writes lines, without the secrets of a client, if there is one.
fn write_on_thread(
    mut output: impl Write + Send + 'static,
    secrets: Option<Client>,
) -> (mpsc::Sender<Vec<u8>>, oneshot::Receiver<std::io::Result<()>>) {
    let (sender, mut lines) = mpsc::channel::<Vec<u8>>(1);
    let (end, ended) = oneshot::channel();
    thread::spawn(move || {
        let mut result = Ok(());
        while result.is_ok()
            && let Some(line) = lines.blocking_recv()
        {
            let line = secrets.iter().fold(line, |line, client| client.hide_in_message(line));
            result = output.write_all(&line).and_then(|()| output.flush());
        }
        let _ = end.send(result);
    });
    (sender, ended)
}

struct Bridge<'a> {
    client: Client,
    /// For the tasks that listen.
    reports: Reports,
    events: mpsc::Receiver<Event>,
    output: mpsc::Sender<Vec<u8>>,
    /// Messages for the output.
    outbox: VecDeque<Line>,
    /// Answers that must not overtake the stream of their session, and when they were read.
    held: Vec<(Line, String, Instant)>,
    /// The next message to send.
    head: Option<(Vec<u8>, Envelope)>,
    /// Takes messages for the WebSocket, if there is one.
    socket: Option<mpsc::Sender<Vec<u8>>>,
    connection: Option<HeaderValue>,
    /// Unanswered requests by their ids, as written.
    pending: HashMap<String, Pending>,
    /// Requests that were answered here.
    answered: HashSet<String>,
    /// The sessions of the agent's requests, by their ids.
    asked: HashMap<String, String>,
    streams: HashMap<Option<String>, Stream>,
    /// Sessions that the agent has answered with.
    known: HashSet<String>,
    /// Whether the server has one stream for a whole connection.
    is_one_stream: bool,
    /// By when the server must accept messages, set at the end of the input.
    ends_at: Option<Instant>,
    options: BridgeOptions,
    note: &'a (dyn Fn(&str) + Sync),
    /// What was said. A server could make the bridge repeat it without end.
    said: HashSet<String>,
    tasks: JoinSet<()>,
}

impl Bridge<'_> {
    /// Passes messages, then closes the connection or answers what cannot be answered any more, and writes what is left.
    async fn run_to_end(&mut self, mut input: Lines) -> Result<(), BridgeError> {
        let result = self.run(&mut input).await;
        match &result {
            Ok(()) => self.close().await,
            // There was no agent: an error would be taken for its answer.
            Err(_) if self.options.is_examined && !self.client.is_reached() => {}
            Err(error) => self.answer_all(&mut input, &error.to_string()).await,
        }
        let held: Vec<_> = self.held.drain(..).map(|(line, ..)| line).collect();
        for (line, _) in held.into_iter().chain(std::mem::take(&mut self.outbox)) {
            let _ = self.output.send(line).await;
        }
        result
    }

    async fn run(&mut self, input: &mut Lines) -> Result<(), BridgeError> {
        if self.client.endpoint.is_socket {
            let limit = HANDSHAKE.min(self.options.silence);
            let socket = timeout(limit, listen::web_socket(&self.client, &self.reports, &mut self.tasks)).await;
            let socket = socket.unwrap_or_else(|_| Err("the server does not answer the handshake".to_owned()));
            self.socket = Some(socket.map_err(|reason| self.lost(reason))?);
        }
        let output = self.output.clone();
        let mut posting: Option<Posting> = None;
        let mut posted_at = Instant::now();
        loop {
            if posting.is_none()
                && let Some((line, envelope)) = self.head.take()
            {
                match self.room(&envelope).filter(|_| self.may_send(&envelope)) {
                    Some(room) => {
                        self.expect_answer(&envelope);
                        let answer = self.send(line, &envelope);
                        posting = Some(Posting { envelope, room, answer });
                        posted_at = Instant::now();
                    }
                    None => self.head = Some((line, envelope)),
                }
            }
            let is_idle = self.head.is_none() && posting.is_none();
            if let Some(end) = self.ends_at
                && is_idle
                && (self.pending.is_empty() || self.options.is_examined && Instant::now() >= end)
            {
                return Ok(());
            }
            let post_ends = posting.as_ref().map(|post| self.post_end(&post.envelope, posted_at));
            if post_ends.is_some_and(|end| Instant::now() >= end) {
                return Err(self.lost("the server does not answer a message that was sent"));
            }
            let wake = self.next_time();
            let wake = post_ends.map_or(wake, |end| wake.min(end));
            tokio::select! {
                permit = output.reserve(), if !self.outbox.is_empty() => match (permit, self.outbox.pop_front()) {
                    (Ok(permit), Some((line, _))) => permit.send(line),
                    // The reader has gone, and wants no more.
                    _ => return Ok(()),
                },
                line = input.recv(), if self.head.is_none() && self.ends_at.is_none() => match line {
                    Some(Ok(line)) if line.trim_ascii().is_empty() => {}
                    Some(Ok(line)) => {
                        let envelope = Envelope::read(&line);
                        self.head = Some((line, envelope));
                    }
                    Some(Err(error)) => return Err(BridgeError::Input(error.to_string())),
                    None => self.ends_at = Some(Instant::now() + END),
                },
                Some(posted) = OptionFuture::from(posting.as_mut().map(|post| &mut post.answer)) => {
                    if let Some(Posting { envelope, room, .. }) = posting.take() {
                        self.take_posted(&envelope, posted, room)?;
                    }
                }
                Some(event) = self.events.recv(), if self.outbox.len() < OUTBOX => self.take(event)?,
                () = sleep_until(wake) => {
                    self.release();
                    let heard = self.client.heard();
                    if !self.pending.is_empty() && Instant::now() >= heard + self.options.silence {
                        let seconds = self.options.silence.as_secs_f64();
                        return Err(self.lost(format!("the server has sent nothing for {seconds} s")));
                    }
                }
            }
        }
    }

    /// How long the answer to a POST is waited for, whatever else the server sends.
    fn post_end(&self, sent: &Envelope, since: Instant) -> Instant {
        let end = self.ends_at.map(|end| if sent.is_initialize() { end + START } else { end });
        end.map_or(since + self.options.silence, |end| end.min(since + self.options.silence))
    }

    fn lost(&self, reason: impl Into<String>) -> BridgeError {
        BridgeError::Lost(self.client.endpoint.shown(), reason.into())
    }

    /// When to look again, if nothing happens. It is no time in the past for which nothing is done then.
    fn next_time(&self) -> Instant {
        let heard = self.client.heard();
        let mut wake = if self.pending.is_empty() {
            Instant::now() + Duration::from_hours(1)
        } else {
            heard + self.options.silence
        };
        let now = Instant::now();
        wake = self.ends_at.filter(|end| self.options.is_examined && *end > now).map_or(wake, |end| wake.min(end));
        if !self.held.is_empty() {
            wake = wake.min(Instant::now() + SETTLED);
        }
        if self.head.is_some() {
            let opening = self.streams.values().filter_map(|stream| match stream {
                Stream::Opening(since) => Some(*since + OPENING),
                _ => None,
            });
            wake = opening.filter(|opened| *opened > now).fold(wake, Instant::min);
        }
        wake
    }

    /// Shows a note once.
    fn say(&mut self, text: &str) {
        if self.said.len() < NOTES && self.said.insert(text.to_owned()) {
            (self.note)(text);
        }
    }

    /// The session that a message is sent in.
    fn session(&self, envelope: &Envelope) -> Option<String> {
        let asked = || envelope.id.as_ref().filter(|_| envelope.is_response()).and_then(|id| self.asked.get(id));
        envelope.session.clone().or_else(|| asked().cloned())
    }

    /// The room for what answers a POST itself: requests, and texts that are no messages. `None` while there is none.
    fn room(&self, envelope: &Envelope) -> Option<OwnedSemaphorePermit> {
        let is_answered = self.socket.is_none() && (envelope.is_request() || !envelope.is_object);
        let bytes = if is_answered { u32::try_from(MESSAGE).unwrap_or(u32::MAX) } else { 0 };
        let room = self.reports.room.clone();
        if is_answered && self.outbox.len() >= OUTBOX { None } else { room.try_acquire_many_owned(bytes).ok() }
    }

    /// Whether the streams are open by which the answer would arrive. Opens them.
    fn may_send(&mut self, envelope: &Envelope) -> bool {
        if self.connection.is_none() || self.socket.is_some() {
            return true;
        }
        let session = self.session(envelope).filter(|_| !self.is_one_stream);
        if session.is_some() && !self.streams.contains_key(&session) {
            self.listen(session.clone());
        }
        [None, session].iter().all(|stream| match self.streams.get(stream) {
            Some(Stream::Opening(since)) => since.elapsed() >= OPENING,
            _ => true,
        })
    }

    fn listen(&mut self, session: Option<String>) {
        let Some(connection) = self.connection.clone() else { return };
        if session.is_some() && self.streams.len() > STREAMS {
            return self.say(&format!("there are {STREAMS} sessions, and no more streams are opened"));
        }
        self.streams.insert(session.clone(), Stream::Opening(Instant::now()));
        self.tasks.spawn(listen::stream(self.client.clone(), self.reports.clone(), connection, session));
    }

    fn expect_answer(&mut self, envelope: &Envelope) {
        if let Some(id) = envelope.id.clone().filter(|_| envelope.is_request()) {
            if self.pending.is_empty() {
                self.client.hear_bytes();
            }
            self.answered.remove(&id);
            let pending = Pending { session: envelope.session.clone(), opens_session: envelope.opens_session() };
            self.pending.insert(id, pending);
        }
    }

    fn send(&mut self, line: Vec<u8>, envelope: &Envelope) -> BoxFuture<'static, Result<Posted, String>> {
        if let Some(socket) = self.socket.clone() {
            let sent = Posted { status: 202, connection: None, is_stream: false, body: Vec::new() };
            let closed = "the WebSocket is closed".to_owned();
            return async move { socket.send(line).await.map(|()| sent).map_err(|_| closed) }.boxed();
        }
        let session = self.session(envelope);
        if envelope.is_response()
            && let Some(id) = &envelope.id
        {
            self.asked.remove(id);
        }
        let request = self.client.request(Method::POST, self.connection.as_ref(), session.as_deref());
        let request = request.header(CONTENT_TYPE, "application/json").header("accept", "application/json").body(line);
        let client = self.client.clone();
        async move {
            let mut response = request.send().await.map_err(|error| cause(&error))?;
            client.hear(response.headers());
            let headers = response.headers();
            let is_stream = is_stream(headers);
            let connection = headers.get(CONNECTION).cloned();
            let status = response.status().as_u16();
            let body = if is_stream { Vec::new() } else { body(&mut response, MESSAGE).await? };
            Ok(Posted { status, connection, is_stream, body })
        }
        .boxed()
    }

    /// Reads the answer to a POST.
    fn take_posted(
        &mut self,
        sent: &Envelope,
        posted: Result<Posted, String>,
        mut room: OwnedSemaphorePermit,
    ) -> Result<(), BridgeError> {
        let Posted { status, connection, is_stream, body } = posted.map_err(|reason| self.lost(reason))?;
        let is_success = matches!(status, 200 | 202 | 204);
        if let Some(connection) = connection.filter(|_| is_success && self.connection.is_none()) {
            self.connection = Some(connection);
            self.listen(None);
        }
        let reply = Envelope::read(&body);
        if is_success && sent.is_initialize() && !reply.is_error && self.connection.is_none() && self.socket.is_none() {
            return Err(self.lost("the server answers `initialize` without the header Acp-Connection-Id"));
        }
        let is_for_sent = if sent.is_object { sent.is_request() && reply.id == sent.id } else { true };
        let is_answer = reply.is_rpc && reply.is_response() && is_for_sent;
        if is_answer && !is_stream {
            let room = room.split(body.len());
            self.take_message(None, body, room);
            return Ok(());
        }
        let text = match status {
            200 if is_stream => "answers with a stream of events, as an agent of this protocol does not".to_owned(),
            200 if sent.is_initialize() => "answers `initialize` with nothing that is an answer".to_owned(),
            200 | 202 | 204 => return Ok(()),
            _ => self.client.refusal(status, &body),
        };
        let text = format!("the server {text}");
        self.say(&text);
        // The answer may have arrived by a stream, in spite of the refusal.
        let is_open = sent.id.as_ref().is_some_and(|id| self.pending.contains_key(id));
        if is_open || !sent.is_object {
            let code = if sent.is_object { -32603 } else { -32700 };
            self.answer(sent.id.as_deref(), code, &text);
        }
        Ok(())
    }

    /// Answers a request in place of the agent.
    fn answer(&mut self, id: Option<&str>, code: i32, text: &str) {
        if let Some(id) = id {
            self.pending.remove(id);
            self.answered.insert(id.to_owned());
        }
        self.outbox.push_back((into_line(failure(id, code, text)), None));
    }

    fn take(&mut self, event: Event) -> Result<(), BridgeError> {
        match event {
            Event::Open { session, is_old } => {
                if is_old && session.is_none() && self.client.endpoint.url.scheme() == "https" {
                    self.say("the server speaks HTTP/1.1; the transport requires HTTP/2");
                }
                self.streams.insert(session, Stream::Open(Instant::now()));
            }
            Event::Refused { session: Some(session), status, .. } if matches!(status, 400 | 404 | 405 | 409 | 501) => {
                let is_first =
                    !self.streams.iter().any(|(key, stream)| key.is_some() && matches!(stream, Stream::Open(_)));
                let is_unknown = status == 404 && !self.known.contains(&session);
                self.is_one_stream |= is_first && !is_unknown;
                self.streams.insert(Some(session), Stream::Refused);
            }
            Event::Refused { status, text, .. } => {
                return Err(self.lost(format!("the server {}", self.client.refusal(status, text.as_bytes()))));
            }
            Event::Message { session, data, room } => self.take_message(session, data, Some(room)),
            Event::End { session, reason } => {
                let is_awaited = |pending: &Pending| session.is_some() && pending.session == session;
                // A stream that ends before it is open would be asked for without end.
                let is_open = matches!(self.streams.get(&session), Some(Stream::Open(_)));
                if session.is_none() || !is_open || self.pending.values().any(is_awaited) {
                    return if self.ends_at.is_some() && self.pending.is_empty() {
                        Ok(())
                    } else {
                        Err(self.lost(reason))
                    };
                }
                self.say(&format!("the stream of a session has ended: {reason}"));
                self.streams.remove(&session);
            }
        }
        Ok(())
    }

    fn take_message(&mut self, stream: Option<String>, data: Vec<u8>, room: Option<OwnedSemaphorePermit>) {
        let text = into_line(data);
        let envelope = Envelope::read(&text);
        let line = (text, room);
        if let Some(session) = &stream {
            self.streams.insert(Some(session.clone()), Stream::Open(Instant::now()));
        }
        let Some(id) = &envelope.id else { return self.outbox.push_back(line) };
        if envelope.is_request() {
            if let Some(session) = envelope.session.or(stream)
                && self.asked.len() < ASKED
                && id.len() + session.len() <= NAMES
            {
                self.asked.insert(id.clone(), session);
            }
            return self.outbox.push_back(line);
        }
        if self.answered.remove(id) {
            return self.say("the agent has answered a request late, which was answered with an error before");
        }
        let pending = self.pending.remove(id);
        // A server that invents answers opens no sessions.
        let named = envelope.result_session.filter(|_| pending.is_some());
        let opens_session = pending.as_ref().is_some_and(|pending| pending.opens_session);
        let opened = pending.and_then(|pending| pending.session.filter(|_| opens_session && !envelope.is_error));
        for session in opened.clone().into_iter().chain(named) {
            self.known.insert(session.clone());
            let key = Some(session);
            if self.socket.is_none()
                && !self.is_one_stream
                && !matches!(self.streams.get(&key), Some(Stream::Open(_) | Stream::Opening(_)))
            {
                self.listen(key);
            }
        }
        match opened.filter(|_| stream.is_none() && self.socket.is_none() && !self.is_one_stream) {
            Some(session) => self.held.push((line, session, Instant::now())),
            None => self.outbox.push_back(line),
        }
    }

    /// Passes on the answers whose sessions have been silent for long enough.
    fn release(&mut self) {
        let held = std::mem::take(&mut self.held);
        for (line, session, since) in held {
            let last = match self.streams.get(&Some(session.clone())) {
                Some(Stream::Open(last)) => since.max(*last),
                Some(Stream::Opening(last)) => since.max(*last) + OPENING,
                _ => since,
            };
            if last.elapsed() >= SETTLED {
                self.outbox.push_back(line);
            } else {
                self.held.push((line, session, since));
            }
        }
    }

    /// Closes the connection after the end of the input.
    async fn close(&mut self) {
        if let Some(socket) = self.socket.take() {
            drop(socket);
            let ended = async { while self.tasks.join_next().await.is_some() {} };
            // The messages that are still on their way are the agent's last.
            let mut events = std::mem::replace(&mut self.events, mpsc::channel(1).1);
            let outbox = &mut self.outbox;
            let rest = async {
                while let Some(event) = events.recv().await {
                    if let Event::Message { data, room, .. } = event {
                        outbox.push_back((into_line(data), Some(room)));
                    }
                }
            };
            let _ = timeout(END, async {
                tokio::select! { () = ended => {} () = rest => {} }
            })
            .await;
            return;
        }
        if self.connection.is_some() {
            let request = self.client.request(Method::DELETE, self.connection.as_ref(), None);
            match timeout(END, request.send()).await {
                Ok(Ok(response)) if response.status().is_success() || response.status() == 404 => {}
                Ok(Ok(response)) => {
                    self.say(&format!(
                        "the server {} when the connection is closed",
                        self.client.refusal(response.status().as_u16(), b"")
                    ));
                }
                Ok(Err(error)) => self.say(&format!("the connection was not closed: {}", cause(&error))),
                Err(_) => self.say("the connection was not closed in time"),
            }
        }
    }

    /// Answers all requests that the agent cannot answer any more, even those that were not sent.
    async fn answer_all(&mut self, input: &mut Lines, reason: &str) {
        let mut ids: Vec<String> = self.pending.keys().cloned().collect();
        ids.sort();
        // What is read, but not sent.
        let head = self.head.take().map(|(_, envelope)| envelope);
        ids.extend(head.filter(Envelope::is_request).and_then(|envelope| envelope.id));
        while let Ok(Some(Ok(line))) = timeout(LEFT, input.recv()).await
            && ids.len() < REQUESTS
        {
            let envelope = Envelope::read(&line);
            ids.extend(envelope.id.clone().filter(|_| envelope.is_request()));
        }
        for id in &ids {
            self.answer(Some(id), -32603, reason);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn messages_wait_until_there_is_room() {
        let (events, mut taken) = mpsc::channel(OUTBOX);
        let reports = Reports { events, room: Arc::new(Semaphore::new(ROOM)) };
        for _ in 0..2 {
            assert!(reports.send_message(None, vec![b'x'; MESSAGE]).await);
        }
        let mut third = std::pin::pin!(reports.send_message(None, vec![b'x']));
        assert!(third.as_mut().now_or_never().is_none());
        drop(taken.recv().await);
        assert!(third.await);
    }
}
