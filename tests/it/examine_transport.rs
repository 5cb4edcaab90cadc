//! Examinations at the level `transport`: a server that keeps to the transport, and servers that each break one rule of it.

use std::collections::HashSet;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use acp_registry::examination::{CHECKS, CheckVerdict, Examination, ExaminationPlan, Level};
use acp_registry::http::Settings;
use acp_registry::remote::{CONNECTION, Endpoint, Headers, SESSION, ServeOptions, router};
use axum::body::{Body, to_bytes};
use axum::extract::ws::{Message, WebSocketUpgrade};
use axum::extract::{FromRequestParts as _, Request, State};
use axum::http::header::{ACCEPT, CONTENT_TYPE, UPGRADE};
use axum::http::{HeaderValue, Method, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use futures_util::{StreamExt as _, stream};
use serde_json::Value;

use crate::agent::{launch, tag};
use crate::examined::{for_each, planned, with};

/// The rule that a server breaks, the check that notices, and a part of its message.
const FAULTS: &[(&str, &str, &str)] = &[
    ("accept", "accept", "another `Accept` with 409 instead of 406"),
    ("accepted-status", "accepted", "answers a request with 200 instead of 202"),
    ("accepted-body", "accepted", "with 202 and a body"),
    ("batches", "batches", "a batch with 400 instead of 501"),
    ("binary-frames", "binary-frames", "answers a binary frame"),
    ("binary-frames-end", "binary-frames", "does not answer a request by WebSocket"),
    ("content-type", "content-type", "of the type `text/plain` with 202 instead of 415"),
    ("delete-status", "delete", "answers DELETE with 200 instead of 202"),
    ("delete-stream", "delete", "does not end the stream"),
    ("delete-id", "delete", "after DELETE with 202 instead of 404"),
    ("events-type", "events", "another type than `text/event-stream`"),
    ("events-data", "events", "whose data is no message: `ready`"),
    ("http2", "http2", "speaks HTTP/1.1 only"),
    ("initialize-type", "initialize", "with another type than `application/json`"),
    ("initialize-id", "initialize", "without a header `Acp-Connection-Id`"),
    ("initialize-status", "initialize", "with 202 instead of 200"),
    ("initialize-body", "initialize", "without the result as the body"),
    ("initialize-other", "initialize", "with another `connectionId` than `Acp-Connection-Id`"),
    ("missing-connection", "missing-connection", "a POST without `Acp-Connection-Id` with 404 instead of 400"),
    ("missing-session", "missing-session", "without `Acp-Session-Id` with 202 instead of 400"),
    ("other-connection", "other-connection", "to another connection"),
    ("second-stream", "second-stream", "after it was asked for twice"),
    ("session-streams", "session-streams", "answers 409 to the stream of a session"),
    ("session-streams-one", "session-streams", "by the stream of the connection"),
    ("unknown-connection", "unknown-connection", "a POST of an unknown connection with 400 instead of 404"),
    ("web-socket", "web-socket", "without a header `Acp-Connection-Id`"),
];

/// A server of the fake agent that breaks a rule.
#[derive(Clone)]
struct Broken {
    fault: &'static str,
    state: Arc<Mutex<Known>>,
}

#[derive(Default)]
struct Known {
    /// The connection that was opened last.
    newest: Option<HeaderValue>,
    /// The connections whose stream was asked for.
    streams: HashSet<HeaderValue>,
    /// The connections that were deleted, or whose stream was asked for again.
    over: Vec<HeaderValue>,
}

/// The address of a server, which runs until the tests end.
fn serve(fault: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    listener.set_nonblocking(true).unwrap();
    let options = ServeOptions {
        launch: launch(&["sessions", "", ""], &tag()),
        temporary: std::env::temp_dir(),
        secret: None,
        is_loopback: true,
        connections: 8,
        is_one_stream: fault == "session-streams",
        note: Box::new(|_| ()),
    };
    let broken = Broken { fault, state: Arc::default() };
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            axum::serve(listener, router(options).layer(from_fn_with_state(broken, break_rule))).await.unwrap();
        });
    });
    if fault == "http2" { without_http2(address) } else { address }
}

