//! Single requests to a server, and all that it answers: what an examination of the transport needs.

use futures_util::{SinkExt as _, StreamExt as _};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Upgraded, Version};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::Message;

use crate::MESSAGE;
use crate::client::{Client, Refused, body, cause, is_stream, socket_cause};
use crate::endpoint::Endpoint;
use crate::events::EventStream;
use crate::media::has_type;

/// A server, to which single requests are sent.
#[derive(Debug, Clone)]
pub struct Wire(Client);

/// What a server answers.
#[derive(Debug)]
pub struct Answer {
    /// The status.
    pub status: u16,
    headers: HeaderMap,
    /// The body, unless it is a stream.
    pub body: Vec<u8>,
    /// The stream of events that a successful request has opened.
    pub events: Option<EventStream>,
}

impl Answer {
    /// A header with this name, in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Whether the body has this type.
    #[must_use]
    pub fn has_type(&self, expected: &str) -> bool {
        has_type(&self.headers, expected)
    }
}

/// A WebSocket.
#[derive(Debug)]
pub struct Socket(WebSocketStream<Upgraded>);

impl Wire {
    /// A server with no cookies yet.
    #[must_use]
    pub fn new(endpoint: &Endpoint) -> Self {
        Self(Client::new(endpoint))
    }

    /// Whether the address is that of a WebSocket.
    #[must_use]
    pub fn is_socket(&self) -> bool {
        self.0.endpoint.is_socket
    }

    /// Sends a request.
    ///
    /// # Errors
    /// Returns the reason if there is no answer.
    pub async fn ask(&self, method: &str, headers: &[(&str, &str)], message: &str) -> Result<Answer, String> {
        let verb = Method::from_bytes(method.as_bytes()).map_err(|error| error.to_string())?;
        let pair = |(name, value): &(&str, &str)| {
            Some((name.parse::<HeaderName>().ok()?, HeaderValue::try_from(*value).ok()?))
        };
        let headers = headers.iter().filter_map(pair).collect();
        let request = self.0.request(verb, None, None).headers(headers).body(message.to_owned());
        let mut response = request.send().await.map_err(|error| cause(&error))?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        self.0.hear(&headers);
        // A stream of another type may not end, either.
        if status == 200 && method == "GET" {
            let events = is_stream(&headers).then(|| EventStream::new(&self.0, response));
            return Ok(Answer { status, headers, body: Vec::new(), events });
        }
        Ok(Answer { status, headers, body: body(&mut response, MESSAGE).await?, events: None })
    }

    /// Whether the server speaks HTTP/2: after TLS, if it agrees to that; without TLS, if it is spoken to like that.
    ///
    /// # Errors
    /// Returns the reason if there is no answer at all.
    pub async fn has_http2(&self) -> Result<bool, String> {
        let endpoint = self.0.endpoint.by(Version::HTTP_2).map_err(|problem| problem.to_string())?;
        let new = self.0.with(endpoint).request(Method::GET, None, None).send().await;
        if new.is_ok() {
            return Ok(true);
        }
        // A server that is not there does not speak any version.
        self.0.request(Method::GET, None, None).send().await.map(|_| false).map_err(|error| cause(&error))
    }

    /// Opens a WebSocket. Also returns the answer, whose status is 101 if there is one.
    ///
    /// # Errors
    /// Returns the reason if there is no answer, or a wrong one.
    pub async fn upgrade(&self) -> Result<(Option<Socket>, Answer), String> {
        let endpoint = self.0.endpoint.by(Version::HTTP_11).map_err(|problem| problem.to_string())?;
        let answer = |status, headers| Answer { status, headers, body: Vec::new(), events: None };
        match self.0.with(endpoint).upgrade().await {
            Ok((socket, headers)) => Ok((Some(Socket(socket)), answer(101, headers))),
            Err(Refused::Status(status, _)) => Ok((None, answer(status, HeaderMap::new()))),
            Err(Refused::Failure(reason)) => Err(reason),
        }
    }

    /// A text of the server, without what it repeats of secret headers and cookies.
    #[must_use]
    pub fn hide(&self, text: &str) -> String {
        self.0.hide(text)
    }
}

impl Socket {
    /// Sends a frame of text, or else of bytes.
    ///
    /// # Errors
    /// Returns the reason if the WebSocket is closed.
    pub async fn send(&mut self, message: &str, is_text: bool) -> Result<(), String> {
        let message = if is_text { Message::text(message) } else { Message::binary(message.as_bytes().to_vec()) };
        self.0.send(message).await.map_err(|error| socket_cause(&error))
    }

    /// The next frame of text; `None` at the end.
    ///
    /// # Errors
    /// Returns the reason if the WebSocket breaks off.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>, String> {
        loop {
            match self.0.next().await {
                Some(Ok(Message::Text(text))) => return Ok(Some(text.as_bytes().to_vec())),
                Some(Ok(Message::Close(_))) | None => return Ok(None),
                // No more is read before the answer is: a server that pings and does not read cannot keep this busy.
                Some(Ok(Message::Ping(_))) => self.0.flush().await.map_err(|error| socket_cause(&error))?,
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(socket_cause(&error)),
            }
        }
    }
}
