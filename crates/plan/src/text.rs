//! Untrusted text: escapes what must not be printed on a terminal or a page.

use std::borrow::Cow;
use std::fmt::{Display, Write as _};

/// Maximum length of an untrusted text that a message quotes or that is compared, in Unicode scalar values.
const QUOTE_LIMIT: usize = 120;

const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];

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

/// A [`printable`] text for the beginning of a line: where it begins with `::` after spaces, which CI runners
/// treat as a command there, the first colon is escaped too.
#[must_use]
pub fn printable_line(text: &str) -> Cow<'_, str> {
    let text = printable(text);
    let Some(behind) = text.trim_start().strip_prefix("::") else { return text };
    let spaces = &text[..text.len() - behind.len() - 2];
    Cow::Owned(format!("{spaces}\\u{{3a}}:{behind}"))
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
    cut(text, QUOTE_LIMIT).replace('`', "'")
}

/// The first `limit` characters of untrusted text, with `…` behind them if there are more. Printable.
#[must_use]
pub fn cut(text: &str, limit: usize) -> String {
    let mut cut: String = text.chars().take(limit).collect();
    if cut.len() < text.len() {
        cut.push('…');
    }
    printable(&cut).into_owned()
}

/// The words of a name in snake, kebab or camel case, in lower case: separated by other characters, or by a capital.
#[must_use]
pub fn name_words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for c in name.chars() {
        if !c.is_ascii_alphanumeric() || (was_lower && c.is_ascii_uppercase()) {
            words.push(String::new());
        }
        if c.is_ascii_alphanumeric() {
            words.last_mut().into_iter().for_each(|word| word.push(c.to_ascii_lowercase()));
        }
        was_lower = c.is_ascii_lowercase();
    }
    words.retain(|word| !word.is_empty());
    words
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

/// Formats a number of bytes: `1.5 MiB`, rounded down.
#[must_use]
pub fn bytes(count: u64) -> String {
    if count < 1024 {
        return format!("{count} B");
    }
    let (tenths, unit) = tenths(count);
    format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[unit])
}

/// Formats the sum of several sizes. Adds up the rounded sizes that [`bytes()`] shows, so that the total agrees with
/// them.
#[must_use]
pub fn total(counts: impl IntoIterator<Item = u64>) -> String {
    let shown = |count: u64| {
        if count < 1024 {
            return count;
        }
        let (tenths, unit) = tenths(count);
        // Rounded up, since `bytes` rounds it down again.
        (tenths << (10 * (unit + 1))).div_ceil(10)
    };
    bytes(counts.into_iter().map(shown).sum())
}

/// Returns a size as tenths of a unit, and the index of that unit in `UNITS`. Rounded down, so that sizes are never
/// overstated.
fn tenths(count: u64) -> (u64, usize) {
    let (mut tenths, mut unit) = (count.saturating_mul(10) / 1024, 0);
    while tenths >= 10_240 && unit + 1 < UNITS.len() {
        tenths /= 1024;
        unit += 1;
    }
    (tenths, unit)
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
    let scored = candidates.into_iter().filter_map(|candidate| {
        // Ids, names of rules and the like have lower case only.
        let word = if candidate.contains(char::is_uppercase) { word } else { &lower };
        // Names of one family, such as `…-acp`, are alike although they are far from each other.
        let is_alike = strsim::jaro_winkler(word, candidate) > 0.8;
        let mistakes = strsim::osa_distance(word, candidate);
        // Letters that are left out make no other word.
        let mut letters = candidate.chars();
        let is_part = word.chars().all(|letter| letters.any(|other| other == letter));
        let is_near = is_alike && (is_part || mistakes <= 2 || mistakes * 4 <= word.chars().count());
        // Of as many mistakes, letters that are left out are likelier than wrong ones.
        is_near.then(|| (mistakes, -strsim::sorensen_dice(word, candidate), candidate))
    });
    let mut near: Vec<(usize, f64, &str)> = scored.collect();
    near.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    near.into_iter().take(MOST).map(|(_, _, candidate)| candidate).collect()
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

/// The text without possible secrets in URLs: names and passwords before a host are removed, and queries are replaced
/// by `…`, as messages show URLs.
#[must_use]
pub fn without_secrets(text: &str) -> Cow<'_, str> {
    if !text.contains("://") {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, behind) = rest.split_at(at + 3);
        out.push_str(before);
        let word = &behind[..behind.find(ends_word).unwrap_or(behind.len())];
        // The same word may contain another URL, such as that of a mirror.
        let word = word.find("://").map_or(word, |inner| &word[..start_of_scheme(&word[..inner])]);
        let plain = &word[end_of_user_info(word)..];
        let query = plain.find('?').map(|at| (at, plain[at..].find(ends_query).map_or(plain.len(), |end| at + end)));
        match query.filter(|(from, to)| to - from > 1) {
            Some((from, to)) => out.extend([&plain[..from], "?…", &plain[to..]]),
            None => out.push_str(plain),
        }
        rest = &behind[word.len()..];
    }
    out.push_str(rest);
    if out == text { Cow::Borrowed(text) } else { Cow::Owned(out) }
}

