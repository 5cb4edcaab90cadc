//! Validates messages against the published schema of version 1: required members and their types. Unknown members are
//! allowed, and every object may have `_meta`.

use acp_registry_core::text::quote;
use serde_json::Value;

/// Type of a value.
#[derive(Clone, Copy)]
enum Kind {
    Bool,
    Text,
    /// A string or `null`.
    Note,
    Version,
    Object(&'static [Member]),
    /// An object or `null`.
    Maybe(&'static [Member]),
    List(&'static Kind),
}

use Kind::{Bool, List, Maybe, Note, Object, Text, Version};

/// A member of an object.
#[derive(Clone, Copy)]
struct Member {
    name: &'static str,
    is_required: bool,
    kind: Kind,
}

const fn wanted(name: &'static str, kind: Kind) -> Member {
    Member { name, is_required: true, kind }
}

const fn optional(name: &'static str, kind: Kind) -> Member {
    Member { name, is_required: false, kind }
}

const CAPABILITIES: Kind = Object(&[
    optional("loadSession", Bool),
    optional(
        "promptCapabilities",
        Object(&[optional("image", Bool), optional("audio", Bool), optional("embeddedContext", Bool)]),
    ),
    optional("mcpCapabilities", Object(&[optional("http", Bool), optional("sse", Bool)])),
    optional(
        "sessionCapabilities",
        Object(&[
            optional("list", Maybe(&[])),
            optional("delete", Maybe(&[])),
            optional("additionalDirectories", Maybe(&[])),
            optional("resume", Maybe(&[])),
            optional("close", Maybe(&[])),
        ]),
    ),
    optional("auth", Object(&[optional("logout", Maybe(&[]))])),
]);

const AUTH_METHOD: Kind = Object(&[wanted("id", Text), wanted("name", Text), optional("description", Note)]);

const INITIALIZE: Kind = Object(&[
    wanted("protocolVersion", Version),
    optional("agentCapabilities", CAPABILITIES),
    optional("authMethods", List(&AUTH_METHOD)),
    optional("agentInfo", Maybe(&[wanted("name", Text), wanted("version", Text), optional("title", Note)])),
]);

const MODES: &[Member] = &[
    wanted("currentModeId", Text),
    wanted("availableModes", List(&Object(&[wanted("id", Text), wanted("name", Text), optional("description", Note)]))),
];

/// The results of requests, by method.
const RESULTS: &[(&str, Kind)] = &[
    ("session/new", Object(&[wanted("sessionId", Text), optional("modes", Maybe(MODES))])),
    ("session/load", Maybe(&[optional("modes", Maybe(MODES))])),
    ("session/prompt", Object(&[wanted("stopReason", Text)])),
    ("authenticate", Maybe(&[])),
];

const SESSION: Member = wanted("sessionId", Text);

const TERMINAL: Kind = Object(&[SESSION, wanted("terminalId", Text)]);

/// The parameters of agents' requests and notifications, by method.
const PARAMS: &[(&str, Kind)] = &[
    ("session/update", Object(&[SESSION, wanted("update", Object(&[wanted("sessionUpdate", Text)]))])),
    (
        "session/request_permission",
        Object(&[
            SESSION,
            wanted("toolCall", Object(&[wanted("toolCallId", Text)])),
            wanted("options", List(&Object(&[wanted("optionId", Text), wanted("name", Text), wanted("kind", Text)]))),
        ]),
    ),
    ("fs/read_text_file", Object(&[SESSION, wanted("path", Text)])),
    ("fs/write_text_file", Object(&[SESSION, wanted("path", Text), wanted("content", Text)])),
    ("terminal/create", Object(&[SESSION, wanted("command", Text)])),
    ("terminal/output", TERMINAL),
    ("terminal/release", TERMINAL),
    ("terminal/wait_for_exit", TERMINAL),
    ("terminal/kill", TERMINAL),
];

fn find(table: &[(&str, Kind)], method: &str) -> Option<Kind> {
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

/// The first violation in a value, if any, with its place.
fn problem(value: &Value, kind: Kind, place: &str) -> Option<String> {
    let not = |what: &str| Some(format!("{} is not {what}", quote(place)));
    match kind {
        Bool if !value.is_boolean() => not("a boolean"),
        Text if !value.is_string() => not("a string"),
        Note if !value.is_string() && !value.is_null() => not("a string"),
        Version if value.as_u64().is_none_or(|number| number > 65_535) => not("an integer from 0 to 65535"),
        Bool | Text | Note | Version => None,
        Maybe(_) if value.is_null() => None,
        Object(members) | Maybe(members) => {
            let Value::Object(found) = value else { return not("an object") };
            if found.get("_meta").is_some_and(|meta| !meta.is_object() && !meta.is_null()) {
                return Some(format!("{} is not an object", quote(&format!("{place}._meta"))));
            }
            members.iter().find_map(|member| match found.get(member.name) {
                Some(value) => problem(value, member.kind, &format!("{place}.{}", member.name)),
                None if member.is_required => Some(format!("{} has no {}", quote(place), quote(member.name))),
                None => None,
            })
        }
        List(of) => {
            let Value::Array(items) = value else { return not("an array") };
            items.iter().enumerate().find_map(|(at, item)| problem(item, *of, &format!("{place}[{at}]")))
        }
    }
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
                Some("`session/update`: `params.update` has no `sessionUpdate`"),
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
