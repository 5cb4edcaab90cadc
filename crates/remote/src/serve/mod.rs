//! The server: one process of an agent for each connection, whose lines become events or frames.

mod agent;
mod link;

use std::collections::HashMap;
use std::convert::Infallible;
use std::fmt;
use std::future::pending;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use acp_registry_host::process::LaunchSpec;
use acp_registry_plan::digest::Sha256;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade};
use axum::extract::{Request, State};
use axum::http::header::{self, AUTHORIZATION, CONTENT_TYPE, HOST, ORIGIN, UPGRADE, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Router};
use futures_util::{SinkExt as _, StreamExt as _, stream};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, interval_at, sleep, timeout};
use tokio_tungstenite::tungstenite::handshake::client::generate_key;

use crate::media::{accepts_events, has_type};
use crate::message::{Envelope, into_line};
use crate::{CONNECTION, MESSAGE, SESSION, UNREAD};
use link::Link;

/// How long an agent may take to answer `initialize`. A package may be installed before.
const INITIALIZE: Duration = Duration::from_mins(5);

/// After how many pings without an answer the client of a WebSocket is not there.
const UNANSWERED: u32 = 3;

/// What clients must send, as `Authorization: Bearer …`.
#[derive(Clone)]
pub struct Secret(Sha256);

impl Secret {
    /// A token.
    #[must_use]
    pub fn new(token: &str) -> Self {
        Self(Sha256::of(token))
    }

    /// Compares digests, whose time says nothing about the token.
    fn is_in(&self, headers: &HeaderMap) -> bool {
        let value = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()).unwrap_or_default();
        value
            .split_once(' ')
            .is_some_and(|(scheme, token)| scheme.eq_ignore_ascii_case("bearer") && Sha256::of(token.trim()) == self.0)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// Shows what the operator should know.
type Note = Box<dyn Fn(&str) + Send + Sync>;

/// How an agent is served.
pub struct ServeOptions {
    /// How the process of a connection is started.
    pub launch: LaunchSpec,
    /// Where temporary directories are created.
    pub temporary: PathBuf,
    /// What clients must send; `None` lets every program of this machine in.
    pub secret: Option<Secret>,
    /// Whether the server listens on a loopback address only.
    pub is_loopback: bool,
    /// How many connections there may be at a time.
    pub connections: usize,
    /// Whether a connection has one stream, as before the revision of May 2026, instead of one more for each session.
    pub is_one_stream: bool,
    /// Shows what the operator should know.
    pub note: Note,
}

impl fmt::Debug for ServeOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServeOptions").field("launch", &self.launch.program).finish_non_exhaustive()
    }
}

/// How long clients may take, and how many there may be that the server does not know.
struct Limits {
    /// Until the first request with the token.
    first: Duration,
    /// For a body.
    body: Duration,
    /// How often the client of a WebSocket is asked whether it is there.
    ping: Duration,
    /// How many TCP connections without a request with the token there may be at a time.
    strangers: usize,
    /// How many bytes wait for the client of a WebSocket.
    unread: usize,
}

const LIMITS: Limits = Limits {
    first: Duration::from_secs(10),
    body: Duration::from_mins(2),
    ping: Duration::from_secs(20),
    strangers: 64,
    unread: UNREAD,
};

/// The place of a TCP connection among those without a request with the token, until there is one.
struct Stranger(Mutex<Option<OwnedSemaphorePermit>>);

impl Stranger {
    fn place(&self) -> std::sync::MutexGuard<'_, Option<OwnedSemaphorePermit>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends when a client that is still a stranger has had its time.
    async fn late(&self, limit: Duration) {
        sleep(limit).await;
        if self.place().is_none() {
            pending::<()>().await;
        }
    }
}

struct Server {
    options: ServeOptions,
    links: Mutex<HashMap<String, Arc<Link>>>,
    /// A place for each process of an agent, free again when all processes of the connection have ended.
    places: Arc<Semaphore>,
    limits: Limits,
    strangers: Arc<Semaphore>,
}

/// Answers with a status and a sentence.
fn refuse(status: StatusCode, text: impl Into<String>) -> Response {
    (status, format!("{}\n", text.into())).into_response()
}

/// Serves all who connect, for as long as the future is kept.
pub async fn serve(listener: TcpListener, options: ServeOptions) {
    accept(listener, Arc::new(Server::new(options, LIMITS))).await;
}

