//! Text from manifests as a page shows it.

use crate::text::is_hidden;

/// The text without hidden characters, on one line, and of at most `limit` Unicode scalar values.
pub(super) fn shown(text: &str, limit: usize) -> String {
    let mut out = String::with_capacity(text.len().min(limit * 4));
    let mut count = 0;
    for c in text.trim().chars() {
        // Line ends and tabs separate words; the other hidden characters have no place in a page.
        let c = if c.is_whitespace() { ' ' } else { c };
        // XML and HTML have no place for what is no character.
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

/// The address, if it is one that a page may link to: https, with a host, without a user, and of sensible length.
pub(super) fn link(address: &str) -> Option<String> {
    if address.len() > 2000 {
        return None;
    }
    let url = url::Url::parse(address).ok()?;
    let is_plain = url.scheme() == "https" && url.has_host() && url.username().is_empty() && url.password().is_none();
    is_plain.then(|| url.to_string())
}

/// Text for a line of Markdown: what would be markup is escaped.
pub(super) fn markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if "\\`*_{}[]<>()#|~!&".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// A value as JSON that may stand in a `<script>` data block: no character of it ends the block or begins a comment.
pub(super) fn json_in_html(value: &serde_json::Value) -> String {
    crate::json::to_string(value).trim_end().replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn what_is_hidden_goes_and_long_text_ends() {
        assert_eq!(shown(" a\n\tb\u{202e}c\u{0} ", 10), "a bc");
        assert_eq!(shown("ééé", 2), "éé…");
        assert_eq!(shown("a\u{ffff}\u{1fffe}\u{fdd0}b", 10), "ab");
        assert_eq!(shown(&"x".repeat(10_000), 200).chars().count(), 201);
        assert_eq!(shown("عربي 😀", 20), "عربي 😀");
    }

    #[test]
    fn only_plain_https_addresses_are_linked() {
        assert_eq!(link("https://example.com/a b").as_deref(), Some("https://example.com/a%20b"));
        for refused in
            ["http://example.com", "javascript:alert(1)", "https://u:p@example.com", "https://", "x", "data:,x"]
        {
            assert_eq!(link(refused), None, "{refused}");
        }
        assert_eq!(link(&format!("https://example.com/{}", "x".repeat(3000))), None);
    }

    #[test]
    fn json_cannot_leave_its_block() {
        let value = json!({ "k": "</script><!-- & \u{2028}" });
        let text = json_in_html(&value);
        assert!(!text.contains(['<', '>', '&']) && text.is_ascii());
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    }

    #[test]
    fn markdown_is_only_text() {
        assert_eq!(markdown("[a](b) <i> `c`"), "\\[a\\]\\(b\\) \\<i\\> \\`c\\`");
    }
}
