//! Reads lines of limited length.

use std::io::{BufRead, BufReader, Read};
use std::thread;

use tokio::sync::mpsc;

/// The longest line that is read, in bytes.
pub(super) const LIMIT: usize = 1 << 20;

/// A line of the client.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    Text(Vec<u8>),
    /// A line above the limit, which is skipped.
    TooLong,
}

/// Reads lines on a thread of its own, which ends with the input or the process: a blocking read cannot be cancelled.
pub(super) fn read(input: impl Read + Send + 'static) -> mpsc::Receiver<Line> {
    let (sender, receiver) = mpsc::channel(1);
    thread::spawn(move || {
        let mut input = BufReader::new(input);
        while let Some(line) = next(&mut input) {
            if sender.blocking_send(line).is_err() {
                break;
            }
        }
    });
    receiver
}

/// The next line; `None` at the end of the input. An error counts as the end.
fn next(input: &mut impl BufRead) -> Option<Line> {
    let mut line = Vec::new();
    let read = input.take(LIMIT as u64 + 1).read_until(b'\n', &mut line).ok()?;
    if read == 0 {
        return None;
    }
    if line.len() <= LIMIT || line.ends_with(b"\n") {
        return Some(Line::Text(line));
    }
    while !line.ends_with(b"\n") {
        line.clear();
        if input.take(LIMIT as u64).read_until(b'\n', &mut line).ok()? == 0 {
            break;
        }
    }
    Some(Line::TooLong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_too_long_is_skipped_and_the_next_one_is_read() {
        let of = |length: usize| "x".repeat(length);
        let text = format!("a\n{}\n{}\nb\r\n{}\nlast", of(LIMIT), of(LIMIT + 1), of(3 * LIMIT));
        let mut input = text.as_bytes();
        let lines: Vec<Line> = std::iter::from_fn(|| next(&mut input)).collect();
        let text = |text: &str| Line::Text(text.as_bytes().to_vec());
        let whole = text(&format!("{}\n", of(LIMIT)));
        assert!(lines == [text("a\n"), whole, Line::TooLong, text("b\r\n"), Line::TooLong, text("last")]);
        let mut input = &vec![b'x'; LIMIT + 1][..];
        assert_eq!((next(&mut input), next(&mut input)), (Some(Line::TooLong), None));
    }
}
