//! Validates messages against the published schema of version 1.

use acp_registry_plan::text::quote;
use serde_json::Value;

use super::forms::{INITIALIZE, PARAMS, RESULTS};
use super::kind::{ValueKind, problem};

fn find(table: &[(&str, ValueKind)], method: &str) -> Option<ValueKind> {
    table.iter().find(|(name, _)| *name == method).map(|(_, kind)| *kind)
}

/// The first violation in the result of `initialize`, if any.
pub(super) fn initialize(result: &Value) -> Option<String> {
    problem(result, INITIALIZE, "result")
}

/// The first violation in a message, if any. `method` is the method of the request that it answers. The result of
/// `initialize` is not checked here: see [`initialize`].
pub(super) fn message(message: &Value, method: Option<&str>) -> Option<String> {
    let own = message.get("method").and_then(Value::as_str);
    let what = match own.or(method) {
        Some(name) if own.is_some() => quote(name),
        Some(name) => format!("the answer to {}", quote(name)),
        None => "an answer".to_owned(),
    };
    if message.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Some(format!("{what} has no member `\"jsonrpc\": \"2.0\"`"));
    }
    let found = if let Some(name) = own { params(message, name) } else { answer(message, method) };
    found.map(|problem| format!("{what}: {problem}"))
}

fn params(message: &Value, method: &str) -> Option<String> {
    if message.get("id").is_some_and(|id| !is_id(id)) {
        return Some("`id` is neither a string nor an integer".to_owned());
    }
    let Some(kind) = find(PARAMS, method) else {
        let is_right = message.get("params").is_none_or(|params| params.is_object() || params.is_array());
        return (!is_right).then(|| "`params` is neither an object nor an array".to_owned());
    };
    problem(message.get("params").unwrap_or(&Value::Null), kind, "params")
}

fn answer(message: &Value, method: Option<&str>) -> Option<String> {
    if message.get("id").is_none() {
        return Some("it has no `id`, which must be `null` if the request is unknown".to_owned());
    }
    let error = message.get("error");
    match (message.get("result"), error) {
        (Some(_), Some(_)) => return Some("it has both `result` and `error`".to_owned()),
        (None, None) => return Some("it has neither `result` nor `error`".to_owned()),
        _ => {}
    }
    if let Some(error) = error {
        return match error {
            Value::Object(members) if !members.get("code").is_some_and(Value::is_i64) => {
                Some("`error.code` is not an integer".to_owned())
            }
            Value::Object(members) if !members.get("message").is_some_and(Value::is_string) => {
                Some("`error.message` is not a string".to_owned())
            }
            Value::Object(_) => None,
            _ => Some("`error` is not an object".to_owned()),
        };
    }
    problem(message.get("result")?, find(RESULTS, method?)?, "result")
}

fn is_id(id: &Value) -> bool {
    id.is_string() || id.is_i64() || id.is_null()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_the_schema_allows_is_allowed() {
        for result in [
            json!({ "protocolVersion": 1 }),
            json!({ "protocolVersion": 1, "agentInfo": null, "new": [1], "_meta": null }),
            json!({
                "protocolVersion": 1,
                "agentCapabilities": {
                    "loadSession": true, "sessionCapabilities": { "list": {}, "resume": null, "fork": true },
                    "auth": { "logout": {} }, "_meta": { "x": 1 }, "nes": 1,
                },
                "authMethods": [{ "id": "a", "name": "A", "description": null, "type": "env_var", "vars": [] }],
            }),
        ] {
            assert_eq!(initialize(&result), None, "{result}");
        }
    }

    #[test]
    fn every_place_is_named() {
        for (result, text) in [
            (json!([]), "`result` is not an object"),
            (json!({}), "`result` has no `protocolVersion`"),
            (json!({ "protocolVersion": 70_000 }), "`result.protocolVersion` is not an integer from 0 to 65535"),
            (json!({ "protocolVersion": 1, "agentCapabilities": null }), "`result.agentCapabilities` is not an object"),
            (
                json!({ "protocolVersion": 1, "agentCapabilities": { "sessionCapabilities": { "list": true } } }),
                "`result.agentCapabilities.sessionCapabilities.list` is not an object",
            ),
            (json!({ "protocolVersion": 1, "authMethods": {} }), "`result.authMethods` is not an array"),
            (
                json!({ "protocolVersion": 1, "authMethods": [{ "id": "a", "name": "A" }, { "id": 1, "name": "B" }] }),
                "`result.authMethods[1].id` is not a string",
            ),
            (json!({ "protocolVersion": 1, "agentInfo": { "name": "a" } }), "`result.agentInfo` has no `version`"),
            (json!({ "protocolVersion": 1, "_meta": 1 }), "`result._meta` is not an object"),
        ] {
            assert_eq!(initialize(&result).as_deref(), Some(text), "{result}");
        }
    }

    #[test]
    fn messages_are_of_the_form_of_json_rpc() {
        for (text, method, expected) in [
            (r#"{"jsonrpc":"2.0","id":1,"result":null}"#, None, None),
            (r#"{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":""}}"#, None, None),
            (r#"{"jsonrpc":"2.0","method":"_x","params":[1]}"#, None, None),
            (r#"{"id":1,"result":null}"#, None, Some("an answer has no member `\"jsonrpc\": \"2.0\"`")),
            (
                r#"{"jsonrpc":"2.0","id":1,"result":null,"error":null}"#,
                Some("a"),
                Some("the answer to `a`: it has both `result` and `error`"),
            ),
            (
                r#"{"jsonrpc":"2.0","error":{"code":-1,"message":""}}"#,
                None,
                Some("an answer: it has no `id`, which must be `null` if the request is unknown"),
            ),
            (r#"{"jsonrpc":"2.0","id":1}"#, None, Some("an answer: it has neither `result` nor `error`")),
            (
                r#"{"jsonrpc":"2.0","id":1,"error":{"code":"-1","message":""}}"#,
                None,
                Some("an answer: `error.code` is not an integer"),
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"error":{"code":-1}}"#,
                None,
                Some("an answer: `error.message` is not a string"),
            ),
            (r#"{"jsonrpc":"2.0","id":1,"error":7}"#, None, Some("an answer: `error` is not an object")),
            (
                r#"{"jsonrpc":"2.0","id":1.5,"method":"_x"}"#,
                None,
                Some("`_x`: `id` is neither a string nor an integer"),
            ),
            (
                r#"{"jsonrpc":"2.0","method":"_x","params":1}"#,
                None,
                Some("`_x`: `params` is neither an object nor an array"),
            ),
            (
                r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{}}}"#,
                None,
                Some("`session/update`: `params.update` has no string `sessionUpdate`"),
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"result":{"stopReason":"done"}}"#,
                Some("session/prompt"),
                Some(
                    "the answer to `session/prompt`: `result.stopReason` is none of end_turn, max_tokens, \
                     max_turn_requests, refusal, cancelled",
                ),
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
                Some("session/new"),
                Some("the answer to `session/new`: `result` has no `sessionId`"),
            ),
            (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, Some("initialize"), None),
        ] {
            let value: Value = serde_json::from_str(text).unwrap();
            assert_eq!(message(&value, method).as_deref(), expected, "{text}");
        }
    }
}
