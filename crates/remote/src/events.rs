//! The format of event streams (`text/event-stream`), read in any pieces.

use std::collections::VecDeque;

use reqwest::Response;

use crate::MESSAGE;
use crate::client::{Client, cause};

/// An event is larger than a message may be.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("an event is larger than {MESSAGE} bytes")]
pub(crate) struct TooLarge;

/// Collects the data of events from the pieces of a stream.
#[derive(Debug, Default)]
pub(crate) struct Events {
    line: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    /// Whether the last byte was a carriage return: a line feed after it ends no further line.
    is_after_return: bool,
    has_begun: bool,
}

impl Events {
    /// Reads the next bytes, and returns the data of the events that they complete.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, TooLarge> {
        let mut events = Vec::new();
        for &byte in bytes {
            let is_after_return = std::mem::replace(&mut self.is_after_return, byte == b'\r');
            match byte {
                b'\n' if is_after_return => {}
                b'\n' | b'\r' => events.extend(self.end_line()),
                _ => self.line.push(byte),
            }
            if self.line.len() + self.data.len() > MESSAGE {
                return Err(TooLarge);
            }
        }
        Ok(events)
    }

    /// Whether the stream is within an event, which is lost if it ends here.
    pub(crate) fn is_within(&self) -> bool {
        self.has_data || !self.line.is_empty()
    }

    fn end_line(&mut self) -> Option<Vec<u8>> {
        let line = std::mem::take(&mut self.line);
        let line = if std::mem::replace(&mut self.has_begun, true) {
            &line[..]
        } else {
            line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&line)
        };
        if line.is_empty() {
            return std::mem::take(&mut self.has_data).then(|| std::mem::take(&mut self.data));
        }
        let value = line.strip_prefix(b"data:").or((line == b"data").then_some(b""));
        if let Some(value) = value {
            if std::mem::replace(&mut self.has_data, true) {
                self.data.push(b'\n');
            }
            self.data.extend_from_slice(value.strip_prefix(b" ").unwrap_or(value));
        }
        None
    }
}

/// The body of an answer, as events.
#[derive(Debug)]
pub struct EventStream {
    client: Client,
    response: Response,
    events: Events,
    read: VecDeque<Vec<u8>>,
}

impl EventStream {
    pub(crate) fn new(client: &Client, response: Response) -> Self {
        Self { client: client.clone(), response, events: Events::default(), read: VecDeque::new() }
    }

    /// The data of the next event; `None` at the end of the stream. No event is lost if the future is dropped.
    ///
    /// # Errors
    /// Returns the reason if the stream breaks off, or an event is too large.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>, String> {
        loop {
            if let Some(data) = self.read.pop_front() {
                return Ok(Some(data));
            }
            match self.response.chunk().await {
                Ok(Some(piece)) => {
                    self.client.hear_bytes();
                    self.read.extend(self.events.push(&piece).map_err(|error| error.to_string())?);
                }
                Ok(None) if self.events.is_within() => return Err("the stream ends within an event".to_owned()),
                Ok(None) => return Ok(None),
                Err(error) => return Err(cause(&error)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_the_same_wherever_they_are_split() {
        let text = "\u{feff}: hello\r\nevent: message\rdata: {\"a\":\r\ndata:\"ü\"}\n\nid: 1\n\n\ndata\n\ndata:  b\r\n\r\n:end";
        let expected = [b"{\"a\":\n\"\xc3\xbc\"}".to_vec(), Vec::new(), b" b".to_vec()];
        for at in 0..=text.len() {
            for to in at..=text.len() {
                let mut events = Events::default();
                let bytes = text.as_bytes();
                let pieces = [&bytes[..at], &bytes[at..to], &bytes[to..]];
                let read: Vec<_> = pieces.iter().flat_map(|piece| events.push(piece).unwrap()).collect();
                assert_eq!(read, expected, "{at} {to}");
                assert!(events.is_within());
            }
        }
    }

    #[test]
    fn an_event_has_a_limit() {
        let mut events = Events::default();
        let piece = format!("data: {}\n", "x".repeat(MESSAGE / 2 - 10));
        assert_eq!(events.push(piece.as_bytes()), Ok(Vec::new()));
        assert_eq!(events.push(piece.as_bytes()), Ok(Vec::new()));
        assert_eq!(events.push(piece.as_bytes()), Err(TooLarge));
    }
}