async fn accept(listener: TcpListener, server: Arc<Server>) {
    let routes = routes(server.clone());
    while let Ok(place) = server.strangers.clone().acquire_owned().await {
        let Ok((stream, _)) = listener.accept().await else {
            // There are too many open files, perhaps.
            sleep(Duration::from_secs(1)).await;
            continue;
        };
        // Messages are short, and each is waited for.
        let _ = stream.set_nodelay(true);
        let (stranger, limit) = (Arc::new(Stranger(Mutex::new(Some(place)))), server.limits.first);
        let service = TowerToHyperService::new(routes.clone().layer(Extension(stranger.clone())));
        tokio::spawn(async move {
            let builder = Builder::new(TokioExecutor::new());
            tokio::select! {
                _ = builder.serve_connection_with_upgrades(TokioIo::new(stream), service) => {}
                () = stranger.late(limit) => {}
            }
        });
    }
}

/// The service at `/acp`, without the limits of [`serve`] for clients that it does not know.
pub fn router(options: ServeOptions) -> Router {
    routes(Arc::new(Server::new(options, LIMITS)))
}

fn routes(server: Arc<Server>) -> Router {
    Router::new()
        .route("/acp", get(open_stream).post(take_message).delete(close))
        .layer(from_fn_with_state(server.clone(), admit))
        .with_state(server)
}

/// Lets only clients in that have the token, and no pages of browsers.
async fn admit(State(server): State<Arc<Server>>, request: Request, next: Next) -> Response {
    if let Some(mut refused) = server.refusal(&request) {
        // A client that is refused keeps no place of others.
        refused.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        return refused;
    }
    if let Some(stranger) = request.extensions().get::<Arc<Stranger>>() {
        stranger.place().take();
    }
    next.run(request).await
}

/// Whether an authority names this machine. A name of another host may lead here, too.
fn is_loopback(authority: &str) -> bool {
    let port = authority.rsplit_once(':').filter(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
    let host = port.map_or(authority, |(host, _)| host).trim_matches(['[', ']']);
    host.eq_ignore_ascii_case("localhost") || host.parse().is_ok_and(|address: IpAddr| address.is_loopback())
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

impl Server {
    fn new(options: ServeOptions, limits: Limits) -> Self {
        let places = Arc::new(Semaphore::new(options.connections));
        let strangers = Arc::new(Semaphore::new(limits.strangers));
        Self { options, links: Mutex::default(), places, limits, strangers }
    }

    /// The answer to a client that may not come in.
    fn refusal(&self, request: &Request) -> Option<Response> {
        let headers = request.headers();
        if headers.contains_key(ORIGIN) {
            return Some(refuse(StatusCode::FORBIDDEN, "pages of browsers are not served"));
        }
        let host = headers
            .get(HOST)
            .and_then(|host| host.to_str().ok())
            .or(request.uri().authority().map(axum::http::uri::Authority::as_str));
        if self.options.is_loopback && !host.is_some_and(is_loopback) {
            return Some(refuse(StatusCode::FORBIDDEN, "the host is not this machine"));
        }
        if self.options.secret.as_ref().is_some_and(|secret| !secret.is_in(headers)) {
            let mut response = refuse(StatusCode::UNAUTHORIZED, "the token is missing or wrong");
            response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            return Some(response);
        }
        None
    }

    fn links(&self) -> std::sync::MutexGuard<'_, HashMap<String, Arc<Link>>> {
        self.links.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The connection that a request names.
    #[expect(clippy::result_large_err, reason = "the error is the answer")]
    fn peer(&self, headers: &HeaderMap) -> Result<Arc<Link>, Response> {
        let id = text(headers, CONNECTION);
        let id = id.ok_or_else(|| refuse(StatusCode::BAD_REQUEST, "the header Acp-Connection-Id is missing"))?;
        let peer = self.links().get(id).cloned();
        peer.ok_or_else(|| refuse(StatusCode::NOT_FOUND, "there is no such connection"))
    }

    /// Starts an agent for a new connection. Returns its id.
    async fn connect(self: &Arc<Self>, is_one_stream: bool) -> Result<(String, Arc<Link>), Response> {
        let id: String = generate_key().chars().filter(char::is_ascii_alphanumeric).collect();
        let (peer, messages) = Link::new(is_one_stream);
        let place = self.places.clone().try_acquire_owned().map_err(|_| {
            let text = format!("the limit of connections, {}, is reached", self.options.connections);
            refuse(StatusCode::SERVICE_UNAVAILABLE, text)
        })?;
        let started = agent::start(&self.options.launch, &self.options.temporary).await;
        let running = started.map_err(|error| {
            (self.options.note)(&error);
            refuse(StatusCode::BAD_GATEWAY, "the agent cannot be started")
        })?;
        self.links().insert(id.clone(), peer.clone());
        let (server, own_id, own_link) = (self.clone(), id.clone(), peer.clone());
        tokio::spawn(async move {
            let ended = running.run(&own_link, messages).await;
            server.links().remove(&own_id);
            own_link.end();
            if let Some(text) = ended.end().await {
                (server.options.note)(&text);
            }
            drop(place);
        });
        Ok((id, peer))
    }
}

/// Ends a connection whose client has gone before it was told the id.
struct Guard(Option<Arc<Link>>);

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(peer) = self.0.take() {
            peer.stop();
        }
    }
}

