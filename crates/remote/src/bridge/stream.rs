//! Listens to a stream of events.

use reqwest::header::{ACCEPT, HeaderValue};
use reqwest::{Method, Version};

use super::{EXCERPT, Event, Shared, body, cause, is_stream};
use crate::events::Events;

/// Opens the stream of a connection or a session, and reports its events until it ends.
pub(super) async fn listen(shared: Shared, connection: HeaderValue, session: Option<String>) {
    let reason = read(&shared, &connection, session.clone()).await;
    if let Some(reason) = reason {
        let _ = shared.events.send(Event::End { session, reason }).await;
    }
}

/// Returns why the stream has ended; `None` if it was refused.
async fn read(shared: &Shared, connection: &HeaderValue, session: Option<String>) -> Option<String> {
    let request = shared.request(Method::GET, Some(connection), session.as_deref());
    let mut response = match request.header(ACCEPT, "text/event-stream").send().await {
        Ok(response) => response,
        Err(error) => return Some(cause(&error)),
    };
    shared.hear(response.headers());
    let status = response.status().as_u16();
    if status != 200 {
        let text = body(&mut response, 4 * EXCERPT).await.unwrap_or_default();
        let text = String::from_utf8_lossy(&text).into_owned();
        let _ = shared.events.send(Event::Refused { session, status, text }).await;
        return None;
    }
    if !is_stream(response.headers()) {
        return Some("the server opens a stream that is not of the type text/event-stream".to_owned());
    }
    let is_old = response.version() < Version::HTTP_2;
    let _ = shared.events.send(Event::Open { session: session.clone(), is_old }).await;
    let mut events = Events::default();
    loop {
        let piece = match response.chunk().await {
            Ok(Some(piece)) => piece,
            Ok(None) if events.is_within() => return Some("the stream ends within an event".to_owned()),
            Ok(None) => return Some("the server has ended the stream".to_owned()),
            Err(error) => return Some(cause(&error)),
        };
        shared.hear_bytes();
        let messages = match events.push(&piece) {
            Ok(messages) => messages,
            Err(error) => return Some(error.to_string()),
        };
        for data in messages {
            let message = Event::Message { session: session.clone(), data };
            if shared.events.send(message).await.is_err() {
                return None;
            }
        }
    }
}