/// Passes on what is no HTTP/2.
fn without_http2(server: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for client in listener.incoming() {
            thread::spawn(move || {
                let mut client = client.unwrap();
                let mut start = [0; 3];
                if client.read_exact(&mut start).is_err() || start == *b"PRI" {
                    return;
                }
                let mut own = TcpStream::connect(server).unwrap();
                own.write_all(&start).unwrap();
                let (mut answers, mut back) = (own.try_clone().unwrap(), client.try_clone().unwrap());
                thread::spawn(move || std::io::copy(&mut answers, &mut back));
                let _ = std::io::copy(&mut client, &mut own);
            });
        }
    });
    address
}

async fn break_rule(State(broken): State<Broken>, mut request: Request, next: Next) -> Response {
    let Broken { fault, state } = broken;
    let (method, has) =
        (request.method().clone(), |request: &Request, name: &str| request.headers().contains_key(name));
    let connection = request.headers().get(CONNECTION).cloned();
    let is_upgrade = has(&request, UPGRADE.as_str());
    let is_stream = method == Method::GET && !is_upgrade;
    let is_initialize = method == Method::POST && connection.is_none();
    let is_over = connection.as_ref().is_some_and(|id| state.lock().unwrap().over.contains(id));
    match fault {
        "accept" if is_stream => {
            request.headers_mut().insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        }
        "content-type" if method == Method::POST => {
            request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        "binary-frames" | "binary-frames-end" if is_upgrade => return web_socket(request, fault).await,
        "delete-stream" if method == Method::DELETE && connection.is_some() => {
            return StatusCode::ACCEPTED.into_response();
        }
        "delete-id" if method == Method::DELETE => state.lock().unwrap().over.extend(connection.clone()),
        "missing-session" if method == Method::POST && !has(&request, SESSION) => {
            let (mut parts, body) = request.into_parts();
            let body = to_bytes(body, usize::MAX).await.unwrap();
            let message: Value = serde_json::from_slice(&body).unwrap_or_default();
            if let Some(session) = message["params"]["sessionId"].as_str() {
                parts.headers.insert(SESSION, session.parse().unwrap());
            }
            request = Request::from_parts(parts, Body::from(body));
        }
        "other-connection" if method == Method::POST && has(&request, SESSION) => {
            let newest = state.lock().unwrap().newest.clone().unwrap();
            request.headers_mut().insert(CONNECTION, newest);
        }
        // Answers of a session are those of the connection.
        "session-streams-one" if method == Method::POST && has(&request, SESSION) => {
            let (mut parts, body) = request.into_parts();
            let body = to_bytes(body, usize::MAX).await.unwrap();
            let message: Value = serde_json::from_slice(&body).unwrap();
            let again = serde_json::json!({ "jsonrpc": "2.0", "id": message["id"], "method": "_ping", "params": {} });
            parts.headers.remove(SESSION);
            parts.headers.remove("content-length");
            request = Request::from_parts(parts, Body::from(again.to_string()));
        }
        // What is sent after the stream was asked for twice is lost.
        "second-stream" if is_stream && request.headers()[ACCEPT] == "text/event-stream" && !has(&request, SESSION) => {
            let (mut state, key) = (state.lock().unwrap(), connection.clone().unwrap_or(HeaderValue::from_static("")));
            if !state.streams.insert(key.clone()) {
                state.over.push(key);
            }
        }
        "second-stream" if is_over && method == Method::POST => return StatusCode::ACCEPTED.into_response(),
        _ => {}
    }
    let mut response = next.run(request).await;
    if let Some(id) = response.headers().get(CONNECTION) {
        state.lock().unwrap().newest = Some(id.clone());
    }
    let is_unknown = connection.as_ref().is_some_and(|id| id == "acp-registry-unknown");
    let status = response.status().as_u16();
    match (fault, status) {
        ("accepted-status", 202) if method == Method::POST => *response.status_mut() = StatusCode::OK,
        ("accepted-body", 202) if method == Method::POST => *response.body_mut() = Body::from("{}"),
        ("batches", 501) => *response.status_mut() = StatusCode::BAD_REQUEST,
        ("delete-status", 202) if method == Method::DELETE => *response.status_mut() = StatusCode::OK,
        ("delete-id", 404) if is_over => *response.status_mut() = StatusCode::ACCEPTED,
        ("events-type", 200) if is_stream => {
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
        }
        ("events-data", 200) if is_stream => {
            let body = std::mem::take(response.body_mut()).into_data_stream();
            let first = stream::once(async { Ok("data: ready\n\n".into()) });
            *response.body_mut() = Body::from_stream(first.chain(body));
        }
        ("initialize-type", 200) if is_initialize => {
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
        }
        ("initialize-id", 200) if is_initialize => drop(response.headers_mut().remove(CONNECTION)),
        ("initialize-status", 200) if is_initialize => *response.status_mut() = StatusCode::ACCEPTED,
        ("initialize-body", 200) if is_initialize => *response.body_mut() = Body::from("{}"),
        ("initialize-other", 200) if is_initialize => {
            let (mut parts, body) = response.into_parts();
            let body = to_bytes(body, usize::MAX).await.unwrap();
            let mut answer: Value = serde_json::from_slice(&body).unwrap();
            answer["result"]["connectionId"] = "other".into();
            parts.headers.remove("content-length");
            response = Response::from_parts(parts, Body::from(answer.to_string()));
        }
        ("missing-connection", 400) if connection.is_none() => *response.status_mut() = StatusCode::NOT_FOUND,
        ("unknown-connection", 404) if is_unknown => *response.status_mut() = StatusCode::BAD_REQUEST,
        ("web-socket", 101) => drop(response.headers_mut().remove(CONNECTION)),
        _ => {}
    }
    response
}

/// A WebSocket that does something with binary frames.
async fn web_socket(request: Request, fault: &'static str) -> Response {
    let (mut parts, _) = request.into_parts();
    let upgrade = WebSocketUpgrade::from_request_parts(&mut parts, &()).await.unwrap();
    let mut response = upgrade.on_upgrade(move |mut socket| async move {
        while let Some(Ok(message)) = socket.recv().await {
            let data = match message {
                Message::Binary(_) if fault == "binary-frames-end" => return,
                Message::Text(text) => text.as_bytes().to_vec(),
                Message::Binary(data) => data.to_vec(),
                _ => continue,
            };
            let message: Value = serde_json::from_slice(&data).unwrap();
            let answer = serde_json::json!({ "jsonrpc": "2.0", "id": message["id"], "result": {} });
            let _ = socket.send(Message::Text(answer.to_string().into())).await;
        }
    });
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("c"));
    response
}