async fn take_message(State(server): State<Arc<Server>>, headers: HeaderMap, body: Body) -> Result<Response, Response> {
    if !has_type(&headers, "application/json") {
        return Err(refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, "messages are of the type application/json"));
    }
    // A message of an unknown connection is not waited for.
    let named = if headers.contains_key(CONNECTION) { Some(server.peer(&headers)?) } else { None };
    let body = timeout(server.limits.body, to_bytes(body, MESSAGE)).await;
    let body = body.map_err(|_| refuse(StatusCode::REQUEST_TIMEOUT, "the message does not arrive"))?;
    let body =
        body.map_err(|_| refuse(StatusCode::PAYLOAD_TOO_LARGE, format!("a message is longer than {MESSAGE} bytes")))?;
    let envelope = Envelope::read(&body);
    if body.trim_ascii().first() == Some(&b'[') {
        return Err(refuse(StatusCode::NOT_IMPLEMENTED, "there are no batches of messages"));
    }
    let line = into_line(body.to_vec());
    let peer = match named {
        None if envelope.is_initialize() => return initialize(&server, line, &envelope).await,
        None => server.peer(&headers)?,
        Some(peer) => peer,
    };
    let accepted = peer.accept(&envelope, text(&headers, SESSION));
    accepted.map_err(|reason| refuse(StatusCode::BAD_REQUEST, reason))?;
    peer.send(line).await.map_err(|reason| {
        // An agent that does not read is of no more use.
        peer.stop();
        refuse(StatusCode::NOT_FOUND, reason)
    })?;
    Ok(StatusCode::ACCEPTED.into_response())
}

async fn initialize(server: &Arc<Server>, line: Vec<u8>, envelope: &Envelope) -> Result<Response, Response> {
    let (id, peer) = server.connect(server.options.is_one_stream).await?;
    let mut guard = Guard(Some(peer.clone()));
    let answer = peer.expect_initialize(envelope);
    let _ = peer.send(line).await;
    let answer = timeout(INITIALIZE, answer).await;
    let answer = answer.map_err(|_| refuse(StatusCode::GATEWAY_TIMEOUT, "the agent does not answer"))?;
    let answer = answer.map_err(|_| refuse(StatusCode::BAD_GATEWAY, "the agent has ended without an answer"))?;
    guard.0 = None;
    let headers = [(CONTENT_TYPE, "application/json"), (HeaderName::from_static(CONNECTION), id.as_str())];
    Ok((headers, answer).into_response())
}

