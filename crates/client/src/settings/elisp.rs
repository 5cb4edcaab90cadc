//! Emacs Lisp.

use super::write_literal;

/// A string literal. Hidden characters are written by their numbers.
#[must_use]
pub fn string(text: &str) -> String {
    write_literal(text, |c| format!("\\U{:08x}", u32::from(c)))
}

/// A quoted list of strings.
#[must_use]
pub fn list<'a>(items: impl IntoIterator<Item = &'a str>) -> String {
    let items: Vec<String> = items.into_iter().map(string).collect();
    if items.is_empty() { "nil".to_owned() } else { format!("'({})", items.join(" ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_escaped() {
        assert_eq!(string("a\"b\\c\nd\u{7}1"), r#""a\"b\\c\nd\U000000071""#);
        assert_eq!(string("\u{202e}a"), r#""\U0000202ea""#);
        assert_eq!(list(["a b", "c"]), r#"'("a b" "c")"#);
        assert_eq!(list([]), "nil");
    }
}
