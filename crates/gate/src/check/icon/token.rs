//! A CSS tokenizer that splits text as browsers do. Escapes are not supported; they become [`Token::Unread`].

use std::ops::Range;

/// A token, without quotes and brackets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Token<'a> {
    /// White space or a comment.
    Space,
    Word(&'a str),
    /// The name of a function; the opening bracket is part of the token.
    Function(&'a str),
    /// The URL of an unquoted `url()`; both brackets are part of the token.
    Url(&'a str),
    /// A quoted string.
    Text(&'a str),
    /// A number, a percentage as a fraction of 1, or a length in pixels.
    Number(f64),
    /// A number with another unit.
    Dimension,
    /// Any other character.
    Sign(char),
    /// A backslash, an unterminated comment, or a string with a backslash or line end.
    Unread,
}

/// The tokens of a text, with their byte ranges.
pub(super) fn tokens(text: &str) -> impl Iterator<Item = (Token<'_>, Range<usize>)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let (token, length) = first(&text[at..])?;
        at += length;
        Some((token, at - length..at))
    })
}

const SPACES: [char; 5] = [' ', '\t', '\n', '\r', '\u{c}'];

fn first(text: &str) -> Option<(Token<'_>, usize)> {
    let sign = text.chars().next()?;
    if SPACES.contains(&sign) {
        return Some((Token::Space, text.len() - text.trim_start_matches(SPACES).len()));
    }
    if let Some(comment) = text.strip_prefix("/*") {
        return Some(comment.find("*/").map_or((Token::Unread, text.len()), |end| (Token::Space, end + 4)));
    }
    if sign == '"' || sign == '\'' {
        return Some(string(text, sign));
    }
    match number_length(text) {
        0 => {}
        length => return Some(number(text, length)),
    }
    Some(match word_length(text) {
        0 if sign == '\\' => (Token::Unread, 1),
        0 => (Token::Sign(sign), sign.len_utf8()),
        length if !text[length..].starts_with('(') => (Token::Word(&text[..length]), length),
        length => function(text, length),
    })
}

/// Reads a string, which ends at its closing quote or at the end of the text.
fn string(text: &str, quote: char) -> (Token<'_>, usize) {
    let inner = &text[1..];
    match inner.find([quote, '\\', '\n', '\r', '\u{c}']) {
        None => (Token::Text(inner), text.len()),
        Some(end) if inner[end..].starts_with(quote) => (Token::Text(&inner[..end]), end + 2),
        Some(end) => (Token::Unread, end + 1),
    }
}

fn function(text: &str, length: usize) -> (Token<'_>, usize) {
    let (name, inner) = (&text[..length], &text[length + 1..]);
    if !name.eq_ignore_ascii_case("url") || inner.trim_start_matches(SPACES).starts_with(['"', '\'']) {
        return (Token::Function(name), length + 1);
    }
    match inner.find([')', '\\']) {
        None => (Token::Url(inner), text.len()),
        Some(end) if inner[end..].starts_with(')') => (Token::Url(&inner[..end]), length + end + 2),
        Some(end) => (Token::Unread, length + 1 + end),
    }
}

fn number(text: &str, length: usize) -> (Token<'_>, usize) {
    // Parsed as `f32` because browsers use single precision: smaller values are zero there too.
    let value = text[..length].parse::<f32>().map_or(f64::NAN, f64::from);
    let behind = &text[length..];
    if behind.starts_with('%') {
        return (Token::Number(value / 100.0), length + 1);
    }
    let unit = &behind[..word_length(behind)];
    let is_pixels = unit.is_empty() || unit.eq_ignore_ascii_case("px");
    (if is_pixels { Token::Number(value) } else { Token::Dimension }, length + unit.len())
}

/// Length of the number at the start of a text, in bytes; 0 if there is none.
fn number_length(text: &str) -> usize {
    let digits = |from: usize| text[from..].bytes().take_while(u8::is_ascii_digit).count();
    let sign = usize::from(text.starts_with(['+', '-']));
    let mut end = sign + digits(sign);
    if text[end..].starts_with('.') && digits(end + 1) > 0 {
        end += 1 + digits(end + 1);
    }
    if end == sign {
        return 0;
    }
    if text[end..].starts_with(['e', 'E']) {
        let power = end + 1 + usize::from(text[end + 1..].starts_with(['+', '-']));
        end = if digits(power) > 0 { power + digits(power) } else { end };
    }
    end
}

/// Length of the identifier at the start of a text, in bytes; 0 if there is none.
fn word_length(text: &str) -> usize {
    let is_letter = |c: char| c.is_ascii_alphabetic() || c == '_' || !c.is_ascii();
    let begins = text.starts_with("--") || text.strip_prefix('-').unwrap_or(text).starts_with(is_letter);
    let end = || text.find(|c: char| !is_letter(c) && !c.is_ascii_digit() && c != '-').unwrap_or(text.len());
    if begins { end() } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::Token::{Dimension, Function, Number, Sign, Space, Text, Unread, Url, Word};
    use super::*;

    #[test]
    fn texts_are_split_as_browsers_split_them() {
        for (text, expected) in [
            ("a/*;*/b", &[Word("a"), Space, Word("b")][..]),
            ("--x-1 -a _b é", &[Word("--x-1"), Space, Word("-a"), Space, Word("_b"), Space, Word("é")]),
            ("- -1.5e1% .5px 3em", &[Sign('-'), Space, Number(-0.15), Space, Number(0.5), Space, Dimension]),
            ("1e-60 1.e", &[Number(0.0), Space, Number(1.0), Sign('.'), Word("e")]),
            ("'a\"/*' \"b", &[Text("a\"/*"), Space, Text("b")]),
            ("URL( #a ) url( '#b')", &[Url(" #a "), Space, Function("url"), Space, Text("#b"), Sign(')')]),
            ("url(a/*b) url(c", &[Url("a/*b"), Space, Url("c")]),
            ("url (a)", &[Word("url"), Space, Sign('('), Word("a"), Sign(')')]),
            (".1a#1.a", &[Dimension, Sign('#'), Number(1.0), Sign('.'), Word("a")]),
            ("\\61", &[Unread, Number(61.0)]),
            ("'\\''", &[Unread, Unread, Text("")]),
            ("'a\nb", &[Unread, Space, Word("b")]),
            ("url(a\\)", &[Unread, Unread, Sign(')')]),
            ("a/* b", &[Word("a"), Unread]),
        ] {
            let split: Vec<_> = tokens(text).map(|(token, _)| token).collect();
            let same = split.iter().zip(expected).all(|pair| match pair {
                (Number(one), Number(other)) => (one - other).abs() < 1e-6,
                (one, other) => one == other,
            });
            assert!(same && split.len() == expected.len(), "{text}: {split:?}");
        }
    }
}
