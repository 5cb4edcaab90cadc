//! Reads lines of limited length.

use std::future::pending;
#[cfg(unix)]
use std::io;
use std::io::{BufRead, Read as _};

/// The longest line that is read, in bytes.
pub(crate) const LIMIT: usize = 1 << 20;

/// A line of the client.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    Text(Vec<u8>),
    /// A line above the limit, which is skipped.
    TooLong,
}

/// Waits until the client has closed its end of stdin, which may still have lines to read: a client that does not read
/// answers keeps these lines from being read too.
#[cfg(unix)]
#[expect(deprecated, reason = "its successor is unsafe because a descriptor may be closed, which stdin is not")]
pub(crate) async fn hung_up() {
    use tokio::io::Interest;
    use tokio::io::unix::AsyncFd;

    // A file cannot be watched, and ends by itself.
    if let Ok(stdin) = AsyncFd::with_interest(io::stdin(), Interest::READABLE) {
        while let Ok(mut guard) = stdin.readable().await {
            if guard.ready().is_read_closed() {
                return;
            }
            guard.clear_ready();
        }
    }
    pending::<()>().await;
}

#[cfg(not(unix))]
pub(crate) async fn hung_up() {
    pending::<()>().await;
}

/// The next line; `None` at the end of the input. An error counts as the end.
pub(crate) fn next(input: &mut impl BufRead) -> Option<Line> {
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
