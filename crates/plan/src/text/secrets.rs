//! Removes secrets from URLs in the output of other programs.

use std::borrow::Cow;

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
}
