//! Listens to an agent, by streams of events or by a WebSocket.

use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use reqwest::header::{ACCEPT, HeaderValue};
use reqwest::{Method, Version};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, interval};
use tokio_tungstenite::tungstenite::protocol::Message;

use super::{EXCERPT, Event, Reports};
use crate::client::{Client, Refused, body, cause, is_stream, socket_cause};
use crate::events::EventStream;

/// How often the server of a WebSocket is asked whether it is there. After three intervals without an answer, the connection is
/// lost.
const PING: Duration = Duration::from_secs(20);

/// Opens the stream of a connection or a session, and reports its events until it ends.
pub(super) async fn stream(client: Client, reports: Reports, connection: HeaderValue, session: Option<String>) {
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

/// Opens a WebSocket, and returns what takes its messages. Dropping that closes it.
pub(super) async fn web_socket(
    client: &Client,
    reports: &Reports,
    tasks: &mut JoinSet<()>,
) -> Result<mpsc::Sender<Vec<u8>>, String> {
    let (socket, _) = client.upgrade().await.map_err(|refusal| match refusal {
        Refused::Status(status, text) => {
            format!("the server opens no WebSocket: it {}", client.refusal(status, &text))
        }
        Refused::Failure(reason) => reason,
    })?;
    let (mut sink, mut source) = socket.split();
    let (sender, mut messages) = mpsc::channel::<Vec<u8>>(1);
    let (reader, heard) = (client.clone(), reports.clone());
    tasks.spawn(async move {
        let reason = loop {
            match source.next().await {
                Some(Ok(Message::Text(text))) => {
                    reader.hear_bytes();
                    if !heard.send_message(None, text.as_bytes().to_vec()).await {
                        return;
                    }
                }
                Some(Ok(Message::Close(frame))) => {
                    let text = frame.map(|frame| format!(" ({} {})", frame.code, reader.hide(&frame.reason)));
                    let text = text.unwrap_or_default();
                    break format!("the server has closed the WebSocket{text}");
                }
                // Binary frames are ignored, as the specification of the transport says.
                Some(Ok(_)) => reader.hear_bytes(),
                Some(Err(error)) => break socket_cause(&error),
                None => break "the server has ended the connection".to_owned(),
            }
        };
        heard.send(Event::End { session: None, reason }).await;
    });
    let (writer, reports) = (client.clone(), reports.clone());
    tasks.spawn(async move {
        let mut pings = interval(PING);
        let mut asked = Instant::now();
        loop {
            let sent = tokio::select! {
                message = messages.recv() => {
                    let Some(line) = message else {
                        let _ = sink.close().await;
                        return;
                    };
                    sink.send(Message::text(String::from_utf8_lossy(&line).into_owned())).await
                }
                _ = pings.tick() => {
                    if writer.heard() + 3 * PING < asked {
                        let reason = "the server does not answer pings".to_owned();
                        reports.send(Event::End { session: None, reason }).await;
                        return;
                    }
                    asked = Instant::now();
                    sink.send(Message::Ping(Vec::new().into())).await
                }
            };
            if let Err(error) = sent {
                reports.send(Event::End { session: None, reason: socket_cause(&error) }).await;
                return;
            }
        }
    });
    Ok(sender)
}
