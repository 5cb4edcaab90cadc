//! The HTTP server of the scripted model.

use std::convert::Infallible;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use acp_registry_plan::json::check_at_most;
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::header::{self, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use super::api::Api;
use super::body::{Body, STALL, full, half, stream};
use super::reply::{End, ModelReply, ReplyMessage};
use super::state::Shared;
use crate::mcp;

/// Maximum size of a request's body, in bytes.
const BODY: usize = 4 << 20;

/// Maximum size of all bodies that are being received, in bytes. One body at a time may go beyond it.
const BODIES: usize = 8 << 20;

/// Maximum number of values in a body. Each takes up to two hundred bytes.
const VALUES: usize = 50_000;

/// Maximum size of the headers of a request, in bytes.
const HEADERS: usize = 64 << 10;

/// Maximum number of connections at once. Further ones wait.
const CONNECTIONS: usize = 100;

/// Time limit for the headers of a request, and for its body.
const RECEIVE: Duration = Duration::from_secs(20);

/// Time limit for a connection.
const CONNECTION: Duration = Duration::from_mins(10);

/// The pause after a connection could not be accepted, so that a lack of descriptors does not cause a busy loop.
const RETRY: Duration = Duration::from_millis(50);

/// Accepts connections until the future is dropped, which closes them.
pub(super) async fn serve(listener: TcpListener, state: Arc<Shared>) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    let room = Arc::new(Room { bytes: Semaphore::new(BODIES), beyond: Semaphore::new(1) });
    let mut connections = JoinSet::new();
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let Ok((socket, _)) = listener.accept().await else {
            sleep(RETRY).await;
            continue;
        };
        while connections.try_join_next().is_some() {}
        // Chunks are sent at once, as a model does.
        let _ = socket.set_nodelay(true);
        let (state, room) = (Arc::clone(&state), Arc::clone(&room));
        connections.spawn(async move {
            let service = service_fn(|request| answer(request, &state, &room));
            let connection = hyper::server::conn::http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(RECEIVE)
                .max_buf_size(HEADERS)
                .serve_connection(TokioIo::new(socket), service);
            // An error is a client that has gone or that sent no HTTP.
            let _ = timeout(CONNECTION, connection).await;
            drop(place);
        });
    }
}

/// What bodies that are being received may take together.
struct Room {
    bytes: Semaphore,
    /// The place of the one that may go beyond, so that some body always arrives.
    beyond: Semaphore,
}

/// A body, which gives its room back when it is dropped.
struct Received<'a> {
    bytes: Vec<u8>,
    _room: (Option<SemaphorePermit<'a>>, Option<SemaphorePermit<'a>>),
}

async fn answer(request: Request<Incoming>, state: &Arc<Shared>, room: &Room) -> Result<Response<Body>, Infallible> {
    Ok(respond(request, state, room).await.unwrap_or_else(|refusal| *refusal))
}

/// The response to a request, or the one that refuses its body.
async fn respond(
    request: Request<Incoming>,
    state: &Arc<Shared>,
    room: &Room,
) -> Result<Response<Body>, Box<Response<Body>>> {
    Ok(match route(request.method(), request.uri().path()) {
        Ok(Route::Root) => json(StatusCode::OK, &serde_json::json!({})),
        Ok(Route::Models(api)) => json(StatusCode::OK, &api.models()),
        Ok(Route::Model(api, name)) => json(StatusCode::OK, &api.model(&name)),
        Ok(Route::Mcp(number)) => {
            let header = request.headers().get(mcp::HEADER).map(|value| value.to_str().unwrap_or_default().to_owned());
            let received = receive(request, Api::Chat, room).await?;
            let answer = read(state, Api::Chat, received, |message| {
                state.add_mcp(number, header, message);
                mcp::response(message)
            })?;
            match answer {
                Some(answer) => json(StatusCode::OK, &answer),
                None => response(StatusCode::ACCEPTED, JSON, full(String::new())),
            }
        }
        Ok(Route::Count(api)) => {
            let received = receive(request, api, room).await?;
            let size = received.bytes.len();
            read(state, api, received, |_| ())?;
            json(StatusCode::OK, &api.count(size))
        }
        Ok(Route::Answer { api, model, is_streamed }) => {
            let path = request.uri().path().to_owned();
            let is_sse = request.uri().query().is_some_and(|query| query.split('&').any(|part| part == "alt=sse"));
            let received = receive(request, api, room).await?;
            let (reply, mut ticket, model, is_streamed) = read(state, api, received, |body| {
                let mut conversation = api.read(body);
                if let (Some(model), Some(is_streamed)) = (model, is_streamed) {
                    (conversation.model, conversation.is_streamed) = (model, is_streamed);
                }
                conversation.bound();
                let (reply, ticket) = Shared::reply(state, api, &path, &conversation);
                (reply, ticket, conversation.model, conversation.is_streamed)
            })?;
            match reply {
                ModelReply::Failure(status) => {
                    ticket.finish();
                    failure(api, status)
                }
                ModelReply::Message(message) if is_streamed => {
                    let writer = api.writer(&model, ticket.serial, is_sse);
                    let kind = if api == Api::Gemini && !is_sse { JSON } else { "text/event-stream" };
                    response(StatusCode::OK, kind, stream(message, writer, ticket))
                }
                ModelReply::Message(message) => {
                    if message.end == End::Stall {
                        // Dropped with the ticket when the client closes the connection.
                        sleep(STALL).await;
                    }
                    ticket.finish();
                    whole(api, &model, &message, ticket.serial)
                }
            }
        }
        Err(NoRoute::Unknown) => refuse(Api::Chat, StatusCode::NOT_FOUND, "There is nothing at this path."),
        Err(NoRoute::Needs(method)) => {
            let text = format!("This path needs the method {method}.");
            let mut response = refuse(Api::Chat, StatusCode::METHOD_NOT_ALLOWED, &text);
            if let Ok(method) = HeaderValue::from_str(method.as_str()) {
                response.headers_mut().insert(header::ALLOW, method);
            }
            response
        }
    })
}

