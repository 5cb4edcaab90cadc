//! Untrusted text: escapes what must not be printed on a terminal or a page.

mod markdown;
mod secrets;

use std::borrow::Cow;
use std::fmt::{Display, Write as _};

pub use self::markdown::{cell, code_span, prose};
pub use self::secrets::without_secrets;

/// Maximum length of an untrusted text that a message quotes or that is compared, in Unicode scalar values.
const QUOTE_LIMIT: usize = 120;

/// Whether a character is invisible or changes how adjacent characters are displayed: control characters, including
/// line ends and tabs, bidirectional controls, zero-width characters, line and paragraph separators, tag characters, and
/// selectors of variants except those of emoji.
#[must_use]
pub fn is_hidden(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_control();
    }
    c.is_control()
        || matches!(c,
            '\u{00AD}' | '\u{034F}' | '\u{061C}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}' | '\u{180B}'..='\u{180F}'
            | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{3164}'
            | '\u{FE00}'..='\u{FE0D}' | '\u{FEFF}' | '\u{FFA0}' | '\u{FFF9}'..='\u{FFFB}' | '\u{1BCA0}'..='\u{1BCA3}'
            | '\u{1D173}'..='\u{1D17A}' | '\u{E0000}'..='\u{E0FFF}')
}

/// Whether a character leaves no mark: a space, a [hidden](is_hidden) one, or one of those that fonts draw empty.
#[must_use]
pub fn is_blank(c: char) -> bool {
    c.is_whitespace() || is_hidden(c) || matches!(c, '\u{2800}' | '\u{FE0E}' | '\u{FE0F}' | '\u{16FE4}' | '\u{1D159}')
}

/// Whether a text begins with a sequence that CI runners treat as a command anywhere in a log line.
#[must_use]
pub fn begins_command(text: &str) -> bool {
    let Some(behind) = text.strip_prefix("##") else { return false };
    behind.starts_with('[') || behind.get(..4).is_some_and(|word| word.eq_ignore_ascii_case("vso["))
}

/// Rewrites every runner [command](begins_command) in the strings of a JSON text, so that it can be printed to a log.
/// The values do not change.
#[must_use]
pub fn json_for_log(json: &str) -> Cow<'_, str> {
    // `#` occurs only in strings, and is never part of an escape.
    escape_commands(json, "\\u0023")
}

fn escape_commands<'t>(text: &'t str, number_sign: &str) -> Cow<'t, str> {
    let commands: Vec<usize> =
        text.match_indices('#').map(|(at, _)| at).filter(|at| begins_command(&text[*at..])).collect();
    if commands.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + commands.len() * number_sign.len());
    let mut from = 0;
    for at in commands {
        out.push_str(&text[from..at]);
        out.push_str(number_sign);
        from = at + 1;
    }
    out.push_str(&text[from..]);
    Cow::Owned(out)
}

