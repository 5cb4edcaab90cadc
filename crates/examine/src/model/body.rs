//! Bodies of responses: texts, and streams that follow a message.

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use futures_util::stream::unfold;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Bytes, Frame};
use tokio::time::{Instant, sleep};

use super::api::Writer;
use super::reply::{End, ReplyMessage, ReplyPart, Stop, held_line};
use super::state::Ticket;

/// The type of all bodies.
pub(super) type Body = UnsyncBoxBody<Bytes, io::Error>;

/// How long an answer without end goes on.
pub(super) const STALL: Duration = Duration::from_mins(1);

/// The pause between the parts of an answer without end.
const TICK: Duration = Duration::from_millis(200);

pub(super) fn full(text: String) -> Body {
    Full::new(Bytes::from(text)).map_err(|never| match never {}).boxed_unsync()
}

/// A body that follows the message part by part.
pub(super) fn stream(message: ReplyMessage, writer: Box<dyn Writer>, ticket: Ticket) -> Body {
    let stream = Streamed {
        writer,
        ticket,
        stage: Stage::Open,
        parts: message.parts.into(),
        pause: message.pause,
        end: message.end,
        stop: message.stop,
        until: Instant::now() + STALL,
        lines: 0,
    };
    let frames = unfold(stream, |mut stream| async move { Some((stream.next().await?.map(Frame::data), stream)) });
    BodyExt::boxed_unsync(StreamBody::new(frames))
}

/// The first half of a text, after which the connection closes.
pub(super) fn half(mut text: String) -> Body {
    text.truncate(text.floor_char_boundary(text.len() / 2));
    let pieces = VecDeque::from([Ok(Frame::data(Bytes::from(text))), Err(closed())]);
    let frames = unfold(pieces, |mut pieces| async move {
        let piece = pieces.pop_front()?;
        if piece.is_err() {
            // Bytes that an error follows at once would not be sent.
            sleep(TICK).await;
        }
        Some((piece, pieces))
    });
    BodyExt::boxed_unsync(StreamBody::new(frames))
}

/// The error with which hyper closes a connection before the end of a body.
fn closed() -> io::Error {
    io::ErrorKind::ConnectionReset.into()
}

/// A message that is being sent.
struct Streamed {
    writer: Box<dyn Writer>,
    ticket: Ticket,
    stage: Stage,
    parts: VecDeque<ReplyPart>,
    pause: Duration,
    end: End,
    stop: Stop,
    /// When an answer without end does end.
    until: Instant,
    /// Number of lines that a held answer has gone on for.
    lines: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Open,
    Parts,
    Done,
}

impl Streamed {
    async fn next(&mut self) -> Option<io::Result<Bytes>> {
        let text = match self.stage {
            Stage::Open => {
                self.stage = Stage::Parts;
                self.writer.open()
            }
            Stage::Parts => match self.parts.pop_front() {
                Some(part) => {
                    let text = match part {
                        ReplyPart::Text(text) if self.stop == Stop::Refusal => self.writer.refusal(&text),
                        ReplyPart::Text(text) => self.writer.text(&text),
                        ReplyPart::Call(call) => self.writer.call(&call),
                    };
                    sleep(self.pause).await;
                    text
                }
                None => match self.end {
                    End::Stall if Instant::now() < self.until => {
                        sleep(TICK).await;
                        self.writer.text(".")
                    }
                    End::Hold if !self.ticket.is_released_within(TICK).await => {
                        self.lines += 1;
                        self.writer.text(&held_line(self.lines))
                    }
                    End::Break => {
                        sleep(TICK).await;
                        self.stage = Stage::Done;
                        self.ticket.finish();
                        return Some(Err(closed()));
                    }
                    End::Complete | End::Stall | End::Hold => {
                        self.stage = Stage::Done;
                        self.ticket.finish();
                        self.writer.close(self.stop)
                    }
                },
            },
            Stage::Done => return None,
        };
        Some(Ok(Bytes::from(text)))
    }
}
