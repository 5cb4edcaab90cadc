//! Passes on an agent's stderr, line by line, while it runs.

use std::sync::Arc;

/// Maximum length of a line to pass on, in bytes.
const LINE: usize = 4096;

/// Maximum number of lines to pass on.
const LINES: usize = 1000;

/// Receives one line at a time, without its line end. Not escaped: escape it before printing.
pub type Listener = Arc<dyn Fn(&str) + Send + Sync>;

/// Splits output into lines, and passes them on.
pub(super) struct Spoken {
    listener: Listener,
    line: Vec<u8>,
    told: usize,
}

impl Spoken {
    pub(super) fn new(listener: Listener) -> Self {
        Self { listener, line: Vec::new(), told: 0 }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let room = LINE.saturating_sub(self.line.len());
            self.line.extend_from_slice(&piece[..piece.len().min(room)]);
            if piece.ends_with(b"\n") {
                self.tell();
            }
        }
    }

    /// Whether there is an unfinished line.
    pub(super) fn is_unfinished(&self) -> bool {
        !self.line.is_empty()
    }

    /// Passes on the line, also an unfinished one: a question to the user ends with a pause instead of a line end.
    pub(super) fn tell(&mut self) {
        let line = std::mem::take(&mut self.line);
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_end();
        if !text.is_empty() && self.told < LINES {
            self.told += 1;
            (self.listener)(text);
        }
    }
}

impl Drop for Spoken {
    /// The last line may have no line end.
    fn drop(&mut self) {
        self.tell();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn lines_are_told_as_they_come_and_within_bounds() {
        let told = Arc::new(Mutex::new(Vec::new()));
        let keep = told.clone();
        let mut spoken = Spoken::new(Arc::new(move |line: &str| keep.lock().unwrap().push(line.to_owned())));
        spoken.push(b"open ht");
        spoken.push(b"tps://h.example\r\n\n  \nthen");
        assert_eq!(*told.lock().unwrap(), ["open https://h.example"]);
        assert!(spoken.is_unfinished());
        spoken.tell();
        assert_eq!((told.lock().unwrap().pop().as_deref(), spoken.is_unfinished()), (Some("then"), false));
        spoken.push(&vec![b'x'; 10_000]);
        spoken.push(b"\n\xff");
        drop(spoken);
        {
            let told = told.lock().unwrap();
            assert_eq!((told.len(), told[1].len(), told[2].as_str()), (3, LINE, "\u{fffd}"));
        }
        let keep = told.clone();
        let mut spoken = Spoken::new(Arc::new(move |line: &str| keep.lock().unwrap().push(line.to_owned())));
        spoken.push("y\n".repeat(5000).as_bytes());
        assert_eq!(told.lock().unwrap().len(), 3 + LINES);
    }
}
