//! Reads the choices that a new session offers.

use serde::Serialize;
use serde_json::Value;

use acp_registry_plan::text::shown;

/// Maximum number of modes and of options to keep.
const ITEMS: usize = 64;

/// Maximum length of a text, in characters.
const LENGTH: usize = 100;

/// The choices of a new session, by id, since names and descriptions may depend on the language.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct SessionChoices {
    /// Ids of modes, in the agent's order.
    pub modes: Vec<String>,
    /// Configuration options, in the agent's order.
    pub config_options: Vec<ConfigOption>,
}

/// A configuration option of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ConfigOption {
    /// The id.
    pub id: String,
    /// `select`, `boolean`, or another value of the agent.
    #[serde(rename = "type")]
    pub kind: String,
    /// The category, such as `model` or `mode`, if stated.
    pub category: Option<String>,
}

impl SessionChoices {
    /// Reads the result of `session/new`. Items of another form are skipped.
    pub(super) fn read(result: &Value) -> Self {
        let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(|text| shown(text, LENGTH));
        let list = |value: Option<&Value>| value.and_then(Value::as_array).cloned().unwrap_or_default();
        let modes = list(result.get("modes").and_then(|modes| modes.get("availableModes")));
        let options = list(result.get("configOptions"));
        let option = |value: &Value| {
            let kind = text(value, "type").unwrap_or_else(|| "select".to_owned());
            Some(ConfigOption { id: text(value, "id")?, kind, category: text(value, "category") })
        };
        Self {
            modes: modes.iter().filter_map(|mode| text(mode, "id")).take(ITEMS).collect(),
            config_options: options.iter().filter_map(option).take(ITEMS).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn ids_are_kept_and_other_forms_left_out() {
        let result = json!({
            "sessionId": "s", "modes": { "currentModeId": "ask", "availableModes": [{ "id": "ask", "name": "Ask" }, { "id": 7 }] },
            "configOptions": [{ "id": "model", "type": "select", "category": "model", "options": [] }, "x", { "id": "b\u{1b}", "type": "boolean" }],
        });
        let session = SessionChoices::read(&result);
        assert_eq!(session.modes, ["ask"]);
        assert_eq!(
            serde_json::to_value(&session.config_options).unwrap(),
            json!([{ "id": "model", "type": "select", "category": "model" }, { "id": "b", "type": "boolean", "category": null }])
        );
        assert_eq!(SessionChoices::read(&json!({ "modes": 7, "configOptions": {} })), SessionChoices::default());
        let many = json!({ "configOptions": vec![json!({ "id": "x".repeat(1000) }); 1000] });
        let session = SessionChoices::read(&many);
        assert_eq!((session.config_options.len(), session.config_options[0].id.chars().count()), (ITEMS, LENGTH + 1));
    }
}
