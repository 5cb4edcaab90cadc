//! Untrusted text in Markdown on GitHub.
//!
//! In a code span, nothing is interpreted: no Markdown, HTML, mention, reference or automatic link. So everything
//! except plain prose becomes a code span.

use super::printable;

/// An identifier, a path or a value as a code span; nothing for an empty text. Hidden characters are escaped as by
/// [`printable`].
#[must_use]
pub fn code_span(text: &str) -> String {
    let text = printable(text);
    if text.is_empty() {
        return String::new();
    }
    // The fence is longer than any run of backticks in the text.
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest + 1);
    // Markdown removes one space at each end. Without it, backticks and spaces of the text would be lost.
    let edges = ['`', ' '];
    let pad = if text.starts_with(edges) || text.ends_with(edges) { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}

/// A message: quoted parts stay code spans, and so does every word that Markdown or GitHub might interpret.
#[must_use]
pub fn prose(text: &str) -> String {
    let text = printable(text);
    let parts: Vec<&str> = text.split('`').collect();
    if parts.len().is_multiple_of(2) {
        return code_span(&text);
    }
    let part = |(at, part): (usize, &&str)| if at % 2 == 1 { code_span(part) } else { words(part) };
    parts.iter().enumerate().map(part).collect()
}

/// Markdown from [`code_span`] and [`prose`] as a table cell.
#[must_use]
pub fn cell(markdown: &str) -> String {
    let mut out = String::with_capacity(markdown.len());
    let mut before = ' ';
    for c in markdown.chars() {
        match c {
            // After a backslash, another backslash would not escape the character.
            '|' if before == '\\' => out.push_str("\\u{7c}"),
            '|' => out.push_str("\\|"),
            c => out.push(c),
        }
        before = c;
    }
    out
}

/// Formats words: those that are not plain become code spans, and adjacent ones share a span.
fn words(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut odd: Vec<&str> = Vec::new();
    let flush = |odd: &mut Vec<&str>, out: &mut String| {
        if odd.is_empty() {
            return;
        }
        let joined = odd.join(" ");
        let word = joined.trim_end_matches(['.', ',', ';', ':']);
        out.push_str(&code_span(word));
        out.push_str(&joined[word.len()..]);
        odd.clear();
    };
    for (at, word) in text.split(' ').enumerate() {
        let is_odd = !is_plain(word);
        if !is_odd {
            flush(&mut odd, &mut out);
        }
        if at > 0 && odd.is_empty() {
            out.push(' ');
        }
        if is_odd { odd.push(word) } else { out.push_str(word) }
    }
    flush(&mut odd, &mut out);
    out
}

/// Whether a word has no meaning in Markdown and GitHub does not link it.
fn is_plain(word: &str) -> bool {
    let is_plain = |c: char| c.is_alphanumeric() || ".,;:'\"()?!-+/%=→…–’“”".contains(c);
    let inner = word.trim_end_matches(':');
    // Emoji and URLs contain a colon; commits are hexadecimal.
    let has_colon = inner.contains(':');
    let is_commit = inner.len() >= 7 && inner.bytes().all(|b| b.is_ascii_hexdigit());
    let lower = inner.to_ascii_lowercase();
    word.chars().all(is_plain) && !has_colon && !is_commit && !lower.contains("www.") && !lower.starts_with("gh-")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_fence_is_longer_than_what_it_holds() {
        for (text, expected) in [
            ("a", "`a`"),
            ("a`b", "``a`b``"),
            ("``x", "``` ``x ```"),
            (" x ", "`  x  `"),
            ("", ""),
            ("a\n# b\u{202e}", "`a\\u{a}# b\\u{202e}`"),
        ] {
            assert_eq!(code_span(text), expected);
        }
    }

    #[test]
    fn prose_stays_readable() {
        for (text, expected) in [
            ("fill is `red`, not currentColor", "fill is `red`, not currentColor"),
            ("see https://h.example/a_b: it (really) fails", "see `https://h.example/a_b`: it (really) fails"),
            ("1.0 → 1.1 (npm)", "1.0 → 1.1 (npm)"),
            ("`a|b` and `c", "`` `a|b` and `c ``"),
            ("by @someone #1 <img src=x> www.x.example", "by `@someone #1 <img src=x> www.x.example`"),
            ("an * and a _", "an `*` and a `_`"),
            ("at 0123abc :x: GH-1", "at `0123abc :x: GH-1`"),
        ] {
            assert_eq!(prose(text), expected);
        }
    }

    #[test]
    fn a_pipe_never_ends_a_cell() {
        assert_eq!(cell(&code_span("a|b")), "`a\\|b`");
        assert_eq!(cell(&code_span("a\\|b")), "`a\\\\u{7c}b`");
    }

    /// The text outside code spans, as GitHub parses it: a span ends at the next run of backticks of the same length.
    fn outside(markdown: &str) -> String {
        let mut out = String::new();
        let mut rest = markdown;
        while let Some(at) = rest.find('`') {
            out.push_str(&rest[..at]);
            let run = rest[at..].len() - rest[at..].trim_start_matches('`').len();
            let behind = &rest[at + run..];
            let mut from = 0;
            let end = loop {
                let Some(start) = behind[from..].find('`').map(|start| start + from) else { break None };
                let length = behind[start..].len() - behind[start..].trim_start_matches('`').len();
                if length == run {
                    break Some(start + length);
                }
                from = start + length;
            };
            if end.is_none() {
                out.push('`');
            }
            rest = &behind[end.unwrap_or_default()..];
        }
        out + rest
    }

    proptest! {
        #[test]
        fn no_text_gets_out_of_its_spans(text in "[a`|\\\\<@#\\[\\]()*_ :!\n]{0,24}") {
            for markdown in [code_span(&text), prose(&text)] {
                prop_assert!(!outside(&markdown).contains(['<', '@', '#', '[', '*', '_', '\\', '`', '|', '\n']), "{}", markdown);
                let cell = cell(&markdown);
                let pipes = cell.match_indices('|').all(|(at, _)| {
                    let slashes = cell[..at].len() - cell[..at].trim_end_matches('\\').len();
                    slashes == 1
                });
                prop_assert!(pipes, "{}", cell);
            }
        }
    }
}
