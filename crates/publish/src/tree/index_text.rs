//! The text of an index, entry by entry: the bytes that `acp_registry_plan::json` would write.

use std::ops::Range;

use serde_json::{Map, Value};

/// An index that is being written.
pub(super) struct IndexText {
    text: String,
    is_empty: bool,
}

impl IndexText {
    pub(super) fn new(version: &str) -> Self {
        let text = format!("{{\n  \"version\": {},\n  \"agents\": [", indented(&version, ""));
        Self { text, is_empty: true }
    }

    /// Adds an entry, [indented] by four spaces. Returns its place in the text.
    pub(super) fn entry(&mut self, entry: &str) -> Range<usize> {
        self.text.push_str(if self.is_empty { "\n    " } else { ",\n    " });
        let start = self.text.len();
        self.text.push_str(entry);
        self.is_empty = false;
        start..self.text.len()
    }

    /// Ends the list of agents, and adds the further members.
    pub(super) fn end(mut self, extra: &Map<String, Value>) -> String {
        self.text.push_str(if self.is_empty { "]" } else { "\n  ]" });
        for (key, value) in extra {
            self.text.push_str(&format!(",\n  {}: {}", indented(key, ""), indented(value, "  ")));
        }
        self.text.push_str("\n}\n");
        self.text
    }
}

/// Serializes a value, with all lines but the first indented. JSON strings contain no raw line ends, so this only
/// changes whitespace.
pub(super) fn indented<T: serde::Serialize>(value: &T, indentation: &str) -> String {
    acp_registry_plan::json::to_string(value).trim_end().replace('\n', &format!("\n{indentation}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_index_is_what_the_serializer_would_write() {
        for agents in [json!([]), json!([{ "id": "a", "x": [1, { "y": "line\nend" }] }, { "id": "b" }])] {
            let whole = json!({ "version": "1.0.0", "agents": agents, "extensions": [], "more": { "é": [1] } });
            let Value::Object(extra) = json!({ "extensions": [], "more": { "é": [1] } }) else { unreachable!() };
            let mut index = IndexText::new("1.0.0");
            let entries: Vec<String> = agents.as_array().unwrap().iter().map(|agent| indented(agent, "    ")).collect();
            let places: Vec<_> = entries.iter().map(|entry| index.entry(entry)).collect();
            let text = index.end(&extra);
            assert_eq!(text, acp_registry_plan::json::to_string(&whole));
            assert!(places.into_iter().map(|place| &text[place]).eq(&entries));
        }
    }
}
