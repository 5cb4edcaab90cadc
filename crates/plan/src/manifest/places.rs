//! Positions of the values of a JSON document in its text.

use std::collections::HashSet;
use std::ops::Range;

use jsonc_parser::ast::{ObjectPropName, Value};
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

/// The positions of all keys and values of one document, in bytes.
///
/// A tree instead of a table of pointers, because a malicious document could make such a table grow quadratically.
#[derive(Debug, Default)]
pub struct Places {
    root: Option<Node>,
}

#[derive(Debug)]
struct Node {
    key: Option<(String, Range<usize>)>,
    value: Range<usize>,
    kind: JsonKind,
}

#[derive(Debug)]
enum JsonKind {
    Object(Vec<Node>),
    Array(Vec<Node>),
    Scalar,
}

impl Places {
    /// Finds the positions in a text that `serde_json` has already accepted. Any other text yields none.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let options = ParseOptions {
            allow_comments: false,
            allow_loose_object_property_names: false,
            allow_trailing_commas: false,
            allow_missing_commas: false,
            allow_single_quoted_strings: false,
            allow_hexadecimal_numbers: false,
            allow_unary_plus_numbers: false,
            allow_bare_decimal_point_numbers: false,
            allow_non_finite_numbers: false,
            allow_extended_string_escapes: false,
        };
        let ast = parse_to_ast(text, &CollectOptions::default(), &options);
        Self { root: ast.ok().and_then(|ast| ast.value).map(|value| node(None, &value)) }
    }

    /// The position of the value at a JSON pointer. For a repeated key, that of the last value, which JSON parsers use.
    #[must_use]
    pub fn value(&self, pointer: &str) -> Option<Range<usize>> {
        self.find(pointer).map(|node| node.value.clone())
    }

    /// The position of the key, including its quotes, of the member at a JSON pointer.
    #[must_use]
    pub fn key(&self, pointer: &str) -> Option<Range<usize>> {
        self.find(pointer)?.key.as_ref().map(|(_, range)| range.clone())
    }

    /// The first repeated keys, at most `limit`: the JSON pointer of each member and the position of its repeated key.
    #[must_use]
    pub fn repeated_keys(&self, limit: usize) -> Vec<(String, Range<usize>)> {
        let mut found = Vec::new();
        if let Some(root) = &self.root {
            collect_repeated(root, &mut String::new(), &mut found, limit);
        }
        found
    }

    fn find(&self, pointer: &str) -> Option<&Node> {
        let mut node = self.root.as_ref()?;
        for segment in pointer.split('/').skip(1) {
            let segment = segment.replace("~1", "/").replace("~0", "~");
            node = match &node.kind {
                JsonKind::Object(members) => {
                    members.iter().rev().find(|member| member.key.as_ref().is_some_and(|(key, _)| *key == segment))?
                }
                JsonKind::Array(items) => items.get(segment.parse::<usize>().ok()?)?,
                JsonKind::Scalar => return None,
            };
        }
        Some(node)
    }
}

fn node(key: Option<(String, Range<usize>)>, value: &Value<'_>) -> Node {
    let kind = match value {
        Value::Object(object) => JsonKind::Object(
            object
                .properties
                .iter()
                .map(|member| {
                    let range = member.name.range();
                    let name = match &member.name {
                        ObjectPropName::String(string) => string.value.to_string(),
                        ObjectPropName::Word(word) => word.value.to_owned(),
                    };
                    node(Some((name, range.start..range.end)), &member.value)
                })
                .collect(),
        ),
        Value::Array(array) => JsonKind::Array(array.elements.iter().map(|item| node(None, item)).collect()),
        _ => JsonKind::Scalar,
    };
    let range = value.range();
    Node { key, value: range.start..range.end, kind }
}

fn collect_repeated(node: &Node, pointer: &mut String, found: &mut Vec<(String, Range<usize>)>, limit: usize) {
    let length = pointer.len();
    match &node.kind {
        JsonKind::Scalar => {}
        JsonKind::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                pointer.push('/');
                pointer.push_str(&index.to_string());
                collect_repeated(item, pointer, found, limit);
                pointer.truncate(length);
            }
        }
        JsonKind::Object(members) => {
            let mut seen = HashSet::new();
            for member in members {
                let Some((key, range)) = &member.key else { continue };
                pointer.push('/');
                pointer.push_str(&escape_segment(key));
                if found.len() == limit {
                    return;
                }
                if !seen.insert(key) {
                    found.push((pointer.clone(), range.clone()));
                }
                collect_repeated(member, pointer, found, limit);
                pointer.truncate(length);
            }
        }
    }
}

/// A key as one segment of a JSON pointer.
#[must_use]
pub fn escape_segment(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_keys_are_found_by_pointer() {
        let text = r#"{"ä": [1, {"x/y": "z"}], "n": null}"#;
        let places = Places::of(text);
        assert_eq!(&text[places.value("/ä/1/x~1y").unwrap()], r#""z""#);
        assert_eq!(&text[places.key("/ä/1/x~1y").unwrap()], r#""x/y""#);
        assert_eq!(&text[places.value("").unwrap()], text);
        assert_eq!(places.value("/nothing"), None);
        assert_eq!(places.value("/n/deeper"), None);
        assert_eq!(places.key("/ä/0"), None);
    }

    #[test]
    fn repeated_keys_are_listed_with_their_pointers() {
        let text = r#"{"a": {"b": 1, "\u0062": 2}, "a": 3}"#;
        let found = Places::of(text).repeated_keys(9);
        let shown: Vec<_> = found.iter().map(|(pointer, range)| (pointer.as_str(), &text[range.clone()])).collect();
        assert_eq!(shown, [("/a/b", r#""\u0062""#), ("/a", r#""a""#)]);
        assert_eq!(Places::of(text).repeated_keys(1).len(), 1);
    }
}
