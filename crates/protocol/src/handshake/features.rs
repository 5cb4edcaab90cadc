//! Capabilities as a flat table, with stable names for features across protocol versions.

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::warnings::kind;

/// The capabilities of an agent: every known feature by name, in a fixed order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Features(Vec<(&'static str, bool)>);

/// Where a feature is declared.
enum At {
    /// Every agent of this version has it.
    Always,
    /// This version does not have the feature.
    Never,
    /// A member of the capabilities: an object or `true`.
    Member(&'static str),
    /// A value in a list.
    Listed(&'static str, &'static str),
    /// A member with this value. If the member is missing, `default` applies, provided that the feature `of` is
    /// present.
    Text { member: &'static str, text: &'static str, default: bool, of: &'static str },
}

use At::{Always, Listed, Member, Never};

const fn encoding(text: &'static str, default: bool) -> At {
    At::Text { member: "positionEncoding", text, default, of: "nes" }
}

/// Name, declaration in version 1, declaration in version 2.
const TABLE: &[(&str, At, At)] = &[
    ("session", Always, Member("session")),
    ("session/load", Member("loadSession"), Never),
    // Version 2 requires the next three features of every agent with sessions.
    ("session/list", Member("sessionCapabilities/list"), Member("session")),
    ("session/resume", Member("sessionCapabilities/resume"), Member("session")),
    ("session/close", Member("sessionCapabilities/close"), Member("session")),
    ("session/delete", Member("sessionCapabilities/delete"), Member("session/delete")),
    ("session/fork", Member("sessionCapabilities/fork"), Member("session/fork")),
    (
        "session/additional-directories",
        Member("sessionCapabilities/additionalDirectories"),
        Member("session/additionalDirectories"),
    ),
    (
        "session/config-options/boolean",
        Member("sessionCapabilities/configOptions/boolean"),
        Member("session/configOptions/boolean"),
    ),
    ("session/inject", Member("sessionCapabilities/inject"), Member("session/inject")),
    (
        "session/inject/queue",
        Listed("sessionCapabilities/inject/modes", "queue"),
        Listed("session/inject/modes", "queue"),
    ),
    (
        "session/inject/steer",
        Listed("sessionCapabilities/inject/modes", "steer"),
        Listed("session/inject/modes", "steer"),
    ),
    (
        "session/inject/replace",
        Member("sessionCapabilities/inject/pending/replace"),
        Member("session/inject/pending/replace"),
    ),
    ("session/subagents", Member("sessionCapabilities/subagents"), Member("session/subagents")),
    ("session/title", Member("sessionCapabilities/title"), Member("session/title")),
    ("session/archive", Member("sessionCapabilities/archive"), Member("session/archive")),
    ("session/status", Member("sessionCapabilities/status"), Member("session/status")),
    ("session/system-prompt", Member("sessionCapabilities/systemPrompt"), Member("session/systemPrompt")),
    ("prompt/image", Member("promptCapabilities/image"), Member("session/prompt/image")),
    ("prompt/audio", Member("promptCapabilities/audio"), Member("session/prompt/audio")),
    ("prompt/embedded-context", Member("promptCapabilities/embeddedContext"), Member("session/prompt/embeddedContext")),
    ("mcp/stdio", Always, Member("session/mcp/stdio")),
    ("mcp/http", Member("mcpCapabilities/http"), Member("session/mcp/http")),
    ("mcp/sse", Member("mcpCapabilities/sse"), Never),
    ("mcp/acp", Member("mcpCapabilities/acp"), Member("session/mcp/acp")),
    ("auth/logout", Member("auth/logout"), Always),
    ("auth/status", Member("auth/status"), Member("auth/status")),
    ("providers", Member("providers"), Member("providers")),
    ("elicitation", Member("elicitation"), Member("elicitation")),
    ("fs/hitl-editing", Member("fs/hitlEditing"), Member("fs/hitlEditing")),
    ("nes", Member("nes"), Member("nes")),
    ("nes/events/document/did-open", Member("nes/events/document/didOpen"), Member("nes/events/document/didOpen")),
    (
        "nes/events/document/did-change",
        Member("nes/events/document/didChange"),
        Member("nes/events/document/didChange"),
    ),
    ("nes/events/document/did-close", Member("nes/events/document/didClose"), Member("nes/events/document/didClose")),
    ("nes/events/document/did-save", Member("nes/events/document/didSave"), Member("nes/events/document/didSave")),
    ("nes/events/document/did-focus", Member("nes/events/document/didFocus"), Member("nes/events/document/didFocus")),
    ("nes/context/recent-files", Member("nes/context/recentFiles"), Member("nes/context/recentFiles")),
    ("nes/context/related-snippets", Member("nes/context/relatedSnippets"), Member("nes/context/relatedSnippets")),
    ("nes/context/edit-history", Member("nes/context/editHistory"), Member("nes/context/editHistory")),
    ("nes/context/user-actions", Member("nes/context/userActions"), Member("nes/context/userActions")),
    ("nes/context/open-files", Member("nes/context/openFiles"), Member("nes/context/openFiles")),
    ("nes/context/diagnostics", Member("nes/context/diagnostics"), Member("nes/context/diagnostics")),
    ("nes/position-encoding/utf-8", encoding("utf-8", false), encoding("utf-8", false)),
    ("nes/position-encoding/utf-16", encoding("utf-16", true), encoding("utf-16", true)),
    ("nes/position-encoding/utf-32", encoding("utf-32", false), encoding("utf-32", false)),
];

impl Features {
    /// Reads the capabilities in a response of this protocol version. Invalid values become warnings.
    pub(super) fn read(capabilities: &Value, version: i64, warnings: &mut Vec<String>) -> Self {
        let mut features = Self::default();
        for (name, v1, v2) in TABLE {
            let is_there = match if version >= 2 { v2 } else { v1 } {
                Always => true,
                Never => false,
                Member(path) => is_supported(capabilities, path, warnings),
                Listed(path, word) => lists(capabilities, path, word),
                At::Text { member, text, default, of } => {
                    features.has(of)
                        && find(capabilities, member).map_or(*default, |value| value.as_str() == Some(text))
                }
            };
            features.0.push((name, is_there));
        }
        features
    }

    /// Whether the agent has a feature, by name, such as `session/load`.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(known, is_there)| *known == name && *is_there)
    }

    /// The names of all features that the agent has.
    pub fn present(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.0.iter().filter(|(_, is_there)| *is_there).map(|(name, _)| *name)
    }

    /// Adds a feature that was observed in use.
    pub(super) fn observe(&mut self, name: &str) {
        for (known, is_there) in &mut self.0 {
            *is_there |= *known == name;
        }
    }
}

impl Serialize for Features {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().copied())
    }
}

