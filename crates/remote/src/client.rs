//! A client of one server: the headers and cookies of its requests, and when it heard of the server.

use std::error::Error;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use acp_registry_plan::text::printable;
use reqwest::header::{
    CONNECTION as CONNECTION_HEADER, COOKIE, HeaderMap, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY,
    SEC_WEBSOCKET_VERSION, UPGRADE,
};
use reqwest::{Method, Response, Upgraded};
use serde_json::Value;
use tokio::time::Instant;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Error as SocketError;
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};

use crate::endpoint::{Cookies, Endpoint};
use crate::media::has_type;
use crate::message::into_line;
use crate::{CONNECTION, MESSAGE, SESSION, UNREAD};

/// The largest part of an error's text that is repeated.
pub(crate) const EXCERPT: usize = 300;

/// The shortest secret that is hidden, in bytes: shorter ones are parts of many words.
const SECRET: usize = 4;

/// A client of one server. Its clones share the cookies.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    pub(crate) endpoint: Endpoint,
    cookies: Arc<Mutex<Cookies>>,
    /// When the server sent the last byte.
    heard: Arc<Mutex<Instant>>,
    /// Whether it has answered any request.
    is_reached: Arc<AtomicBool>,
}

/// Why there is no WebSocket.
#[derive(Debug)]
pub(crate) enum Refused {
    /// The server has answered this status, with this text.
    Status(u16, Vec<u8>),
    /// The connection has failed, or the answer is none to the request.
    Failure(String),
}

impl From<String> for Refused {
    fn from(reason: String) -> Self {
        Self::Failure(reason)
    }
}

impl Client {
    pub(crate) fn new(endpoint: &Endpoint) -> Self {
        let heard = Arc::new(Mutex::new(Instant::now()));
        Self { endpoint: endpoint.clone(), cookies: Arc::default(), heard, is_reached: Arc::default() }
    }

    /// Another client of the same conversation.
    pub(crate) fn with(&self, endpoint: Endpoint) -> Self {
        Self { endpoint, ..self.clone() }
    }

    pub(crate) fn request(
        &self,
        method: Method,
        connection: Option<&HeaderValue>,
        session: Option<&str>,
    ) -> reqwest::RequestBuilder {
        let mut headers = self.endpoint.headers.values.clone();
        if let Some(connection) = connection {
            headers.insert(CONNECTION, connection.clone());
        }
        if let Some(session) = session.and_then(|session| HeaderValue::try_from(session).ok()) {
            headers.insert(SESSION, session);
        }
        let cookies = self.cookies.lock().unwrap_or_else(PoisonError::into_inner).header(&headers);
        if let Some(cookies) = cookies {
            headers.insert(COOKIE, cookies);
        }
        self.endpoint.client.request(method, self.endpoint.url.clone()).headers(headers)
    }

    /// Opens a WebSocket. Also returns the headers of the answer.
    pub(crate) async fn upgrade(&self) -> Result<(WebSocketStream<Upgraded>, HeaderMap), Refused> {
        let key = generate_key();
        let request = self.request(Method::GET, None, None);
        let request = request.header(CONNECTION_HEADER, "Upgrade").header(UPGRADE, "websocket");
        let request = request.header(SEC_WEBSOCKET_VERSION, "13").header(SEC_WEBSOCKET_KEY, &key);
        let mut response = request.send().await.map_err(|error| cause(&error))?;
        let headers = response.headers().clone();
        self.hear(&headers);
        let status = response.status().as_u16();
        if status != 101 {
            return Err(Refused::Status(status, body(&mut response, 4 * EXCERPT).await.unwrap_or_default()));
        }
        let accepted = headers.get(SEC_WEBSOCKET_ACCEPT);
        if accepted.is_none_or(|accepted| accepted != derive_accept_key(key.as_bytes()).as_str()) {
            return Err("the server opens a WebSocket with a wrong key".to_owned().into());
        }
        let upgraded = response.upgrade().await.map_err(|error| cause(&error))?;
        let limits = WebSocketConfig::default().max_message_size(Some(MESSAGE)).max_frame_size(Some(MESSAGE));
        let limits = limits.max_write_buffer_size(UNREAD);
        Ok((WebSocketStream::from_raw_socket(upgraded, Role::Client, Some(limits)).await, headers))
    }

