//! Edits of a manifest that preserve its layout.

use std::ops::Range;

use super::{Manifest, escape_segment};
use crate::source::Edit;

impl Manifest {
    /// Inserts a member with a string value after the member at a JSON pointer. The white space before the key and
    /// around the colon is copied from that member.
    ///
    /// Returns `None` if there is no such member.
    #[must_use]
    fn insert_behind(&self, pointer: &str, key: &str, value: &str) -> Option<Edit> {
        let text = self.text();
        let (old_key, old_value) = (self.places().key(pointer)?, self.places().value(pointer)?);
        let before = &text[..old_key.start];
        let space = &before[before.trim_end_matches([' ', '\t', '\r', '\n']).len()..];
        let colon = text.get(old_key.end..old_value.start)?;
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        let text = format!(",{space}{}{colon}{}", quoted(key), quoted(value));
        Some(Edit { range: old_value.end..old_value.end, text })
    }

    /// Inserts a member with a string value after the last member of the object at a JSON pointer.
    ///
    /// Returns `None` if there is no such object, or if it is empty.
    #[must_use]
    pub fn insert_into(&self, object: &str, key: &str, value: &str) -> Option<Edit> {
        let document = self.value();
        let last = document.pointer(object)?.as_object()?.keys().next_back()?;
        self.insert_behind(&format!("{object}/{}", escape_segment(last)), key, value)
    }

    /// Replaces the string at a JSON pointer. The common beginning and end of both strings stay as they are written,
    /// including escapes.
    ///
    /// Returns `None` if there is no string.
    #[must_use]
    pub fn replace_text(&self, pointer: &str, new: &str) -> Option<Edit> {
        let place = self.places().value(pointer)?;
        let letters = letters(self.text().get(place.clone())?, place.start)?;
        let new: Vec<char> = new.chars().collect();
        let same = |pairs: &mut dyn Iterator<Item = (char, char)>| pairs.take_while(|(a, b)| a == b).count();
        let head = same(&mut letters.iter().map(|(letter, _)| *letter).zip(new.iter().copied()));
        let rest = letters.len().min(new.len()) - head;
        let tail = same(&mut letters.iter().rev().map(|(letter, _)| *letter).zip(new.iter().rev().copied()).take(rest));
        let going = &letters[head..letters.len() - tail];
        let start = letters.get(head).map_or(place.end - 1, |(_, written)| written.start);
        let range = start..going.last().map_or(start, |(_, written)| written.end);
        let coming: String = new[head..new.len() - tail].iter().collect();
        let mut text = serde_json::Value::from(coming).to_string();
        text = text[1..text.len() - 1].to_owned();
        if self.text()[place].contains("\\/") {
            text = text.replace('/', "\\/");
        }
        Some(Edit { range, text })
    }

    /// Removes the member at a JSON pointer, with its comma and white space.
    ///
    /// Returns `None` if there is no such member.
    #[must_use]
    pub fn remove(&self, pointer: &str) -> Option<Edit> {
        let text = self.text();
        let (key, value) = (self.places().key(pointer)?, self.places().value(pointer)?);
        let blank = [' ', '\t', '\r', '\n'];
        let before = text[..key.start].trim_end_matches(blank);
        let behind = &text[value.end..];
        let comma = behind.trim_start_matches(blank).strip_prefix(',');
        let range = match (before.ends_with(','), comma) {
            // White space before a member belongs to the member; white space before the closing brace belongs to the
            // object.
            (true, _) => before.len() - 1..value.end,
            (false, Some(rest)) => key.start..text.len() - rest.trim_start_matches(blank).len(),
            (false, None) => key.start..value.end,
        };
        Some(Edit { range, text: String::new() })
    }
}

/// The characters of a JSON string, each with its position in the text; `None` for other values.
fn letters(raw: &str, offset: usize) -> Option<Vec<(char, Range<usize>)>> {
    let inner = raw.strip_prefix('"')?.strip_suffix('"')?;
    let mut letters = Vec::new();
    let mut at = 0;
    while let Some(first) = inner[at..].chars().next() {
        let length = match (first, inner.as_bytes().get(at + 1)) {
            // A surrogate pair is one character.
            ('\\', Some(b'u')) => match u16::from_str_radix(inner.get(at + 2..at + 6)?, 16).ok()? {
                0xd800..=0xdbff => 12,
                _ => 6,
            },
            ('\\', _) => 2,
            _ => first.len_utf8(),
        };
        let written = inner.get(at..at + length)?;
        let decoded: String = serde_json::from_str(&format!("\"{written}\"")).ok()?;
        letters.push((decoded.chars().next()?, offset + 1 + at..offset + 1 + at + length));
        at += length;
    }
    Some(letters)
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
    fn only_what_differs_is_written_anew() {
        for (raw, new, expected) in [
            ("https:\\/\\/h\\/v1.0.0\\/\\u0061", "https://h/v1.1.0/a", "https:\\/\\/h\\/v1.1.0\\/\\u0061"),
            ("a1.0.0b1.0.0c", "a1.1.0b1.1.0c", "a1.1.0b1.1.0c"),
            ("1.0.0", "1.0.0.1", "1.0.0.1"),
            ("1.0.0.1", "1.0.0", "1.0.0"),
            ("", "x", "x"),
            ("x", "", ""),
            ("aa", "aaa", "aaa"),
            ("\\ud83d\\ude00-1", "😀-2", "\\ud83d\\ude00-2"),
            ("a\\/1", "b\\/\"2", "b\\\\\\/\\\"2"),
            ("same", "same", "same"),
        ] {
            let text = format!("{{ \"a\" : [ \"{raw}\" ]\r\n}}");
            let manifest = Manifest::parse(text.clone()).unwrap();
            let edited = apply(&text, &[manifest.replace_text("/a/0", new).unwrap()]);
            assert_eq!(edited, format!("{{ \"a\" : [ \"{expected}\" ]\r\n}}"));
            let value: serde_json::Value = serde_json::from_str(&edited).unwrap();
            assert_eq!(value["a"][0], new);
        }
        let manifest = Manifest::parse("{\"a\":[1]}".to_owned()).unwrap();
        assert_eq!((manifest.replace_text("/a", "x"), manifest.replace_text("/a/0", "x")), (None, None));
    }

    #[test]
    fn a_member_goes_with_its_comma() {
        for (text, expected) in [
            ("{\"a\": 1, \"b\": 2}", "{\"a\": 1}"),
            ("{\"b\": 2, \"a\": 1}", "{\"a\": 1}"),
            ("{ \"b\": 2 }", "{  }"),
            ("{\r\n  \"a\": 1,\r\n  \"b\": 2,\r\n  \"c\": 3\r\n}", "{\r\n  \"a\": 1,\r\n  \"c\": 3\r\n}"),
            ("{\n\t\"a\": 1,\n\t\"b\": 2\n}", "{\n\t\"a\": 1\n}"),
            ("{\n\t\"b\": 2,\n\t\"a\": 1\n}", "{\n\t\"a\": 1\n}"),
        ] {
            let manifest = Manifest::parse(text.to_owned()).unwrap();
            assert_eq!(apply(text, &[manifest.remove("/b").unwrap()]), expected);
            assert_eq!(manifest.remove("/z"), None);
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
