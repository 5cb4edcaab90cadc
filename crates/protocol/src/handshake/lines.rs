//! Splits bytes into lines, however they arrive.

/// Maximum length of a line, in bytes.
pub(super) const LINE: usize = 1 << 20;

/// Maximum size of the whole output, in bytes.
pub(super) const TOTAL: u64 = 16 << 20;

/// Maximum number of messages before an answer.
pub(super) const MESSAGES: u64 = 10_000;

/// The limit that a program's output exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overflow {
    /// The length of a line.
    Line,
    /// The size of the whole output.
    Total,
    /// The number of messages.
    Messages,
}

/// Splits the output of a program.
#[derive(Debug)]
pub(super) struct Lines {
    longest: usize,
    rest: Vec<u8>,
    total: u64,
}

impl Default for Lines {
    fn default() -> Self {
        Self::up_to(LINE)
    }
}

impl Lines {
    /// Sets the maximum length of a line, in bytes.
    pub(super) fn up_to(longest: usize) -> Self {
        Self { longest, rest: Vec::new(), total: 0 }
    }

    /// Adds a piece of output, and returns the lines that end in it, without their line ends.
    pub(super) fn push(&mut self, mut bytes: &[u8]) -> Result<Vec<Vec<u8>>, Overflow> {
        self.total += bytes.len() as u64;
        let mut lines = Vec::new();
        while let Some(at) = bytes.iter().position(|byte| *byte == b'\n') {
            let mut line = std::mem::take(&mut self.rest);
            line.extend_from_slice(&bytes[..at]);
            bytes = &bytes[at + 1..];
            if line.len() > self.longest {
                return Err(Overflow::Line);
            }
            lines.push(line);
        }
        self.rest.extend_from_slice(bytes);
        if self.rest.len() > self.longest {
            return Err(Overflow::Line);
        }
        if self.total > TOTAL {
            return Err(Overflow::Total);
        }
        Ok(lines)
    }

    /// The output since the last line end.
    pub(super) fn rest(&self) -> &[u8] {
        &self.rest
    }

    /// The last line, at the end of the output.
    pub(super) fn finish(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn chunks_do_not_matter(text in "[a\n\r]{0,60}", cuts in proptest::collection::vec(0_usize..60, 0..9)) {
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).chain([0, text.len()]).collect();
            cuts.sort_unstable();
            let mut lines = Lines::default();
            let mut all = Vec::new();
            for pair in cuts.windows(2) {
                all.extend(lines.push(&text.as_bytes()[pair[0]..pair[1]]).unwrap());
            }
            all.push(lines.finish());
            let expected: Vec<Vec<u8>> = text.split('\n').map(|line| line.as_bytes().to_vec()).collect();
            prop_assert_eq!(all, expected);
        }
    }

    #[test]
    fn a_line_ends_at_the_limit_with_and_without_a_line_end() {
        let mut longest = vec![b'x'; LINE];
        assert_eq!(Lines::default().push(&longest), Ok(Vec::new()));
        longest.push(b'x');
        assert_eq!(Lines::default().push(&longest), Err(Overflow::Line));
        longest.push(b'\n');
        assert_eq!(Lines::default().push(&longest), Err(Overflow::Line));
    }

    #[test]
    fn many_short_lines_have_a_limit_too() {
        let piece = "x\n".repeat(1 << 19);
        let mut lines = Lines::default();
        for _ in 0..16 {
            lines.push(piece.as_bytes()).unwrap();
        }
        assert_eq!(lines.push(b"x\n"), Err(Overflow::Total));
    }
}
