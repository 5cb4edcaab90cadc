//! The text of an index, entry by entry: the bytes that `acp_registry_core::json` would write.

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

    /// Adds an entry, [indented] by four spaces.
    pub(super) fn entry(&mut self, entry: &str) {
        self.text.push_str(if self.is_empty { "\n    " } else { ",\n    " });
        self.text.push_str(entry);
        self.is_empty = false;
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
    acp_registry_core::json::to_string(value).trim_end().replace('\n', &format!("\n{indentation}"))
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
            agents.as_array().unwrap().iter().for_each(|agent| index.entry(&indented(agent, "    ")));
            assert_eq!(index.end(&extra), acp_registry_core::json::to_string(&whole));
        }
    }
}
