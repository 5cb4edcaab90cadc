//! Passes messages by a WebSocket.

use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, interval};
use tokio_tungstenite::tungstenite::protocol::Message;

use super::{Event, Reports};
use crate::client::{Client, Refused};

/// How often the server is asked whether it is there. After three intervals without an answer, the connection is lost.
const PING: Duration = Duration::from_secs(20);

/// Opens the connection, and returns what takes its messages. Dropping that closes it.
pub(super) async fn open(
    client: &Client,
    reports: &Reports,
    tasks: &mut JoinSet<()>,
) -> Result<mpsc::Sender<Vec<u8>>, String> {
    let (socket, _) = client.upgrade().await.map_err(|refusal| match refusal {
        Refused::Status(status, text) => {
            format!("the server {} instead of opening a WebSocket", client.refusal(status, &text))
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
                Some(Err(error)) => break error.to_string(),
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
                reports.send(Event::End { session: None, reason: error.to_string() }).await;
                return;
            }
        }
    });
    Ok(sender)
}
