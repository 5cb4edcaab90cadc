//! Where the entries of an index are, by a quick look at its brackets and texts, which checks nothing else.
//!
//! It takes a fraction of the time of a parser, and is then checked piece by piece, by all cores at once: where the rest is
//! JSON with an empty list, and each entry is JSON, the whole is JSON with these entries and no others, because a text is
//! JSON in one way only.

use std::ops::Range;

use memchr::{memchr2, memchr3};

/// The parts of an index.
#[derive(Debug)]
pub(super) struct Parts {
    /// What is between the brackets of the list `agents`.
    pub(super) list: Range<usize>,
    /// Its entries.
    pub(super) entries: Vec<Range<usize>>,
}

/// Finds the entries. `None` when something is not as usual, which a parser may tell about.
pub(super) fn split(json: &str) -> Option<Parts> {
    let mut scan = Scan { bytes: json.as_bytes(), at: 0 };
    scan.take(b'{')?;
    loop {
        let name = scan.value()?;
        scan.take(b':')?;
        if &json[name] == "\"agents\"" {
            scan.take(b'[')?;
            return scan.entries();
        }
        scan.value()?;
        scan.take(b',')?;
    }
}

struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Scan<'_> {
    /// Passes the list, whose bracket was passed.
    fn entries(&mut self) -> Option<Parts> {
        let start = self.at;
        let mut entries = Vec::new();
        if self.next()? != b']' {
            loop {
                if self.next()? != b'{' {
                    return None;
                }
                entries.push(self.value()?);
                if self.next()? == b']' {
                    break;
                }
                self.take(b',')?;
            }
        }
        Some(Parts { list: start..self.at, entries })
    }

    /// The next byte that is no space.
    fn next(&mut self) -> Option<u8> {
        let spaces = self.bytes[self.at..].iter().position(|byte| !b" \n\r\t".contains(byte))?;
        self.at += spaces;
        Some(self.bytes[self.at])
    }

    /// Passes this byte, which must be the next one.
    fn take(&mut self, byte: u8) -> Option<()> {
        (self.next()? == byte).then(|| self.at += 1)
    }

    /// Passes a value.
    fn value(&mut self) -> Option<Range<usize>> {
        let first = self.next()?;
        let start = self.at;
        match first {
            b'"' => self.text()?,
            b'{' => self.nested(b'{', b'}')?,
            b'[' => self.nested(b'[', b']')?,
            _ => self.at += self.bytes[start..].iter().position(|byte| b" \n\r\t,]}".contains(byte))?,
        }
        Some(start..self.at)
    }

    /// Passes an object or a list. Brackets of the other kind need no count: whether they match is checked later.
    fn nested(&mut self, open: u8, close: u8) -> Option<()> {
        let mut depth = 0_usize;
        loop {
            let byte = *self.bytes.get(self.at)?;
            if byte == b'"' {
                self.text()?;
                continue;
            }
            self.at += 1;
            if byte == b'\n' {
                // Indentation may be long.
                self.at += memchr3(b'"', open, close, &self.bytes[self.at..])?;
            } else if byte == open {
                depth += 1;
            } else if byte == close {
                depth -= 1;
                if depth == 0 {
                    return Some(());
                }
            }
        }
    }

    /// Passes a text with its quotation marks.
    fn text(&mut self) -> Option<()> {
        self.at += 1;
        loop {
            self.at += memchr2(b'"', b'\\', self.bytes.get(self.at..)?)?;
            if self.bytes[self.at] == b'"' {
                self.at += 1;
                return Some(());
            }
            self.at += 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    /// The list, and its entries.
    fn texts(json: &str) -> Option<(&str, Vec<&str>)> {
        let Parts { list, entries } = split(json)?;
        Some((&json[list], entries.into_iter().map(|range| &json[range]).collect()))
    }

    #[test]
    fn brackets_in_texts_are_no_brackets() {
        let first = r#"{"a":"}]{[,","\"}":"\\","c":[[{"d":"\\\""}],"]"]}"#;
        let json =
            format!(" {{ \"x\" : [\"]\", {{}}] , \"y\":-1e3,\"agents\"\t: [\r\n{first} ,{{}}\n,{{\"é\":1}} ] }} ");
        let list = format!("\r\n{first} ,{{}}\n,{{\"é\":1}} ");
        assert_eq!(texts(&json), Some((list.as_str(), vec![first, "{}", "{\"é\":1}"])));
        assert_eq!(texts(r#"{"agents":[ ]}"#), Some((" ", vec![])));
    }

    #[test]
    fn what_is_not_as_usual_is_left_to_the_parser() {
        for json in [
            "", " ", "{", "[]", "7", "{}", "{\"", "{\"agents", "{\"agents\"", "{\"agents\":", "{\"agents\":{}}",
            "{\"agents\":[", "{\"agents\":[{", "{\"agents\":[{}", "{\"agents\":[{},", "{\"agents\":[{},]",
            "{\"agents\":[,{}]", "{\"agents\":[7]}", "{\"agents\":[{} {}]}", "{\"agents\":[{\"a\\",
            "{\"agents\":[{\"a\\\"}]}", "{\"agents\":[[{}]]}", "{\"x\":1}", "{\"x\":{\"agents\":[{}]}}",
            "{\"agents\":}", "{\"\\u0061gents\":[{}]}", "{\"agents\":[{\"a\":1}},{}]}",
        ] {
            assert_eq!(texts(json), None, "{json}");
        }
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            any::<Option<bool>>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            "[\\[\\]{}\",:\\\\ a]{0,6}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::hash_map("[{}\\[\\]\"\\\\:, a]{0,4}", inner, 0..5)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn entries_of_any_content_are_found(before in any_json(), values in prop::collection::vec(any_json(), 0..5)) {
            let values: Vec<Value> = values.into_iter().map(|value| json!({ "value": value })).collect();
            let index = json!({ "before": before, "agents": values, "after": before });
            for json in [index.to_string(), serde_json::to_string_pretty(&index).unwrap()] {
                let found: Vec<Value> =
                    texts(&json).unwrap().1.into_iter().map(|entry| serde_json::from_str(entry).unwrap()).collect();
                prop_assert_eq!(&found, &values);
            }
        }

        #[test]
        fn no_text_makes_it_stumble(text in "\\{\"agents\":\\[[\\[\\]{}\",:\\\\ aé]{0,40}") {
            // It comes to an end, and cuts no character in two.
            let entries = texts(&text).map(|(_, entries)| entries).unwrap_or_default();
            let are_objects = entries.iter().all(|entry| entry.starts_with('{') && entry.ends_with('}'));
            prop_assert!(are_objects, "{:?}", entries);
        }
    }
}