/// Whether a character ends a word: no URL in a text contains it, not even in an unencoded password.
fn ends_word(c: char) -> bool {
    c.is_whitespace() || c.is_control() || "\"'`<>".contains(c)
}

fn ends_query(c: char) -> bool {
    "()[]{}|\\,;".contains(c)
}

/// The beginning of the scheme at the end of a text.
fn start_of_scheme(text: &str) -> usize {
    text.trim_end_matches(|c: char| c.is_ascii_alphanumeric() || "+-.".contains(c)).len()
}

/// The length of a URL's user info, including the `@`.
fn end_of_user_info(address: &str) -> usize {
    let authority = &address[..address.find(['/', '?', '#']).unwrap_or(address.len())];
    if let Some(at) = authority.rfind('@') {
        return at + 1;
    }
    // An unencoded password may contain characters that end a host.
    let host = authority.rfind(']').map_or(0, |at| at + 1);
    let is_port = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    match authority[host..].split_once(':') {
        Some((_, port)) if !is_port(port) => address.rfind('@').map_or(0, |at| at + 1),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_have_words() {
        for (name, words) in [
            ("OPENAI_API_KEY", &["openai", "api", "key"][..]),
            ("readTextFile", &["read", "text", "file"]),
            ("--web-search2", &["web", "search2"]),
            ("", &[]),
        ] {
            assert_eq!(name_words(name), words);
        }
    }

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
        for (text, shown) in [
            ("::error::x", "\\u{3a}:error::x"),
            (" \u{2003}::x", " \u{2003}\\u{3a}:x"),
            ("::", "\\u{3a}:"),
            ("##[x", "\\u{23}#[x"),
            ("a ::x", "a ::x"),
            (":x", ":x"),
        ] {
            assert_eq!(printable_line(text), shown);
        }
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
        assert_eq!(nearest("clde-acp", ["codex-acp", "claude-acp", "cline-acp"]), Some("claude-acp"));
        assert!(suggestions("nosuch-agent", ["corust-agent"]).is_empty());
        assert!(suggestions("License", ["Unlicense"]).is_empty());
        assert!(suggestions(&"a".repeat(QUOTE_LIMIT + 1), ["a"]).is_empty());
    }

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

    #[test]
    fn addresses_lose_their_secrets_and_nothing_else() {
        for (text, expected) in [
            ("GET https://u:secret@h.example/a failed", "GET https://h.example/a failed"),
            ("`https://secret@h.example:8080`, x", "`https://h.example:8080`, x"),
            ("git+ssh://git@h.example/a.git#v1", "git+ssh://h.example/a.git#v1"),
            ("(http://u:sec/ret,@h.example/a)", "(http://h.example/a)"),
            ("https://u:s@cret@h.example/", "https://h.example/"),
            ("(https://h.example/a?sig=secret&x=1): 403", "(https://h.example/a?…): 403"),
            ("https://m.example/https://u:secret@h.example/", "https://m.example/https://h.example/"),
            ("two https://a:secret@h.example https://b:secret@h.example", "two https://h.example https://h.example"),
        ] {
            assert_eq!(without_secrets(text), expected, "{text}");
        }
        for plain in [
            "no address, u:p@h", "https://h.example:8080/@scope/pkg", "http://[::1]:80/@scope/a",
            "https://h.example/a@1.0.0?", "https://例え.example/ä#b", "://", "a://",
        ] {
            assert!(matches!(without_secrets(plain), Cow::Borrowed(text) if text == plain), "{plain}");
        }
    }

    #[test]
    fn sizes_are_read_by_people() {
        for (count, text) in
            [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (805_000_000, "767.7 MiB"), (5 << 30, "5.0 GiB")]
        {
            assert_eq!(bytes(count), text);
        }
    }

    #[test]
    fn a_total_is_the_sum_of_what_is_shown() {
        let tenth = (1 << 20) / 10;
        let sizes = [10 * tenth + 90_000, 10 * tenth + 90_000, 700];
        let shown: Vec<String> = sizes.iter().map(|size| bytes(*size)).collect();
        assert_eq!(shown, ["1.0 MiB", "1.0 MiB", "700 B"]);
        assert_eq!((bytes(sizes.iter().sum()).as_str(), total(sizes).as_str()), ("2.1 MiB", "2.0 MiB"));
        assert_eq!((total([]), total([1536, 1023])), ("0 B".to_owned(), "2.4 KiB".to_owned()));
        assert_eq!(total([5 << 30, 1 << 20]), "5.0 GiB");
    }
}
