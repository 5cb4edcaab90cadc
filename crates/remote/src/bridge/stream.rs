//! Listens to a stream of events.

use reqwest::header::{ACCEPT, HeaderValue};
use reqwest::{Method, Version};

use super::{EXCERPT, Event, Reports};
use crate::client::{Client, body, cause, is_stream};
use crate::events::EventStream;

/// Opens the stream of a connection or a session, and reports its events until it ends.
pub(super) async fn listen(client: Client, reports: Reports, connection: HeaderValue, session: Option<String>) {
    let reason = read(&client, &reports, &connection, session.clone()).await;
    if let Some(reason) = reason {
        reports.send(Event::End { session, reason }).await;
    }
}

/// Returns why the stream has ended; `None` if it was refused.
async fn read(client: &Client, reports: &Reports, connection: &HeaderValue, session: Option<String>) -> Option<String> {
    let request = client.request(Method::GET, Some(connection), session.as_deref());
    let mut response = match request.header(ACCEPT, "text/event-stream").send().await {
        Ok(response) => response,
        Err(error) => return Some(cause(&error)),
    };
    client.hear(response.headers());
    let status = response.status().as_u16();
    if status != 200 {
        let text = body(&mut response, 4 * EXCERPT).await.unwrap_or_default();
        let text = String::from_utf8_lossy(&text).into_owned();
        reports.send(Event::Refused { session, status, text }).await;
        return None;
    }
    if !is_stream(response.headers()) {
        return Some("the server opens a stream that is not of the type text/event-stream".to_owned());
    }
    let is_old = response.version() < Version::HTTP_2;
    reports.send(Event::Open { session: session.clone(), is_old }).await;
    let mut events = EventStream::new(client, response);
    loop {
        let data = match events.next().await {
            Ok(Some(data)) => data,
            Ok(None) => return Some("the server has ended the stream".to_owned()),
            Err(reason) => return Some(reason),
        };
        if !reports.send_message(session.clone(), data).await {
            return None;
        }
    }
}