async fn open_stream(
    State(server): State<Arc<Server>>,
    headers: HeaderMap,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Response> {
    // Some clients offer HTTP/2 by this header with each request.
    let offers = text(&headers, UPGRADE.as_str()).unwrap_or_default();
    if offers.split(',').any(|protocol| protocol.trim().eq_ignore_ascii_case("websocket")) {
        let upgrade = upgrade.map_err(IntoResponse::into_response)?;
        let (id, peer) = server.connect(true).await?;
        let guard = Guard(Some(peer.clone()));
        let ping = server.limits.ping;
        let upgrade = upgrade.max_message_size(MESSAGE).max_frame_size(MESSAGE);
        let upgrade = upgrade.max_write_buffer_size(server.limits.unread);
        let mut response = upgrade.on_upgrade(move |socket| async move {
            let _guard = guard;
            speak(socket, peer, ping).await;
        });
        if let Ok(id) = HeaderValue::try_from(id) {
            response.headers_mut().insert(CONNECTION, id);
        }
        return Ok(response);
    }
    if !accepts_events(&headers) {
        return Err(refuse(StatusCode::NOT_ACCEPTABLE, "streams are of the type text/event-stream"));
    }
    let listener = server.peer(&headers)?.listen(text(&headers, SESSION));
    let listener = listener.map_err(|reason| refuse(StatusCode::CONFLICT, reason))?;
    let events = stream::unfold(listener, |mut listener| async move {
        let line = listener.next().await?;
        Some((Ok::<_, Infallible>(Event::default().data(String::from_utf8_lossy(line.trim_ascii_end()))), listener))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::default()).into_response())
}

async fn close(State(server): State<Arc<Server>>, headers: HeaderMap) -> Result<Response, Response> {
    let peer = server.peer(&headers)?;
    if let Some(id) = text(&headers, CONNECTION) {
        server.links().remove(id);
    }
    peer.stop();
    Ok(StatusCode::ACCEPTED.into_response())
}

/// Passes frames and lines until one side ends.
async fn speak(socket: WebSocket, peer: Arc<Link>, ping: Duration) {
    let Ok(mut listener) = peer.listen(None) else { return };
    let (mut sink, mut source) = socket.split();
    let unanswered = AtomicU32::new(0);
    let reader = async {
        while let Some(Ok(message)) = source.next().await {
            unanswered.store(0, Ordering::Relaxed);
            let line = match message {
                Message::Text(text) => into_line(text.as_bytes().to_vec()),
                Message::Close(_) => break,
                _ => continue,
            };
            // What is no message is passed on, too: the agent answers it.
            let _ = peer.accept(&Envelope::read(&line), None);
            if peer.send(line).await.is_err() {
                break;
            }
        }
    };
    let writer = async {
        let mut pings = interval_at(Instant::now() + ping, ping);
        loop {
            let message = tokio::select! {
                line = listener.next() => match line {
                    Some(line) => Message::Text(String::from_utf8_lossy(line.trim_ascii_end()).into_owned().into()),
                    None => break,
                },
                _ = pings.tick() => {
                    if unanswered.fetch_add(1, Ordering::Relaxed) >= UNANSWERED {
                        return;
                    }
                    Message::Ping(Bytes::new())
                }
            };
            // A client that does not read gets no pings, either.
            if !matches!(timeout(UNANSWERED * ping, sink.send(message)).await, Ok(Ok(()))) {
                return;
            }
        }
        let frame = CloseFrame { code: 1011, reason: "the agent has ended".into() };
        let _ = sink.send(Message::Close(Some(frame))).await;
    };
    tokio::select! {
        () = reader => {}
        () = writer => {}
    }
}

#[cfg(test)]
mod tests {
    #[cfg(unix)]
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    #[test]
    fn names_that_lead_to_this_machine_are_not_its_own() {
        for own in ["localhost", "LOCALHOST:80", "127.0.0.1:1", "[::1]:8", "[::1]", "127.9.9.9"] {
            assert!(is_loopback(own), "{own}");
        }
        for other in ["evil.example", "localhost.evil.example:80", "10.0.0.1", "", "[::2]:1"] {
            assert!(!is_loopback(other), "{other}");
        }
    }

    #[test]
    fn a_token_is_compared_whole() {
        let secret = Secret::new("abc");
        let is_in = |value: &str| secret.is_in(&HeaderMap::from_iter([(AUTHORIZATION, value.parse().unwrap())]));
        assert!(is_in("Bearer abc") && is_in("bearer abc"));
        for wrong in ["abc", "Bearer ab", "Bearer abcd", "Basic abc", "Bearer"] {
            assert!(!is_in(wrong), "{wrong}");
        }
        assert!(!secret.is_in(&HeaderMap::new()) && !format!("{secret:?}").contains("abc"));
    }

    /// A server of a program, for one connection.
    #[cfg(unix)]
    fn server(program: &str, arguments: Vec<std::ffi::OsString>, directory: &std::path::Path) -> Server {
        use acp_registry_host::process::{Environment, Isolation};

        let launch = LaunchSpec {
            program: program.into(),
            arguments,
            directory: Some(directory.to_owned()),
            environment: Environment::for_person([("PATH".into(), "/usr/bin:/bin".into())]),
            isolation: Isolation::Environment,
            readable: Vec::new(),
            launcher: None,
            namespace: None,
        };
        let options = ServeOptions {
            launch,
            temporary: directory.to_owned(),
            secret: None,
            is_loopback: true,
            connections: 1,
            is_one_stream: false,
            note: Box::new(|_| {}),
        };
        Server::new(options, LIMITS)
    }

    /// The address of a server that runs with the test.
    #[cfg(unix)]
    async fn listen(server: Arc<Server>) -> std::net::SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(accept(listener, server));
        address
    }

    /// What a server answers, up to the end of the connection, or else of the head.
    #[cfg(unix)]
    async fn answer(client: &mut tokio::net::TcpStream, text: &str, to_end: bool) -> String {
        client.write_all(text.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        while to_end || !answer.ends_with(b"\r\n\r\n") {
            let Ok(byte) = client.read_u8().await else { break };
            answer.push(byte);
        }
        String::from_utf8_lossy(&answer).into_owned()
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_client_without_the_token_is_left_and_takes_no_place_of_others() {
        let directory = tempfile::tempdir().unwrap();
        let start = |first| {
            let mut server = server("cat", Vec::new(), directory.path());
            server.limits.first = first;
            server.strangers = Arc::new(Semaphore::new(1));
            server.options.secret = Some(Secret::new("abc"));
            Arc::new(server)
        };
        // Half a request, one with a wrong token, and HTTP/2 without a request: each is closed, which lets the next in. Only
        // the one that is answered is not waited for.
        let wrong = "DELETE /acp HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ab\r\n\r\n";
        for text in ["", "GET /acp HTTP/1.1\r\nhost: localhost\r\n", wrong, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"] {
            let limit = if text == wrong { Duration::from_hours(1) } else { Duration::from_millis(50) };
            let address = listen(start(limit)).await;
            for _ in 0..2 {
                let mut client = tokio::net::TcpStream::connect(address).await.unwrap();
                let answer = answer(&mut client, text, true).await;
                assert_eq!(answer.starts_with("HTTP/1.1 401 "), text == wrong, "{text}: {answer}");
            }
        }
        let server = start(Duration::from_millis(50));
        let address = listen(server.clone()).await;
        // Those with the token are no strangers: they stay, and others are let in.
        let known = wrong.replace("Bearer ab", "Bearer abc");
        let mut clients = Vec::new();
        for _ in 0..3 {
            let mut client = tokio::net::TcpStream::connect(address).await.unwrap();
            assert!(answer(&mut client, &known, false).await.starts_with("HTTP/1.1 400 "));
            clients.push(client);
        }
        sleep(2 * server.limits.first).await;
        for client in &mut clients {
            assert!(answer(client, &known, false).await.contains("HTTP/1.1 400 "));
        }
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_silent_client_keeps_its_place_among_strangers() {
        let directory = tempfile::tempdir().unwrap();
        let mut server = server("cat", Vec::new(), directory.path());
        server.limits.first = Duration::from_hours(1);
        server.strangers = Arc::new(Semaphore::new(2));
        let server = Arc::new(server);
        let address = listen(server.clone()).await;
        let client = tokio::net::TcpStream::connect(address).await.unwrap();
        // One place is the client's, and one waits for the next.
        while server.strangers.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        let _second = tokio::net::TcpStream::connect(address).await.unwrap();
        let mut third = tokio::net::TcpStream::connect(address).await.unwrap();
        drop(client);
        let request = "DELETE /acp HTTP/1.1\r\nhost: localhost\r\n\r\n";
        assert!(answer(&mut third, request, false).await.starts_with("HTTP/1.1 400 "));
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_body_has_a_limit_in_time_and_in_bytes() {
        let directory = tempfile::tempdir().unwrap();
        for (body, status) in [(Duration::from_millis(50), 408), (LIMITS.body, 413)] {
            let mut server = server("cat", Vec::new(), directory.path());
            server.limits.body = body;
            let mut client = tokio::net::TcpStream::connect(listen(Arc::new(server)).await).await.unwrap();
            let head = format!(
                "POST /acp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
                 content-length: {}\r\n\r\n{{",
                MESSAGE + 2
            );
            let rest = if status == 413 { MESSAGE } else { 0 };
            client.write_all((head + &" ".repeat(rest)).as_bytes()).await.unwrap();
            let answer = answer(&mut client, "", false).await;
            assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
        }
    }

    /// A WebSocket to a server, before the answer to its handshake is read.
    #[cfg(unix)]
    async fn open_socket(server: Server) -> tokio::net::TcpStream {
        let mut client = tokio::net::TcpStream::connect(listen(Arc::new(server)).await).await.unwrap();
        let head = format!(
            "GET /acp HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
             sec-websocket-version: 13\r\nsec-websocket-key: {}\r\n\r\n",
            generate_key()
        );
        client.write_all(head.as_bytes()).await.unwrap();
        client
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn answers_to_pings_that_no_client_reads_take_no_memory() {
        let directory = tempfile::tempdir().unwrap();
        let mut server = server("cat", Vec::new(), directory.path());
        (server.limits.ping, server.limits.unread) = (Duration::from_hours(1), 1 << 20);
        let mut client = open_socket(server).await;
        assert!(answer(&mut client, "", false).await.starts_with("HTTP/1.1 101 "));
        // More than the system keeps of a connection.
        let ping = [&[0x89, 0xf8, 0, 0, 0, 0][..], &[b'x'; 120]].concat().repeat(2000);
        let count = (32 << 20) / ping.len();
        for _ in 0..count {
            client.write_all(&ping).await.unwrap();
        }
        // The agent sends this back, after all answers, or the connection has ended.
        let last = br#"{"method":"end"}"#;
        client.write_all(&[&[0x81, 0x90, 0, 0, 0, 0][..], last].concat()).await.unwrap();
        let (mut answers, mut from) = (Vec::new(), 0);
        while !answers[from..].windows(last.len()).any(|bytes| bytes == last) {
            from = answers.len().saturating_sub(last.len());
            if client.read_buf(&mut answers).await.unwrap_or_default() == 0 {
                break;
            }
        }
        assert!(answers.len() < count * 2000 * 122, "{} bytes", answers.len());
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_client_that_answers_no_ping_is_left() {
        let directory = tempfile::tempdir().unwrap();
        let mut server = server("cat", Vec::new(), directory.path());
        server.limits.ping = Duration::from_millis(20);
        let mut client = open_socket(server).await;
        let mut answer = Vec::new();
        // The end of the connection, which would not come without the pings.
        client.read_to_end(&mut answer).await.unwrap();
        assert!(answer.starts_with(b"HTTP/1.1 101 "));
        assert!(answer.ends_with(&[0x89, 0, 0x89, 0, 0x89, 0]), "{answer:?}");
    }

    #[cfg(unix)]
    #[tokio::test]
    #[expect(clippy::disallowed_methods, reason = "asks the system whether a process runs")]
    async fn a_place_is_free_after_the_process_has_ended() {
        let directory = tempfile::tempdir().unwrap();
        let script = "trap '' TERM; echo $$ > \"$1\"; while :; do sleep 0.01; done";
        let file = directory.path().join("id");
        let arguments = vec!["-c".into(), script.into(), "sh".into(), file.clone().into()];
        let server = Arc::new(server("sh", arguments, directory.path()));
        let (_, first) = server.connect(false).await.unwrap();
        let id = loop {
            match std::fs::read_to_string(&file) {
                Ok(text) if text.ends_with('\n') => break text.trim().to_owned(),
                _ => tokio::task::yield_now().await,
            }
        };
        let refused = server.connect(false).await.err().map(|response| response.status());
        assert_eq!(refused, Some(StatusCode::SERVICE_UNAVAILABLE));
        first.stop();
        let second = loop {
            match server.connect(false).await {
                Ok((_, second)) => break second,
                Err(_) => tokio::task::yield_now().await,
            }
        };
        let asks = std::process::Command::new("sh").args(["-c", "kill -0 \"$1\" 2>/dev/null", "sh", &id]).status();
        assert!(!asks.unwrap().success(), "{id} runs");
        second.stop();
    }
}
