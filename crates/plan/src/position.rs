//! Positions in a text file, as editors and code hosts count them.

use std::ops::Range;

/// A range of a text file.
///
/// Lines and columns are 1-based; columns count Unicode scalar values; the end is exclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    /// Line of the first character.
    pub line: usize,
    /// Column of the first character.
    pub column: usize,
    /// Line of the end.
    pub end_line: usize,
    /// Column after the last character.
    pub end_column: usize,
}

impl Span {
    /// Converts a range of bytes. Offsets outside the text or inside a character are moved back to the nearest
    /// character boundary; an empty range covers the character after it, if the line has one.
    #[must_use]
    pub fn of(text: &str, range: Range<usize>) -> Self {
        let start = text.floor_char_boundary(range.start);
        let mut end = text.floor_char_boundary(range.end.max(start));
        if end == start {
            end += text[start..].chars().next().filter(|c| !matches!(c, '\n' | '\r')).map_or(0, char::len_utf8);
        }
        let (line, column) = position(text, start);
        let (end_line, end_column) = position(text, end);
        Self { line, column, end_line, end_column }
    }

    /// The range of bytes in `text`.
    #[must_use]
    pub fn bytes(&self, text: &str) -> Range<usize> {
        let start = offset(text, self.line, self.column);
        start..offset(text, self.end_line, self.end_column).max(start)
    }
}

/// An edit of a text: replaces a range of bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// The bytes to remove; empty for an insertion.
    pub range: Range<usize>,
    /// The text to insert.
    pub text: String,
}

/// Applies edits to one text, in any order. Of overlapping edits, only the first is applied.
#[must_use]
pub fn apply(text: &str, edits: &[Edit]) -> String {
    let mut edits: Vec<&Edit> = edits.iter().collect();
    edits.sort_by_key(|edit| (edit.range.start, edit.range.end));
    let mut out = String::new();
    let mut at = 0;
    for edit in edits {
        let Some(before) = text.get(at..edit.range.start) else { continue };
        if text.get(edit.range.clone()).is_some() {
            out.push_str(before);
            out.push_str(&edit.text);
            at = edit.range.end;
        }
    }
    out + &text[at..]
}

fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = &text[..offset];
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let line = before.bytes().filter(|&b| b == b'\n').count() + 1;
    (line, before[line_start..].chars().count() + 1)
}

fn offset(text: &str, line: usize, column: usize) -> usize {
    let mut start = 0;
    for _ in 1..line {
        match text[start..].find('\n') {
            Some(at) => start += at + 1,
            None => return text.len(),
        }
    }
    text[start..].char_indices().nth(column.saturating_sub(1)).map_or(text.len(), |(at, _)| start + at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn columns_count_characters_not_bytes() {
        let text = "ä€😀\nxyz\n";
        assert_eq!(Span::of(text, 9..11), Span { line: 1, column: 4, end_line: 2, end_column: 2 });
        assert_eq!(Span::of(text, 10..13), Span { line: 2, column: 1, end_line: 2, end_column: 4 });
    }

    #[test]
    fn an_empty_range_covers_the_next_character() {
        assert_eq!(Span::of("ab", 1..1), Span { line: 1, column: 2, end_line: 1, end_column: 3 });
        assert_eq!(Span::of("ab", 9..9), Span { line: 1, column: 3, end_line: 1, end_column: 3 });
    }

    #[test]
    fn edits_are_carried_out_in_the_order_of_the_text() {
        let edit = |range, text: &str| Edit { range, text: text.to_owned() };
        let edits = [edit(4..5, "E"), edit(0..0, "<"), edit(1..3, "-"), edit(2..4, "overlaps"), edit(9..12, "outside")];
        assert_eq!(apply("abcde", &edits), "<a-dE");
        assert_eq!(apply("ä", &[edit(1..1, "x")]), "ä");
    }

    proptest! {
        #[test]
        fn a_span_finds_its_bytes_again(text in "[a-zä😀\n\r]{0,60}", a in 0usize..80, b in 0usize..80) {
            let span = Span::of(&text, a.min(b)..a.max(b));
            let bytes = span.bytes(&text);
            prop_assert_eq!(Span::of(&text, bytes.clone()).line, span.line);
            prop_assert!(text.is_char_boundary(bytes.start) && text.is_char_boundary(bytes.end));
        }
    }
}
