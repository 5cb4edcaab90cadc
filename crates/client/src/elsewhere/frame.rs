//! The messages between both sides: a byte for the kind, four for the length, then the content.

use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::sync::mpsc;

use super::Input;

/// The largest content, in bytes: that of an order with long arguments.
const LIMIT: usize = 4 << 20;

/// How much is read at once, in bytes.
pub(super) const PIECE: usize = 1 << 16;

/// The longest line before the first message, in bytes. Longer ones are cut.
const LINE: usize = 4096;

/// A message.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Frame {
    /// What is to be done, as JSON.
    Order(Vec<u8>),
    /// A piece of stdin or stdout.
    Data(Vec<u8>),
    /// The end of stdin.
    End,
    /// A signal for the program.
    Signal(u8),
    /// The program has ended with this code.
    Exit(u8),
    /// The sender is still there.
    Beat,
}

impl Frame {
    pub(super) fn bytes(&self) -> Vec<u8> {
        let (kind, content): (u8, &[u8]) = match self {
            Self::Order(text) => (0, text),
            Self::Data(piece) => (1, piece),
            Self::End => (2, &[]),
            Self::Signal(number) => (3, std::slice::from_ref(number)),
            Self::Exit(code) => (4, std::slice::from_ref(code)),
            Self::Beat => (5, &[]),
        };
        let length = u32::try_from(content.len()).unwrap_or(u32::MAX);
        [&[kind], &length.to_be_bytes()[..], content].concat()
    }

    fn new(kind: u8, content: &[u8]) -> Option<Self> {
        match (kind, content) {
            (0, text) => Some(Self::Order(text.to_vec())),
            (1, piece) => Some(Self::Data(piece.to_vec())),
            (2, []) => Some(Self::End),
            (3, [number]) => Some(Self::Signal(*number)),
            (4, [code]) => Some(Self::Exit(*code)),
            (5, []) => Some(Self::Beat),
            _ => None,
        }
    }
}

/// Reads lines, then messages.
#[derive(Debug)]
pub(super) struct Frames {
    input: Input,
    buffer: Vec<u8>,
}

impl Frames {
    pub(super) fn new(input: Input) -> Self {
        Self { input, buffer: Vec::new() }
    }

    /// The next message; `None` at the end, and for what is none. Cancel-safe.
    pub(super) async fn next(&mut self) -> Option<Frame> {
        loop {
            if let Some((head, rest)) = self.buffer.split_first_chunk::<5>() {
                let [kind, length @ ..] = *head;
                let length = usize::try_from(u32::from_be_bytes(length)).ok().filter(|length| *length <= LIMIT)?;
                if let Some(content) = rest.get(..length) {
                    let frame = Frame::new(kind, content);
                    self.buffer.drain(..5 + length);
                    return frame;
                }
            }
            self.buffer.extend(self.input.recv().await?);
        }
    }

    /// The next line, without its end; `None` at the end. Cancel-safe.
    pub(super) async fn line(&mut self) -> Option<String> {
        loop {
            let end = self.buffer.iter().position(|byte| *byte == b'\n');
            if let Some(end) = end.or((self.buffer.len() > LINE).then_some(LINE)) {
                let line = self.buffer.drain(..=end).collect::<Vec<u8>>();
                return Some(String::from_utf8_lossy(&line).trim_end().to_owned());
            }
            self.buffer.extend(self.input.recv().await?);
        }
    }
}

/// The pieces that a pipe has, until its end.
pub(super) fn pieces(mut pipe: impl AsyncRead + Send + Unpin + 'static) -> Input {
    let (send, input) = mpsc::channel(4);
    tokio::spawn(async move {
        let mut buffer = vec![0; PIECE];
        while let Ok(count @ 1..) = pipe.read(&mut buffer).await {
            if send.send(buffer[..count].to_vec()).await.is_err() {
                return;
            }
        }
    });
    input
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(bytes: &[u8], piece: usize) -> (Vec<String>, Vec<Frame>) {
        let (send, input) = mpsc::channel(bytes.len() + 1);
        for piece in bytes.chunks(piece) {
            send.send(piece.to_vec()).await.unwrap();
        }
        drop(send);
        let mut frames = Frames::new(input);
        let (mut lines, mut found) = (Vec::new(), Vec::new());
        for _ in 0..2 {
            lines.extend(frames.line().await);
        }
        while let Some(frame) = frames.next().await {
            found.push(frame);
        }
        (lines, found)
    }

    #[tokio::test]
    async fn messages_are_read_however_they_are_cut() {
        let sent = || {
            let order = Frame::Order(b"{}".to_vec());
            [order, Frame::Data(vec![0; 9]), Frame::Signal(2), Frame::Beat, Frame::End, Frame::Exit(255)]
        };
        let bytes = sent().iter().flat_map(Frame::bytes).collect::<Vec<_>>();
        for piece in [1, 3, 7, 1000] {
            let (lines, found) = read(&[b"one\n\xff\r\n", &*bytes].concat(), piece).await;
            assert_eq!((lines, &*found), (vec!["one".to_owned(), "\u{fffd}".to_owned()], &sent()[..]));
        }
    }

    #[tokio::test]
    async fn what_is_no_message_ends_the_stream() {
        for bad in [&[9, 0, 0, 0, 0][..], &[4, 0, 0, 0, 0], &[1, 255, 255, 255, 255], &[1, 0, 0, 0, 2, 0]] {
            assert_eq!(read(&[b"\n\n", bad].concat(), 100).await.1, []);
        }
        let (lines, _) = read(&[&b"x".repeat(5000)[..], b"\n"].concat(), 100).await;
        assert_eq!(lines.iter().map(String::len).collect::<Vec<_>>(), [4097, 903]);
    }
}