/// Receives a body, as far as there is room for it.
async fn receive<'a>(
    request: Request<Incoming>,
    api: Api,
    room: &'a Room,
) -> Result<Received<'a>, Box<Response<Body>>> {
    let refused = |status, text| Err(Box::new(refuse(api, status, text)));
    if request.headers().get(header::CONTENT_ENCODING).is_some_and(|encoding| encoding != "identity") {
        return refused(StatusCode::UNSUPPORTED_MEDIA_TYPE, "Compressed bodies are not supported.");
    }
    let mut body = Limited::new(request.into_body(), BODY);
    let mut bytes = Vec::new();
    let (mut taken, mut beyond): (Option<SemaphorePermit<'a>>, _) = (None, None);
    // The time in which the client sends, without that in which it waits for others.
    let mut left = RECEIVE;
    loop {
        let since = Instant::now();
        let frame = match timeout(left, body.frame()).await {
            Err(_) => return refused(StatusCode::REQUEST_TIMEOUT, "The body took too long."),
            Ok(None) => return Ok(Received { bytes, _room: (taken, beyond) }),
            Ok(Some(Err(_))) => return refused(StatusCode::PAYLOAD_TOO_LARGE, "The body is too large or incomplete."),
            Ok(Some(Ok(frame))) => frame,
        };
        left = left.saturating_sub(since.elapsed());
        let Ok(data) = frame.into_data() else { continue };
        if beyond.is_none() {
            match room.bytes.try_acquire_many(u32::try_from(data.len()).unwrap_or(u32::MAX)) {
                Ok(more) => match &mut taken {
                    Some(taken) => taken.merge(more),
                    None => taken = Some(more),
                },
                Err(_) => beyond = room.beyond.acquire().await.ok(),
            }
        }
        bytes.extend_from_slice(&data);
    }
}

/// Reads a JSON body. Only one body of an agent is a tree at a time.
fn read<T>(
    state: &Shared,
    api: Api,
    received: Received<'_>,
    use_body: impl FnOnce(&Value) -> T,
) -> Result<T, Box<Response<Body>>> {
    let _alone = state.reading.lock().unwrap_or_else(PoisonError::into_inner);
    let parsed = check_at_most(&received.bytes, VALUES).and_then(|()| serde_json::from_slice(&received.bytes));
    drop(received);
    if let Ok(body @ Value::Object(_)) = parsed {
        return Ok(use_body(&body));
    }
    let text = format!("The body is not a JSON object with at most {VALUES} values.");
    Err(Box::new(refuse(api, StatusCode::BAD_REQUEST, &text)))
}

const JSON: &str = "application/json";

fn response(status: StatusCode, kind: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

fn json(status: StatusCode, value: &Value) -> Response<Body> {
    response(status, JSON, full(value.to_string()))
}

fn whole(api: Api, model: &str, message: &ReplyMessage, serial: u64) -> Response<Body> {
    let text = api.whole(model, message, serial).to_string();
    let body = if message.end == End::Break { half(text) } else { full(text) };
    response(StatusCode::OK, JSON, body)
}

/// A response to a request that the server does not accept. The connection closes, because a body may follow.
fn refuse(api: Api, status: StatusCode, text: &str) -> Response<Body> {
    let mut response = json(status, &api.error(status.as_u16(), text));
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}

/// An error of a script, with headers by which the usual clients do not repeat the request.
fn failure(api: Api, status: u16) -> Response<Body> {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = json(status, &api.error(status.as_u16(), "The model failed, as the script says."));
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("0"));
    response.headers_mut().insert("x-should-retry", HeaderValue::from_static("false"));
    response
}

