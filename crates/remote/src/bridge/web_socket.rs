//! A WebSocket: opened by the HTTP client of the program, with its rules for addresses and its TLS.

use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use reqwest::Method;
use reqwest::header::{
    CONNECTION as CONNECTION_HEADER, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION, UPGRADE,
};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, interval};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Message, Role, WebSocketConfig};

use super::{EXCERPT, Event, Shared, body, cause};
use crate::MESSAGE;

/// How often the server is asked whether it is there. After three intervals without an answer, the connection is lost.
const PING: Duration = Duration::from_secs(20);

/// Opens the connection, and returns what takes its messages. Dropping that closes it.
pub(super) async fn open(shared: &Shared, tasks: &mut JoinSet<()>) -> Result<mpsc::Sender<Vec<u8>>, String> {
    let key = generate_key();
    let request = shared.request(Method::GET, None, None);
    let request = request.header(CONNECTION_HEADER, "Upgrade").header(UPGRADE, "websocket");
    let request = request.header(SEC_WEBSOCKET_VERSION, "13").header(SEC_WEBSOCKET_KEY, &key);
    let mut response = request.send().await.map_err(|error| cause(&error))?;
    shared.hear(response.headers());
    let status = response.status().as_u16();
    if status != 101 {
        let text = body(&mut response, 4 * EXCERPT).await.unwrap_or_default();
        return Err(format!("the server {} instead of opening a WebSocket", shared.refusal(status, &text)));
    }
    let accepted = response.headers().get(SEC_WEBSOCKET_ACCEPT);
    if accepted.is_none_or(|accepted| accepted != derive_accept_key(key.as_bytes()).as_str()) {
        return Err("the server opens a WebSocket with a wrong key".to_owned());
    }
    let upgraded = response.upgrade().await.map_err(|error| cause(&error))?;
    let limits = WebSocketConfig::default().max_message_size(Some(MESSAGE)).max_frame_size(Some(MESSAGE));
    let socket = WebSocketStream::from_raw_socket(upgraded, Role::Client, Some(limits)).await;
    let (mut sink, mut source) = socket.split();
    let (sender, mut messages) = mpsc::channel::<Vec<u8>>(1);
    let reader = shared.clone();
    tasks.spawn(async move {
        let reason = loop {
            match source.next().await {
                Some(Ok(Message::Text(text))) => {
                    reader.hear_bytes();
                    let message = Event::Message { session: None, data: text.as_bytes().to_vec() };
                    if reader.events.send(message).await.is_err() {
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
                Some(Err(error)) => break error.to_string(),
                None => break "the server has ended the connection".to_owned(),
            }
        };
        let _ = reader.events.send(Event::End { session: None, reason }).await;
    });
    let writer = shared.clone();
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
                    let heard = *writer.heard.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                    if heard + 3 * PING < asked {
                        let reason = "the server does not answer pings".to_owned();
                        let _ = writer.events.send(Event::End { session: None, reason }).await;
                        return;
                    }
                    asked = Instant::now();
                    sink.send(Message::Ping(Vec::new().into())).await
                }
            };
            if let Err(error) = sent {
                let _ = writer.events.send(Event::End { session: None, reason: error.to_string() }).await;
                return;
            }
        }
    });
    Ok(sender)
}
