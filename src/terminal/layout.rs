//! Colours, and wrapping to the width of the terminal.

use std::env;

use acp_registry::text;
use clap::ValueEnum;
use unicode_width::UnicodeWidthStr as _;

/// The narrowest width that texts are wrapped to, in columns.
const NARROWEST: usize = 20;

/// When colours are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorChoice {
    /// On a terminal, unless `NO_COLOR` or `CI` is set
    Auto,
    Always,
    Never,
}

impl ColorChoice {
    /// Whether colours are used on a terminal, or elsewhere.
    pub(crate) fn is_used(self, is_terminal: bool) -> bool {
        let is_set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto => {
                is_terminal
                    && !is_set("NO_COLOR")
                    && !is_set("CI")
                    && env::var_os("TERM").is_none_or(|term| term != "dumb")
            }
        }
    }
}

/// Colours and width of texts for people.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Look {
    /// Whether colours may be used.
    pub(crate) color: bool,
    /// Width of the terminal in columns; `None` if the output is not a terminal, and lines are not wrapped.
    pub(crate) width: Option<usize>,
}

impl Look {
    /// Adds a colour or weight to the text. `code` holds the parameters of the escape sequence, such as `1;31`.
    pub(crate) fn paint(self, code: &str, text: &str) -> String {
        if self.color && !text.is_empty() { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    /// Width that lines may fill, in columns.
    pub(crate) fn columns(self) -> Option<usize> {
        self.width.map(|width| width.max(NARROWEST))
    }

    /// Wraps one line between words to the width of the terminal. Continuation lines are indented by `hang` columns.
    /// Words longer than a line are not broken, so that they can be copied. The result ends with a newline.
    pub(crate) fn wrap(self, line: &str, hang: usize) -> String {
        let line = line.trim_end();
        let Some(width) = self.columns().filter(|width| columns(line) > *width) else { return format!("{line}\n") };
        // On a narrow terminal, a deep indentation would leave no room for text.
        let hang = hang.min(width / 2);
        let lead = line.len() - line.trim_start().len();
        let (mut out, mut at, mut is_start) = (line[..lead].to_owned(), lead, true);
        for (gap, word) in words(&line[lead..]) {
            let length = columns(word);
            if is_start {
                at += length;
            } else if at + gap.len() + length > width {
                out.push('\n');
                out.push_str(&" ".repeat(hang));
                at = hang + length;
            } else {
                out.push_str(gap);
                at += gap.len() + length;
            }
            out.push_str(word);
            is_start = false;
        }
        out.push('\n');
        out
    }
}

/// Splits a line into words, each paired with the spaces before it.
fn words(line: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = line;
    std::iter::from_fn(move || {
        let start = rest.find(|c| c != ' ')?;
        let end = rest[start..].find(' ').map_or(rest.len(), |end| start + end);
        let found = (&rest[..start], &rest[start..end]);
        rest = &rest[end..];
        Some(found)
    })
}

/// Width of a text on a terminal, in columns. Escape sequences for colours have no width.
pub(crate) fn columns(text: &str) -> usize {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return text.len();
    }
    let mut parts = text.split('\u{1b}');
    let first = parts.next().unwrap_or_default().width();
    first + parts.map(|part| part.split_once('m').map_or(0, |(_, shown)| shown.width())).sum::<usize>()
}

/// Cuts a text to at most `most` columns, ending in `…` if anything was cut. It is cut between words, unless its first word
/// is longer.
pub(crate) fn cut_to(text: &str, most: usize) -> String {
    if columns(text) <= most {
        return text.to_owned();
    }
    let mut out = String::new();
    for c in text.chars() {
        out.push(c);
        if out.width() + 1 > most {
            out.pop();
            break;
        }
    }
    if !text[out.len()..].starts_with(' ')
        && let Some(end) = out.rfind(' ')
    {
        out.truncate(end);
    }
    let length = out.trim_end().len();
    out.truncate(length);
    out.push('…');
    out
}

/// Column at which values begin.
pub(crate) const INDENT: usize = 12;

/// The most lines of stderr that are shown.
const LINES: usize = 20;

/// The longest line that is shown, in characters.
const WIDTH: usize = 300;

pub(crate) fn stderr(tail: &str) -> String {
    let lines: Vec<&str> = tail.lines().filter(|line| !line.trim().is_empty()).collect();
    if lines.is_empty() {
        return "  stderr    nothing\n".to_owned();
    }
    let shown = &lines[lines.len().saturating_sub(LINES)..];
    let head = if shown.len() < lines.len() { format!("the last {LINES} lines") } else { "all of it".to_owned() };
    let body: String = shown.iter().map(|line| format!("    | {}\n", cut(line))).collect();
    format!("  stderr    {head}\n{body}")
}

pub(crate) fn cut(text: &str) -> String {
    text::cut(text, WIDTH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_between_words_and_words_stay_whole() {
        let look = Look { color: false, width: Some(24) };
        assert_eq!(look.wrap("  key   one two three four five", 8), "  key   one two three\n        four five\n");
        assert_eq!(look.wrap("short", 4), "short\n");
        let address = "https://h.example/a/very/long/address";
        assert_eq!(look.wrap(&format!("see {address} now"), 4), format!("see\n    {address}\n    now\n"));
        // Without a terminal, lines are not wrapped.
        assert_eq!(Look::default().wrap(&"word ".repeat(100), 4).lines().count(), 1);
        // A deep indentation is limited to half of the width.
        assert!(look.wrap(&"word ".repeat(20), 80).lines().all(|line| columns(line) <= 24));
    }

    #[test]
    fn colours_and_wide_characters_count_as_terminals_count_them() {
        let look = Look { color: true, width: Some(20) };
        let line = format!("{} {}", look.paint("32", "ok"), "word ".repeat(8));
        assert!(look.wrap(&line, 2).lines().all(|line| columns(line) <= 20));
        assert_eq!((columns("日本"), columns("\u{1b}[1;31merror\u{1b}[0m")), (4, 5));
        assert_eq!(
            (cut_to("日本語", 5), cut_to("abc", 3), cut_to("abcd", 3)),
            ("日本…".into(), "abc".into(), "ab…".into())
        );
        // Only a word that is longer than the line is cut.
        assert_eq!([6, 7, 8, 9].map(|most| cut_to("one two three", most)), ["one…", "one…", "one two…", "one two…"]);
        assert_eq!((cut_to("longest word", 5), cut_to("a  b c", 4)), ("long…".into(), "a…".into()));
    }
}