fn find<'a>(capabilities: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('/').try_fold(capabilities, |value, name| value.get(name)).filter(|value| !value.is_null())
}

/// Version 1 uses booleans and objects, version 2 only objects. Neither forbids the form of the other.
fn is_supported(capabilities: &Value, whole: &str, warnings: &mut Vec<String>) -> bool {
    let mut value = capabilities;
    // A value that cannot be read hides what would be below it.
    for end in whole.match_indices('/').map(|(at, _)| at).chain([whole.len()]) {
        let path = &whole[..end];
        value = value.get(path.rsplit('/').next().unwrap_or(path)).unwrap_or(&Value::Null);
        let is_feature = path.len() == whole.len() || TABLE.iter().any(|(name, ..)| *name == path);
        if !(matches!(value, Value::Null | Value::Object(_)) || is_feature && value.is_boolean()) {
            let text = format!("the capability `{}` is {}, which says nothing", path.replace('/', "."), kind(value));
            if !warnings.contains(&text) {
                warnings.push(text);
            }
            return false;
        }
    }
    matches!(value, Value::Bool(true) | Value::Object(_))
}

fn lists(capabilities: &Value, path: &str, word: &str) -> bool {
    find(capabilities, path).and_then(Value::as_array).is_some_and(|items| items.iter().any(|item| item == word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn present(capabilities: &Value, version: i64) -> Vec<&'static str> {
        let mut warnings = Vec::new();
        let present = Features::read(capabilities, version, &mut warnings).present().collect();
        assert_eq!(warnings, [] as [&str; 0]);
        present
    }

    #[test]
    fn an_agent_that_says_nothing_has_what_every_agent_has() {
        assert_eq!(present(&json!({}), 1), ["session", "mcp/stdio"]);
        assert_eq!(present(&Value::Null, 1), ["session", "mcp/stdio"]);
        assert_eq!(present(&json!({}), 2), ["auth/logout"]);
    }

    #[test]
    fn omitted_null_and_false_are_the_same() {
        let capabilities = json!({ "loadSession": false, "sessionCapabilities": { "list": null }, "nes": null, "mcpCapabilities": null });
        assert_eq!(present(&capabilities, 1), ["session", "mcp/stdio"]);
    }

    #[test]
    fn the_drafts_of_version_1_are_read() {
        let capabilities = json!({
            "loadSession": true,
            "sessionCapabilities": {
                "fork": {}, "inject": { "modes": ["queue", "steer"], "pending": { "replace": {} } }
            },
            "fs": { "hitlEditing": true },
            "nes": {
                "events": { "document": { "didChange": { "syncKind": "full" } } }, "context": { "openFiles": {} }
            },
        });
        assert_eq!(
            present(&capabilities, 1),
            [
                "session", "session/load", "session/fork", "session/inject", "session/inject/queue",
                "session/inject/steer", "session/inject/replace", "mcp/stdio", "fs/hitl-editing", "nes",
                "nes/events/document/did-change", "nes/context/open-files", "nes/position-encoding/utf-16",
            ]
        );
        let encoded = json!({ "nes": {}, "positionEncoding": "utf-8" });
        assert_eq!(present(&encoded, 1), ["session", "mcp/stdio", "nes", "nes/position-encoding/utf-8"]);
    }

    #[test]
    fn version_2_requires_some_of_what_version_1_announces() {
        let capabilities = json!({ "session": { "prompt": { "image": {} }, "mcp": { "http": {} }, "delete": {} } });
        assert_eq!(
            present(&capabilities, 2),
            [
                "session", "session/list", "session/resume", "session/close", "session/delete", "prompt/image",
                "mcp/http", "auth/logout",
            ]
        );
    }

    #[test]
    fn a_value_that_hides_capabilities_is_a_warning() {
        let mut warnings = Vec::new();
        let capabilities = json!({ "mcpCapabilities": 5, "promptCapabilities": "x", "sessionCapabilities": [], "auth": true, "nes": true });
        Features::read(&capabilities, 1, &mut warnings);
        let named = ["sessionCapabilities", "promptCapabilities", "mcpCapabilities", "auth"];
        assert_eq!(warnings.len(), named.len(), "{warnings:?}");
        for name in named {
            assert!(warnings.iter().any(|text| text.starts_with(&format!("the capability `{name}` is "))), "{name}");
        }
    }

    #[test]
    fn a_value_without_meaning_is_a_warning() {
        let mut warnings = Vec::new();
        let features = Features::read(&json!({ "sessionCapabilities": { "list": "yes" } }), 1, &mut warnings);
        assert!(!features.has("session/list"));
        assert_eq!(warnings, ["the capability `sessionCapabilities.list` is a string, which says nothing"]);
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = TABLE.iter().map(|(name, ..)| *name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), TABLE.len());
    }
}