/// The text with hidden characters (see [`is_hidden`]) and the first character of each [command](begins_command)
/// written as `\u{…}`: safe to print to a terminal or a log.
#[must_use]
pub fn printable(text: &str) -> Cow<'_, str> {
    // Most texts need no escapes. Checking all bytes is faster than stopping early.
    let is_plain = text.bytes().fold(true, |is_plain, byte| is_plain & matches!(byte, b' '..=b'~'));
    let text = escape_commands(text, "\\u{23}");
    if is_plain || !text.contains(is_hidden) {
        return text;
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_hidden(c) {
            // Writing to a String cannot fail.
            let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// The text on one line, without hidden characters, and with at most `limit` Unicode scalar values.
#[must_use]
pub fn shown(text: &str, limit: usize) -> String {
    let mut out = String::with_capacity(text.len().min(limit * 4));
    let mut count = 0;
    for c in text.trim().chars() {
        // Line ends and tabs separate words; other hidden characters are dropped.
        let c = if c.is_whitespace() { ' ' } else { c };
        // XML and HTML do not allow noncharacters.
        let is_character = u32::from(c) & 0xFFFE != 0xFFFE && !('\u{FDD0}'..='\u{FDEF}').contains(&c);
        if is_hidden(c) || !is_character || (c == ' ' && out.ends_with(' ')) {
            continue;
        }
        if count == limit {
            out.push('…');
            break;
        }
        out.push(c);
        count += 1;
    }
    out
}

/// Quotes untrusted text in a message: escaped, in backticks, and cut after 120 characters.
#[must_use]
pub fn quote(text: &str) -> String {
    format!("`{}`", escape(text))
}

/// Escapes and cuts untrusted text like [`quote`], for a place that is in backticks already, such as a command.
#[must_use]
pub fn escape(text: &str) -> String {
    let mut cut: String = text.chars().take(QUOTE_LIMIT).collect();
    if cut.len() < text.len() {
        cut.push('…');
    }
    printable(&cut).replace('`', "'")
}

/// The first `limit` names, and how many there are besides: `a, b and 3 more`.
#[must_use]
pub fn brief_list<T: Display>(names: impl IntoIterator<Item = T>, limit: usize) -> String {
    let mut names = names.into_iter();
    let first = names.by_ref().take(limit).map(|name| name.to_string()).collect::<Vec<_>>().join(", ");
    match names.count() {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

/// A number with its noun, which gets an `s` where it needs one.
#[must_use]
pub fn plural(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// The candidate that is spelled most like `word`, if any is close enough.
#[must_use]
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    suggestions(word, candidates).into_iter().next()
}

/// The candidates that a misspelled word probably means, the closest first; at most three.
#[must_use]
pub fn suggestions<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    const MOST: usize = 3;
    // The time to compare grows with the square of the length, and no name is that long.
    if word.len() > QUOTE_LIMIT {
        return Vec::new();
    }
    let lower = word.to_lowercase();
    let scored = candidates.into_iter().map(|candidate| {
        // Ids, names of rules and the like have lower case only.
        let word = if candidate.contains(char::is_uppercase) { word } else { &lower };
        (strsim::jaro_winkler(word, candidate), candidate)
    });
    let mut near: Vec<(f64, &str)> = scored.filter(|(score, _)| *score > 0.8).collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0));
    near.into_iter().take(MOST).map(|(_, candidate)| candidate).collect()
}

/// Whether two words differ by one mistake: one letter added, missing or replaced, or two swapped. Names that differ in
/// a digit are different names.
#[must_use]
pub fn is_mistyped(word: &str, candidate: &str) -> bool {
    let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
    word.len().min(candidate.len()) > 3
        && word.len().abs_diff(candidate.len()) <= 1
        && word.len() <= QUOTE_LIMIT
        && digits(word) == digits(candidate)
        && strsim::osa_distance(word, candidate) == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_list_names_the_first_and_counts_the_rest() {
        let list = |names: &[&str]| brief_list(names, 2);
        assert_eq!([list(&[]), list(&["a"]), list(&["a", "b"])], ["", "a", "a, b"]);
        assert_eq!(list(&["a", "b", "c", "d"]), "a, b and 2 more");
        assert_eq!((plural(1, "agent"), plural(0, "agent")), ("1 agent".to_owned(), "0 agents".to_owned()));
        assert_eq!(escape("a`b\u{1b}"), "a'b\\u{1b}");
    }

    #[test]
    fn no_text_can_hold_a_command_of_a_runner() {
        for (text, shown) in [
            ("##[error]x", "\\u{23}#[error]x"),
            ("a ###[group]", "a #\\u{23}#[group]"),
            ("##VSO[task.x]", "\\u{23}#VSO[task.x]"),
            ("## [a] #[b]", "## [a] #[b]"),
        ] {
            assert_eq!(printable(text), shown);
            let json = serde_json::to_string(text).unwrap();
            let escaped = json_for_log(&json);
            assert_eq!(serde_json::from_str::<String>(&escaped).unwrap(), text);
            assert!(!escaped.match_indices('#').any(|(at, _)| begins_command(&escaped[at..])), "{escaped}");
        }
        assert!(matches!(printable("# plain"), Cow::Borrowed(_)));
    }

    #[test]
    fn terminal_and_bidi_controls_become_escapes() {
        assert_eq!(printable("a\u{1b}[31mb\u{202e}c\u{7f}\u{9b}"), "a\\u{1b}[31mb\\u{202e}c\\u{7f}\\u{9b}");
        assert!(matches!(printable("plain – text"), Cow::Borrowed(_)));
    }

    #[test]
    fn a_quote_is_bounded_and_keeps_its_own_delimiters() {
        assert_eq!(quote("x`y\n"), "`x'y\\u{a}`");
        assert_eq!(quote(&"é".repeat(5000)).chars().count(), QUOTE_LIMIT + 3);
    }

    #[test]
    fn a_mistyped_word_has_one_mistake() {
        for (word, candidate, expected) in [
            ("pi-acpp", "pi-acp", true),
            ("pi-apc", "pi-acp", true),
            ("pi-xcp", "pi-acp", true),
            ("pi-acp", "pi-acp", false),
            ("agent-1", "agent-2", false),
            ("agent2", "agent", false),
            ("abc", "abd", false),
            ("amp-acp", "pi-acp", false),
            ("codx", "codex", true),
            ("claude-code", "claude-code-acp", false),
        ] {
            assert_eq!(is_mistyped(word, candidate), expected, "{word} {candidate}");
        }
    }

    #[test]
    fn nearest_finds_a_typing_error_and_nothing_far_off() {
        assert_eq!(nearest("authros", ["authors", "license"]), Some("authors"));
        assert_eq!(nearest("zzz", ["authors", "license"]), None);
        assert_eq!(suggestions("code", ["codf", "cod", "xyz", "codex", "coder"]), ["codex", "coder", "cod"]);
        assert_eq!(suggestions("PI-ACP", ["pi-acp", "other"]), ["pi-acp"]);
        assert!(suggestions("License", ["Unlicense"]).is_empty());
        assert!(suggestions(&"a".repeat(QUOTE_LIMIT + 1), ["a"]).is_empty());
    }
}
