//! Lua, as Neovim reads it.

use super::write_literal;

/// A string literal. Every byte is kept; hidden characters are written as decimal bytes.
#[must_use]
pub fn string(text: &str) -> String {
    // Three digits, so that a following digit is not read as a part of the number.
    write_literal(text, |c| c.encode_utf8(&mut [0; 4]).bytes().map(|byte| format!("\\{byte:03}")).collect())
}

/// A table that lists strings.
#[must_use]
pub fn list<'a>(items: impl IntoIterator<Item = &'a str>) -> String {
    table(items.into_iter().map(string))
}

/// A table from strings to strings.
#[must_use]
pub fn map(pairs: &[(String, String)]) -> String {
    table(pairs.iter().map(|(key, value)| format!("[{}] = {}", string(key), string(value))))
}

/// A table from strings to functions that return strings, for code that interprets plain strings.
#[must_use]
pub fn functions(pairs: &[(String, String)]) -> String {
    table(pairs.iter().map(|(key, value)| format!("[{}] = function() return {} end", string(key), string(value))))
}

fn table(fields: impl Iterator<Item = String>) -> String {
    let fields: Vec<String> = fields.collect();
    if fields.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", fields.join(", ")) }
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
