//! Lua, as Neovim reads it.

use std::fmt::Write as _;

use acp_registry_plan::text::is_hidden;

/// A string literal. Every byte is kept; hidden characters are written as decimal bytes.
#[must_use]
pub fn string(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            c if is_hidden(c) => {
                let mut bytes = [0; 4];
                for byte in c.encode_utf8(&mut bytes).bytes() {
                    // Three digits, so that a following digit is not read as a part of the number. Writing to a String
                    // cannot fail.
                    let _ = write!(out, "\\{byte:03}");
                }
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A table that lists strings.
#[must_use]
pub fn list<'a>(items: impl IntoIterator<Item = &'a str>) -> String {
    let items: Vec<String> = items.into_iter().map(string).collect();
    if items.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", items.join(", ")) }
}

/// A table from strings to strings.
#[must_use]
pub fn map(pairs: &[(String, String)]) -> String {
    let pairs: Vec<String> =
        pairs.iter().map(|(key, value)| format!("[{}] = {}", string(key), string(value))).collect();
    if pairs.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", pairs.join(", ")) }
}

/// A table from strings to functions that return strings, for code that interprets plain strings.
#[must_use]
pub fn functions(pairs: &[(String, String)]) -> String {
    let pairs: Vec<String> = pairs
        .iter()
        .map(|(key, value)| format!("[{}] = function() return {} end", string(key), string(value)))
        .collect();
    if pairs.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", pairs.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_escaped() {
        assert_eq!(string("a\"b\\c\nd\u{0}1é"), r#""a\"b\\c\nd\0001é""#);
        assert_eq!(string("\u{202e}"), r#""\226\128\174""#);
        assert_eq!(list(["a", "b"]), r#"{ "a", "b" }"#);
        assert_eq!(map(&[("end".into(), "]]".into())]), r#"{ ["end"] = "]]" }"#);
        assert_eq!(functions(&[("K".into(), "cmd:x".into())]), r#"{ ["K"] = function() return "cmd:x" end }"#);
        assert_eq!((list([]), map(&[])), ("{}".to_owned(), "{}".to_owned()));
    }
}
