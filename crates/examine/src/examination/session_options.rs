//! Modes and configuration options of sessions, as checks use them.

use acp_registry_plan::text::quote;
use serde_json::{Value, json};

use super::access::OpenSession;
use super::agent::StartedAgent;
use super::failure::{CheckFailure, needs};
use super::messages::ResponseContent;

/// An id that no agent uses for a mode, an option or a value.
pub(super) const UNKNOWN: &str = "acp-registry-unknown";

/// Maximum number of modes, of options and of values of an option to try.
pub(super) const TRIED: usize = 6;

/// A configuration option.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ConfigOption {
    pub(super) id: String,
    pub(super) category: Option<String>,
    /// The current value: a string, or a boolean.
    pub(super) current: Value,
    /// The values, in order; those of a boolean are `true` and `false`. Empty for unknown types.
    pub(super) values: Vec<Value>,
}

impl ConfigOption {
    /// The parameters that set it.
    pub(super) fn set(&self, session: &str, value: &Value) -> Value {
        let mut params = json!({ "sessionId": session, "configId": self.id, "value": value });
        if value.is_boolean() {
            params["type"] = "boolean".into();
        }
        params
    }
}

/// The options of a result or an update; those without an id are skipped.
pub(super) fn read_options(value: &Value) -> Vec<ConfigOption> {
    let options = value["configOptions"].as_array().into_iter().flatten();
    let read = |option: &Value| {
        let texts = |value: &Value| -> Vec<Value> {
            let choices = value.as_array().into_iter().flatten();
            // Either values, or groups of them.
            let choices =
                choices.flat_map(|choice| choice["options"].as_array().map_or(vec![choice], |of| of.iter().collect()));
            choices.map(|choice| choice["value"].clone()).filter(Value::is_string).collect()
        };
        let values = match option["type"].as_str() {
            Some("select") => texts(&option["options"]),
            Some("boolean") => vec![json!(true), json!(false)],
            _ => Vec::new(),
        };
        let text = |name: &str| option[name].as_str().map(str::to_owned);
        Some(ConfigOption {
            id: text("id")?,
            category: text("category"),
            current: option["currentValue"].clone(),
            values,
        })
    };
    options.filter_map(read).collect()
}

impl OpenSession {
    /// The ids of the modes, in order, and the current one. The check cannot run if there are none.
    pub(super) fn modes(&self) -> Result<(Vec<String>, String), CheckFailure> {
        let modes = &self.result["modes"];
        let ids = modes["availableModes"].as_array().into_iter().flatten().filter_map(|mode| mode["id"].as_str());
        let ids: Vec<String> = ids.map(str::to_owned).collect();
        needs(!ids.is_empty(), "the agent has no modes")?;
        Ok((ids, modes["currentModeId"].as_str().unwrap_or_default().to_owned()))
    }

    /// The configuration options. The check cannot run if there are none.
    pub(super) fn options(&self) -> Result<Vec<ConfigOption>, CheckFailure> {
        let options = read_options(&self.result);
        needs(!options.is_empty(), "the agent has no configuration options")?;
        Ok(options)
    }
}

impl StartedAgent {
    /// Sends `session/set_mode`.
    pub(super) async fn set_mode(&mut self, session: &str, mode: &str) -> Result<ResponseContent, CheckFailure> {
        self.ask("session/set_mode", &json!({ "sessionId": session, "modeId": mode })).await
    }

    /// Sends `session/set_config_option`.
    pub(super) async fn set_option(
        &mut self,
        session: &str,
        option: &ConfigOption,
        value: &Value,
    ) -> Result<ResponseContent, CheckFailure> {
        self.ask("session/set_config_option", &option.set(session, value)).await
    }
}

/// A value of an option, to print.
pub(super) fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| quote(&value.to_string()), quote)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_in_all_forms() {
        let options = read_options(&json!({ "configOptions": [
            { "id": "mode", "category": "mode", "type": "select", "currentValue": "a",
              "options": [{ "value": "a" }, { "value": 7 }, { "name": "B" }] },
            { "id": "model", "type": "select", "currentValue": "x",
              "options": [{ "group": "g", "options": [{ "value": "x" }] }, { "group": "h", "options": [] }] },
            { "id": "fast", "type": "boolean", "currentValue": false },
            { "id": "new", "type": "slider", "currentValue": 3 },
            { "type": "select" }, 7,
        ] }));
        let values: Vec<&[Value]> = options.iter().map(|option| option.values.as_slice()).collect();
        assert_eq!(values, [&[json!("a")][..], &[json!("x")], &[json!(true), json!(false)], &[]]);
        assert_eq!(
            options[2].set("s", &json!(true)),
            json!({ "sessionId": "s", "configId": "fast", "type": "boolean", "value": true })
        );
        assert_eq!(read_options(&json!({ "configOptions": {} })), []);
    }
}
