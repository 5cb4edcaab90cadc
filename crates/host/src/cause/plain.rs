//! Removes what only terminals interpret from a line.

/// Characters of boxes, bullets and the bars of Python's exception groups.
const FRAME: &[char] =
    &['│', '┃', '|', '║', '╭', '╰', '╮', '╯', '─', '✖', '✗', '✘', '❌', '⚠', '•', '▲', '■', '\u{fe0f}'];

/// Removes terminal escapes. If a line was overwritten with carriage returns, keeps only the text that remained
/// visible.
pub fn plain(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut chars = line.trim_end_matches('\r').chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\r' => out.clear(),
            '\u{8}' => drop(out.pop()),
            '\u{9b}' => skip_csi(&mut chars),
            '\u{1b}' => match chars.peek() {
                Some('[') => {
                    chars.next();
                    skip_csi(&mut chars);
                }
                // A title or hyperlink, which ends with BEL or `ESC \`.
                Some(']' | 'P' | '_' | '^') => {
                    while let Some(c) = chars.next() {
                        if c == '\u{7}' || (c == '\u{1b}' && chars.next_if_eq(&'\\').is_some()) {
                            break;
                        }
                    }
                }
                Some('(' | ')' | '#') => drop((chars.next(), chars.next())),
                Some('=' | '>' | '7' | '8' | 'M') => drop(chars.next()),
                _ => {}
            },
            c => out.push(c),
        }
    }
    out
}

fn skip_csi(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    while let Some(c) = chars.next_if(|c| (' '..='~').contains(c)) {
        if ('@'..='~').contains(&c) {
            break;
        }
    }
}

/// Trims white space and frames.
pub(super) fn bare(line: &str) -> &str {
    let is_edge = |c: char| c.is_whitespace() || FRAME.contains(&c);
    line.trim_start_matches(is_edge).trim_end_matches(|c: char| c.is_whitespace() || ['│', '┃', '|', '║'].contains(&c))
}

/// Whether a line is indented.
pub(super) fn is_indented(line: &str) -> bool {
    line.starts_with([' ', '\t'])
}

/// Whether the line is part of a stack trace or of the source excerpt in one.
pub(super) fn is_frame(line: &str) -> bool {
    let bare = line.trim_start();
    is_indented(line)
        && (bare.starts_with("at ") || bare.starts_with("File \"") || bare.starts_with('^') || bare.starts_with('~'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_go_and_what_was_written_over_too() {
        for (line, expected) in [
            ("\u{1b}[1;31merror\u{1b}[0m: x\r", "error: x"),
            ("\u{1b}]8;;https://h.example\u{1b}\\link\u{1b}]8;;\u{7} y", "link y"),
            ("10 %\r100 %\rfailed", "failed"),
            ("\u{1b}(Bplain\u{1b}[K", "plain"),
            ("ab\u{8}c", "ac"),
            ("\u{1b}[31", ""),
        ] {
            assert_eq!(plain(line), expected, "{line:?}");
        }
        assert_eq!(bare("  | ✖ Error: x │"), "Error: x");
    }
}