    /// Keeps the cookies of an answer.
    pub(crate) fn hear(&self, headers: &HeaderMap) {
        self.cookies.lock().unwrap_or_else(PoisonError::into_inner).store(headers);
        self.is_reached.store(true, Ordering::Relaxed);
        self.hear_bytes();
    }

    pub(crate) fn is_reached(&self) -> bool {
        self.is_reached.load(Ordering::Relaxed)
    }

    pub(crate) fn hear_bytes(&self) {
        *self.heard.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    pub(crate) fn heard(&self) -> Instant {
        *self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a server does that answers with this status.
    pub(crate) fn refusal(&self, status: u16, body: &[u8]) -> String {
        let name = reqwest::StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason());
        let name = name.map(|name| format!(" {name}")).unwrap_or_default();
        let text: String = self.hide(&String::from_utf8_lossy(body)).trim().chars().take(EXCERPT).collect();
        let text = printable(&text);
        let hint = match status {
            300..=399 => "; redirects are not followed",
            401 | 403 => "; --header adds credentials",
            _ => "",
        };
        if text.is_empty() {
            format!("answers {status}{name}{hint}")
        } else {
            format!("answers {status}{name}: {text}{hint}")
        }
    }

    /// Replaces what the server repeats of secret headers and cookies.
    pub(crate) fn hide(&self, text: &str) -> String {
        let cookies = self.cookies.lock().unwrap_or_else(PoisonError::into_inner);
        let secrets = self.endpoint.headers.secrets.iter().map(String::as_str).chain(cookies.values());
        let mut secrets: Vec<&str> = secrets.filter(|secret| secret.len() >= SECRET).collect();
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        secrets.into_iter().fold(text.to_owned(), |text, secret| text.replace(secret, "…"))
    }

    /// The same in a message of the agent, which may write characters as escapes. One without secrets stays as it is.
    pub(crate) fn hide_in_message(&self, line: Vec<u8>) -> Vec<u8> {
        let Ok(message) = serde_json::from_slice::<Value>(&line) else {
            return self.hide(&String::from_utf8_lossy(&line)).into_bytes();
        };
        let hidden = self.hide_in_value(message.clone());
        if hidden == message { line } else { into_line(hidden.to_string().into_bytes()) }
    }

    fn hide_in_value(&self, value: Value) -> Value {
        match value {
            Value::String(text) => self.hide(&text).into(),
            Value::Number(number) => {
                let hidden = self.hide(&number.to_string());
                if hidden == number.to_string() { number.into() } else { hidden.into() }
            }
            Value::Array(values) => values.into_iter().map(|value| self.hide_in_value(value)).collect(),
            Value::Object(members) => {
                members.into_iter().map(|(name, value)| (self.hide(&name), self.hide_in_value(value))).collect()
            }
            other => other,
        }
    }
}

/// Why a WebSocket cannot be used any more.
pub(crate) fn socket_cause(error: &SocketError) -> String {
    match error {
        SocketError::WriteBufferFull(_) => "the server does not read".to_owned(),
        error => error.to_string(),
    }
}

/// The innermost reason of an error, without the address, which may have secrets.
pub(crate) fn cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    if error.source().is_none() { "the request failed".to_owned() } else { cause.to_string() }
}

pub(crate) fn is_stream(headers: &HeaderMap) -> bool {
    has_type(headers, "text/event-stream")
}

/// The body of an answer, up to a limit.
pub(crate) async fn body(response: &mut Response, limit: usize) -> Result<Vec<u8>, String> {
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(|error| cause(&error))? {
        if body.len() + piece.len() > limit {
            return Err(format!("an answer is larger than {limit} bytes"));
        }
        body.extend_from_slice(&piece);
    }
    Ok(body)
}
