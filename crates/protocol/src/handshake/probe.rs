//! The outcomes of further requests, and the choices that a new session offers.

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::message::RpcError;
use acp_registry_plan::text::{quote, shown};

/// The first request after `initialize`.
pub(super) const NEW: &str = "session/new";

/// The outcome of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Probe {
    /// The request succeeded.
    Ok,
    /// The user must sign in first.
    AuthRequired,
    /// The agent does not know the method.
    MethodNotFound,
    /// The parameters were rejected.
    InvalidParams,
    /// A resource that the request names, such as a session, does not exist.
    ResourceNotFound,
    /// The agent cancelled the request.
    RequestCancelled,
    /// The agent answered with another error, or ended.
    Error,
    /// The agent did not answer in time.
    Timeout,
}

/// Outcomes by method, in the order of the requests.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Probes {
    pub(super) outcomes: Vec<(&'static str, Probe)>,
    /// Why no session was opened.
    pub(super) refusal: Option<String>,
}

impl Probes {
    /// The outcome of a method.
    #[must_use]
    pub fn get(&self, method: &str) -> Option<Probe> {
        self.outcomes.iter().find(|(known, _)| *known == method).map(|(_, probe)| *probe)
    }

    /// Why `session/new` failed: the agent's error, or why it did not answer. Safe to print. Not serialized, since it
    /// may differ between runs.
    #[must_use]
    pub fn refusal(&self) -> Option<&str> {
        self.refusal.as_deref()
    }

    /// A message for each required or advertised method that the agent does not know. The messages are also in
    /// [`Handshake::warnings`](super::Handshake::warnings).
    pub fn missing(&self) -> impl Iterator<Item = String> + '_ {
        self.iter().filter(|(_, probe)| *probe == Probe::MethodNotFound).map(|(method, _)| {
            if method == NEW {
                format!("answers {} as if there was no such method, which every agent must have", quote(method))
            } else {
                format!("advertises {}, but answers that there is no such method", quote(method))
            }
        })
    }

    /// All methods with their outcomes.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, Probe)> + '_ {
        self.outcomes.iter().copied()
    }
}

impl FromIterator<(&'static str, Probe)> for Probes {
    fn from_iter<T: IntoIterator<Item = (&'static str, Probe)>>(outcomes: T) -> Self {
        Self { outcomes: outcomes.into_iter().collect(), refusal: None }
    }
}

impl Serialize for Probes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl Probe {
    /// The name used in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::AuthRequired => "auth_required",
            Self::MethodNotFound => "method_not_found",
            Self::InvalidParams => "invalid_params",
            Self::ResourceNotFound => "resource_not_found",
            Self::RequestCancelled => "request_cancelled",
            Self::Error => "error",
            Self::Timeout => "timeout",
        }
    }

    pub(super) fn of(error: &RpcError) -> Self {
        let reason = error.data.get("reason").and_then(Value::as_str);
        match error.code {
            // ACP assigns this meaning to one of the codes that JSON-RPC reserves for servers.
            Some(-32000) => Self::AuthRequired,
            _ if reason == Some("auth_required") => Self::AuthRequired,
            Some(-32601) => Self::MethodNotFound,
            Some(-32602) => Self::InvalidParams,
            Some(-32002) => Self::ResourceNotFound,
            Some(-32800) => Self::RequestCancelled,
            _ => Self::Error,
        }
    }
}

/// Maximum number of modes and of options of a session to keep.
const ITEMS: usize = 64;

/// Maximum length of a text of a session, in characters.
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
    use serde_json::json;

    use super::*;

    #[test]
    fn errors_are_told_apart() {
        for (code, data, probe) in [
            (Some(-32000), Value::Null, Probe::AuthRequired),
            (Some(-32603), json!({ "reason": "auth_required" }), Probe::AuthRequired),
            (Some(-32601), Value::Null, Probe::MethodNotFound),
            (Some(-32602), Value::Null, Probe::InvalidParams),
            (Some(-32002), Value::Null, Probe::ResourceNotFound),
            (Some(-32800), Value::Null, Probe::RequestCancelled),
            (Some(-32603), Value::Null, Probe::Error),
            (None, Value::Null, Probe::Error),
        ] {
            assert_eq!(Probe::of(&RpcError { code, message: String::new(), data }), probe, "{code:?}");
        }
    }

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