/// What a request asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Route {
    /// An answer of the model. Gemini names the model in the path, and whether the answer is streamed.
    Answer { api: Api, model: Option<String>, is_streamed: Option<bool> },
    /// The number of tokens of a request.
    Count(Api),
    /// The list of models.
    Models(Api),
    /// One model.
    Model(Api, String),
    /// An MCP server.
    Mcp(u64),
    /// Whether there is a server.
    Root,
}

/// A request that has no route.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NoRoute {
    Unknown,
    /// The path needs this method.
    Needs(Method),
}

/// Maximum length of a path, in bytes.
const LENGTH: usize = 2000;

/// Finds the route. Base URLs with and without a version lead to the same routes, also when a client repeats it.
pub(super) fn route(method: &Method, path: &str) -> Result<Route, NoRoute> {
    if path.len() > LENGTH {
        return Err(NoRoute::Unknown);
    }
    let path = path.replace("%3A", ":").replace("%2F", "/");
    let is_gemini = path.split('/').any(|part| part.starts_with("v1beta") || part == "v1alpha");
    let is_version = |part: &&str| part.is_empty() || *part == "v1" || part.starts_with("v1beta") || *part == "v1alpha";
    let parts: Vec<&str> = path.split('/').skip_while(is_version).collect();
    let api = if is_gemini { Api::Gemini } else { Api::Chat };
    let answer = |api| Route::Answer { api, model: None, is_streamed: None };
    let (needed, route) = match parts.as_slice() {
        [] => (Method::GET, Route::Root),
        ["mcp", number] => (Method::POST, Route::Mcp(number.parse().map_err(|_| NoRoute::Unknown)?)),
        ["messages"] => (Method::POST, answer(Api::Anthropic)),
        ["messages", "count_tokens"] => (Method::POST, Route::Count(Api::Anthropic)),
        ["chat", "completions"] => (Method::POST, answer(Api::Chat)),
        ["responses"] => (Method::POST, answer(Api::Responses)),
        ["responses", "input_tokens"] => (Method::POST, Route::Count(Api::Responses)),
        ["models"] => (Method::GET, Route::Models(api)),
        // Vertex puts a project and a location first.
        [.., "models", name] | ["models", name, ..] => match name.rsplit_once(':') {
            Some((name, action)) => (Method::POST, gemini(name, action).ok_or(NoRoute::Unknown)?),
            None => (Method::GET, Route::Model(api, parts[1..].join("/"))),
        },
        _ => return Err(NoRoute::Unknown),
    };
    let is_allowed = *method == needed || (*method == Method::HEAD && needed == Method::GET);
    if is_allowed { Ok(route) } else { Err(NoRoute::Needs(needed)) }
}

fn gemini(name: &str, action: &str) -> Option<Route> {
    let answer = |is_streamed| {
        let model = Some(name.to_owned());
        Route::Answer { api: Api::Gemini, model, is_streamed: Some(is_streamed) }
    };
    match action {
        "generateContent" => Some(answer(false)),
        "streamGenerateContent" => Some(answer(true)),
        "countTokens" => Some(Route::Count(Api::Gemini)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_paths_have_no_route() {
        for path in [
            "/v2/messages",
            "/messages/batches",
            "/v1/embeddings",
            "/v1beta/models/a:embedContent",
            "/..",
            "/v1/chat",
            "/v1beta/models/:",
            "*",
            "/models/a:",
            "/mcp/one",
            "/mcp",
            &"/v1".repeat(1000),
        ] {
            assert_eq!(route(&Method::POST, path), Err(NoRoute::Unknown), "{path}");
        }
    }

    #[test]
    fn methods_are_checked() {
        for (path, needed) in [("/v1/messages", Method::POST), ("/v1/models", Method::GET), ("/", Method::GET)] {
            assert_eq!(route(&Method::DELETE, path), Err(NoRoute::Needs(needed)), "{path}");
        }
        assert_eq!(route(&Method::HEAD, "/"), Ok(Route::Root));
        assert_eq!(route(&Method::GET, "/v1/responses"), Err(NoRoute::Needs(Method::POST)));
    }

    #[test]
    fn versions_may_be_absent_or_repeated() {
        for prefix in ["", "/v1", "/v1/v1", "/v1beta", "//v1"] {
            let found = route(&Method::POST, &format!("{prefix}/messages"));
            assert_eq!(found, Ok(Route::Answer { api: Api::Anthropic, model: None, is_streamed: None }), "{prefix}");
        }
        assert_eq!(route(&Method::GET, "/v1beta/models"), Ok(Route::Models(Api::Gemini)));
        assert_eq!(route(&Method::GET, "/v1/models/a/b"), Ok(Route::Model(Api::Chat, "a/b".to_owned())));
        for path in ["/v1beta/models/g%3AstreamGenerateContent", "/v1/projects/p/models/g:streamGenerateContent"] {
            let expected = Route::Answer { api: Api::Gemini, model: Some("g".to_owned()), is_streamed: Some(true) };
            assert_eq!(route(&Method::POST, path), Ok(expected));
        }
    }
}
