//! Keeps the end of a long text.

/// Number of bytes to keep.
const TAIL_LIMIT: usize = 64 << 10;

/// Keeps the last 64 KiB of a program's output.
#[derive(Debug, Default)]
pub struct Tail {
    bytes: Vec<u8>,
    is_cut: bool,
}

impl Tail {
    /// Appends output.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        // Cutting at every byte over the limit would move the whole buffer each time.
        if self.bytes.len() > 2 * TAIL_LIMIT {
            self.cut();
        }
    }

    fn cut(&mut self) {
        if let Some(surplus) = self.bytes.len().checked_sub(TAIL_LIMIT).filter(|surplus| *surplus > 0) {
            self.bytes.drain(..surplus);
            self.is_cut = true;
        }
    }

    /// The kept output as text. If output was cut off, it starts at the beginning of a line.
    pub fn text(&mut self) -> String {
        self.cut();
        let start =
            if self.is_cut { self.bytes.iter().position(|byte| *byte == b'\n').map_or(0, |at| at + 1) } else { 0 };
        String::from_utf8_lossy(&self.bytes[start..]).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_text_is_whole() {
        let mut tail = Tail::default();
        tail.push(b"a\nb");
        tail.push(b"\xff\n");
        assert_eq!(tail.text(), "a\nb\u{fffd}\n");
    }

    #[test]
    fn of_a_long_text_whole_lines_at_the_end_stay() {
        let mut tail = Tail::default();
        for number in 0..100_000 {
            tail.push(format!("line {number}\n").as_bytes());
            assert!(tail.bytes.len() <= 2 * TAIL_LIMIT + 20);
        }
        let text = tail.text();
        assert!(text.len() <= TAIL_LIMIT && text.len() > TAIL_LIMIT - 20);
        assert!(text.starts_with("line ") && text.ends_with("line 99999\n"));
    }
}
