//! What an agent writes to stderr, told line by line while it runs.

use std::sync::Arc;

/// How many bytes of a line are told.
const LINE: usize = 4096;

/// How many lines are told.
const LINES: usize = 1000;

/// Who is told: a line at a time, without its end, as it was written: escape it before it is shown.
pub type Listener = Arc<dyn Fn(&str) + Send + Sync>;

/// Splits what an agent writes, and tells it.
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

    /// Whether something is waiting for the end of its line.
    pub(super) fn is_unfinished(&self) -> bool {
        !self.line.is_empty()
    }

    /// Tells what has come of a line: a question is followed by no line end, but by a pause.
    pub(super) fn pause(&mut self) {
        self.tell();
    }

    fn tell(&mut self) {
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
    /// The last line may have no end.
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
        spoken.pause();
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
