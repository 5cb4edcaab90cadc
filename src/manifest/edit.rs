//! Changes to a manifest that keep its author's layout.

use super::Manifest;
use crate::source::Edit;

impl Manifest {
    /// Puts a member with a text as its value behind the member at a JSON pointer, in the same layout: the white space
    /// before the new key and around its colon is that of the other one.
    ///
    /// `None` when there is no such member.
    #[must_use]
    pub fn insert_behind(&self, pointer: &str, key: &str, value: &str) -> Option<Edit> {
        let text = self.text();
        let (old_key, old_value) = (self.places().key(pointer)?, self.places().value(pointer)?);
        let before = &text[..old_key.start];
        let space = &before[before.trim_end_matches([' ', '\t', '\r', '\n']).len()..];
        let colon = text.get(old_key.end..old_value.start)?;
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        let text = format!(",{space}{}{colon}{}", quoted(key), quoted(value));
        Some(Edit { range: old_value.end..old_value.end, text })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::apply;

    fn inserted(text: &str) -> String {
        let manifest = Manifest::parse(text.to_owned()).unwrap();
        let edit = manifest.insert_behind("/a/b", "new", "x\"y").unwrap();
        let edited = apply(text, &[edit]);
        let value: serde_json::Value = serde_json::from_str(&edited).unwrap();
        assert_eq!(value["a"]["new"], "x\"y");
        edited
    }

    #[test]
    fn a_member_is_put_in_as_its_neighbour_stands() {
        for (text, expected) in [
            ("{\"a\":{\"b\":1}}", "{\"a\":{\"b\":1,\"new\":\"x\\\"y\"}}"),
            ("{\"a\": { \"b\": 1, \"c\": 2 }}", "{\"a\": { \"b\": 1, \"new\": \"x\\\"y\", \"c\": 2 }}"),
            ("{\"a\": {\r\n\t\"b\" : 1\r\n}}\r\n", "{\"a\": {\r\n\t\"b\" : 1,\r\n\t\"new\" : \"x\\\"y\"\r\n}}\r\n"),
            (
                "{\"a\": {\n  \"c\": 0,\n  \"b\": 1\n}}",
                "{\"a\": {\n  \"c\": 0,\n  \"b\": 1,\n  \"new\": \"x\\\"y\"\n}}",
            ),
        ] {
            assert_eq!(inserted(text), expected);
        }
    }

    #[test]
    fn without_the_neighbour_there_is_no_place() {
        let manifest = Manifest::parse("{\"a\":[1]}".to_owned()).unwrap();
        for pointer in ["", "/b", "/a/0"] {
            assert_eq!(manifest.insert_behind(pointer, "k", "v"), None, "{pointer}");
        }
    }
}