fn examined(scheme: &str, address: SocketAddr) -> Examination {
    let url = format!("{scheme}://{address}/acp");
    let mut plan = ExaminationPlan::up_to(Level::Transport);
    plan.endpoint = Some(Endpoint::new(&url, &Headers::default(), &Settings::default()).unwrap());
    // Long enough for a busy machine; only the faults that are silence wait so long.
    planned(&["sessions", "", ""], Duration::from_secs(8), &plan)
}

#[test]
fn each_fault_fails_its_check_and_no_other() {
    for_each(FAULTS, |(fault, check, part)| {
        let examination = examined("http", serve(fault));
        let found = with(&examination, &[CheckVerdict::Fail, CheckVerdict::Warning]);
        let is_right = found.len() == 1 && found[0].0 == format!("transport/{check}") && found[0].1.contains(part);
        if is_right { Ok(()) } else { Err(format!("{fault}: {found:?}")) }
    });
}

#[test]
fn each_check_has_a_fault() {
    for check in CHECKS.iter().filter(|check| check.level() == Level::Transport) {
        assert!(FAULTS.iter().any(|(_, name, _)| check.id == format!("transport/{name}")), "{}", check.id);
    }
}

#[test]
fn a_server_without_a_fault_passes_all() {
    let address = serve("none");
    let not_passed = |scheme: &str| {
        let examination = examined(scheme, address);
        let rest = with(&examination, &[CheckVerdict::Fail, CheckVerdict::Warning, CheckVerdict::NotExercised]);
        rest.into_iter().map(|(id, text)| (id.to_owned(), text.to_owned())).collect::<Vec<_>>()
    };
    assert_eq!(not_passed("http"), []);
    // Of a WebSocket, nothing else is known.
    let all = CHECKS.iter().filter(|check| check.level() == Level::Transport).count();
    let rest = not_passed("ws");
    assert_eq!(rest.len(), all - 2, "{rest:?}");
    assert!(rest.iter().all(|(_, text)| text.contains("with `http` instead of `ws`")), "{rest:?}");
}

#[test]
fn a_server_that_is_not_there_fails_or_is_not_exercised() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let examination = examined("http", address);
    assert_eq!(with(&examination, &[CheckVerdict::Pass]), []);
    let found = with(&examination, &[CheckVerdict::Fail]);
    assert!(found.iter().any(|(id, _)| *id == "transport/initialize"), "{found:?}");
}
