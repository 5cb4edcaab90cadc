//! Parses lines into JSON-RPC messages, and writes those that the client sends.

use std::path::Path;

use acp_registry_plan::json::check_at_most;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// A parsed message.
#[derive(Debug)]
pub(super) enum Message {
    /// A response.
    Response(Response),
    /// A request by the agent.
    Request { id: Box<RawValue>, method: String },
    /// A notification by the agent.
    Notification { method: String },
}

/// A response to a request.
#[derive(Debug)]
pub(super) struct Response {
    /// The id, as written.
    id: Option<Box<RawValue>>,
    has_version: bool,
    result: Option<Box<RawValue>>,
    error: Option<Box<RawValue>>,
}

/// The id of a response, compared with the id of a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Id {
    /// The ids are equal.
    Same,
    /// The same number as a string: many clients will not find the request.
    AsText,
    /// Missing or `null`: the agent could not identify the request.
    Missing,
    /// The id of another request.
    Other(String),
}

/// The content of a response.
#[derive(Debug)]
pub(super) enum Body {
    Result(Value),
    Error(RpcError),
}

/// A JSON-RPC error.
#[derive(Debug, Clone)]
pub(super) struct RpcError {
    pub(super) code: Option<i64>,
    pub(super) message: String,
    pub(super) data: Value,
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    method: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    error: Option<&'a RawValue>,
}

/// A member that is `null` counts as present.
fn present<'de: 'a, 'a, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

const NOT_JSON: &str = "not JSON-RPC";

/// Whether a line is an array with messages.
pub(super) fn is_array(line: &[u8]) -> bool {
    let items: Result<Vec<&RawValue>, _> = serde_json::from_slice(line);
    items.is_ok_and(|items| items.iter().any(|item| read(item.get().as_bytes()).is_ok()))
}

/// Parses a line: a message, or the reason why it is none. ACP has no messages in arrays, and clients do not read them.
/// Deeply nested or large lines do no harm, because only the outermost level is parsed.
pub(super) fn read(line: &[u8]) -> Result<Message, &'static str> {
    let line = line.trim_ascii();
    // An array of the members would be taken for the object.
    if line.first() != Some(&b'{') {
        return Err(NOT_JSON);
    }
    let envelope: Envelope<'_> = serde_json::from_slice(line).map_err(|_| NOT_JSON)?;
    let own = |raw: Option<&RawValue>| raw.map(ToOwned::to_owned);
    if let Some(method) = envelope.method {
        let method: String = serde_json::from_str(method.get()).map_err(|_| NOT_JSON)?;
        return Ok(match own(envelope.id) {
            Some(id) => Message::Request { id, method },
            None => Message::Notification { method },
        });
    }
    if envelope.id.is_none() && envelope.result.is_none() && envelope.error.is_none() {
        return Err(NOT_JSON);
    }
    Ok(Message::Response(Response {
        id: own(envelope.id),
        has_version: envelope.jsonrpc.is_some_and(|version| version.get() == "\"2.0\""),
        result: own(envelope.result),
        error: own(envelope.error),
    }))
}

impl Response {
    pub(super) fn id(&self, expected: u64) -> Id {
        let Some(raw) = self.id.as_deref().filter(|raw| raw.get() != "null") else { return Id::Missing };
        match serde_json::from_str::<Value>(raw.get()) {
            Ok(Value::Number(number)) if is_number(&number, expected) => Id::Same,
            Ok(Value::String(text)) if text == expected.to_string() => Id::AsText,
            _ => Id::Other(raw.get().to_owned()),
        }
    }

    /// The content, or an error worded to follow "the response".
    pub(super) fn body(&self) -> Result<Body, String> {
        if !self.has_version {
            return Err("has no member `\"jsonrpc\": \"2.0\"`".to_owned());
        }
        match (&self.result, &self.error) {
            (None, None) => Err("has neither `result` nor `error`".to_owned()),
            (Some(_), Some(error)) if error.get() != "null" => Err("has both `result` and `error`".to_owned()),
            (Some(result), _) => value(result).map(Body::Result),
            (None, Some(error)) => Ok(Body::Error(RpcError::of(&value(error)?)?)),
        }
    }

    pub(super) fn error(&self) -> Option<RpcError> {
        RpcError::of(&value(self.error.as_deref()?).ok()?).ok()
    }
}

/// JavaScript does not distinguish 1 from 1.0.
fn is_number(number: &serde_json::Number, expected: u64) -> bool {
    number.as_u64() == Some(expected) || number.to_string().strip_suffix(".0") == Some(expected.to_string().as_str())
}

/// Maximum number of values in the content of a response. Each takes up to two hundred bytes.
const VALUES: usize = 20_000;

fn value(raw: &RawValue) -> Result<Value, String> {
    let parsed = check_at_most(raw.get().as_bytes(), VALUES).and_then(|()| serde_json::from_str(raw.get()));
    parsed.map_err(|error| {
        let text = error.to_string();
        if text.contains("recursion limit") {
            "is nested more than 128 levels deep".to_owned()
        } else {
            format!("cannot be read: {text}")
        }
    })
}

impl RpcError {
    fn of(value: &Value) -> Result<Self, String> {
        let Value::Object(members) = value else { return Err("has an `error` that is not an object".to_owned()) };
        Ok(Self {
            code: members.get("code").and_then(Value::as_i64),
            message: members.get("message").and_then(Value::as_str).unwrap_or_default().to_owned(),
            data: members.get("data").cloned().unwrap_or_default(),
        })
    }

    /// The agent's error message with details from `data`, on one line.
    pub(super) fn words(&self) -> String {
        const SHOWN_LIMIT: usize = 2000;
        let plain = |text: &str| text.lines().map(acp_registry_host::cause::plain).collect::<Vec<_>>().join(" ");
        let mut text = acp_registry_plan::text::shown(&plain(&self.message), SHOWN_LIMIT);
        let details = ["details", "message", "error", "reason"].iter().find_map(|name| self.data.get(name)?.as_str());
        if let Some(more) = details.or_else(|| self.data.as_str()).filter(|more| !text.contains(more)) {
            text = acp_registry_plan::text::shown(&format!("{text}: {}", plain(more)), SHOWN_LIMIT);
        }
        text
    }

    /// The error in one line.
    pub(super) fn describe(&self) -> String {
        let code = self.code.map_or_else(|| "without a code".to_owned(), |code| code.to_string());
        let mut text = format!("error {code}: {}", acp_registry_plan::text::quote(&self.message));
        // Many agents write "Internal error", and the actual error in `data`.
        if !self.data.is_null() {
            text.push_str(&format!(" ({})", acp_registry_plan::text::quote(&self.data.to_string())));
        }
        text
    }
}

/// The parameters of `initialize` for a protocol version.
///
/// Agents offer only authentication methods that the client can carry out, and some reject clients without a file
/// system. So this client claims all capabilities.
#[must_use]
pub fn initialize(version: u16) -> Value {
    let info = json!({ "name": "acp-registry", "title": "ACP Registry", "version": env!("CARGO_PKG_VERSION") });
    let mut params = json!({
        "protocolVersion": version,
        "clientInfo": info,
        "clientCapabilities": {
            // Always both, as the proposal on symmetric file system capabilities requires.
            "fs": { "readTextFile": true, "writeTextFile": true },
            "terminal": true,
            "auth": { "terminal": true },
            // Required by proposals: without them, agents hide features.
            "session": { "configOptions": { "boolean": {} } },
            "positionEncodings": ["utf-16", "utf-32", "utf-8"],
            // The predecessor of `auth.terminal`, which many agents still use.
            "_meta": { "terminal-auth": true, "terminal_output": true },
        },
    });
    if version >= 2 {
        // In addition to the members of version 1, which agents that support only that version read.
        params["info"] = info;
        params["capabilities"] = json!({
            "auth": { "terminal": {} },
            "positionEncodings": ["utf-16", "utf-32", "utf-8"],
            "_meta": { "terminal-auth": true, "terminal_output": true },
        });
    }
    params
}

/// Method and parameters of a request to sign in with one of the agent's methods.
pub(super) fn authenticate(version: i64, method: &str) -> (&'static str, Value) {
    (if version >= 2 { "auth/login" } else { "authenticate" }, json!({ "methodId": method }))
}

/// Method and parameters of a request to sign out.
pub(super) fn log_out(version: i64) -> (&'static str, Value) {
    (if version >= 2 { "auth/logout" } else { "logout" }, json!({}))
}

/// The parameters for a session in a directory.
pub(super) fn in_directory(directory: &Path) -> Value {
    json!({ "cwd": directory.to_string_lossy(), "mcpServers": [] })
}

/// A request as one line.
pub(super) fn request(id: u64, method: &str, params: &Value) -> Vec<u8> {
    format!("{}\n", json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).into_bytes()
}

/// The response to a request of the agent, all of which are refused. `id` is JSON as the agent has written it.
#[must_use]
pub fn refusal(id: &RawValue, method: &str) -> Vec<u8> {
    let known = ["fs/", "terminal/", "session/request_permission", "elicitation/"];
    let (code, message) = if known.iter().any(|prefix| method.starts_with(prefix)) {
        (-32603, "this client carries nothing out")
    } else {
        (-32601, "Method not found")
    };
    let error = json!({ "code": code, "message": message });
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"error\":{error}}}\n", id.get().replace(['\n', '\r'], " ")).into_bytes()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn response(line: &str) -> Response {
        match read(line.as_bytes()).ok() {
            Some(Message::Response(response)) => response,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn ids_are_compared_by_what_they_mean() {
        for (id, expected) in [
            ("1", Id::Same),
            ("1.0", Id::Same),
            ("\"1\"", Id::AsText),
            ("null", Id::Missing),
            ("2", Id::Other("2".to_owned())),
            ("[1]", Id::Other("[1]".to_owned())),
        ] {
            assert_eq!(response(&format!("{{\"id\":{id},\"result\":{{}}}}")).id(1), expected, "{id}");
        }
        assert_eq!(response("{\"error\":{}}").id(1), Id::Missing);
    }

    #[test]
    fn broken_answers_are_told_apart() {
        let deep = format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}{}}}", "[".repeat(5000), "]".repeat(5000));
        for (line, problem) in [
            ("{\"id\":1,\"result\":{}}", "has no member `\"jsonrpc\": \"2.0\"`"),
            ("{\"jsonrpc\":2.0,\"id\":1,\"result\":{}}", "has no member `\"jsonrpc\": \"2.0\"`"),
            ("{\"jsonrpc\":\"2.0\",\"id\":1}", "has neither `result` nor `error`"),
            ("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":1,\"error\":{}}", "has both `result` and `error`"),
            ("{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":\"x\"}", "has an `error` that is not an object"),
            (&deep, "is nested more than 128 levels deep"),
        ] {
            assert_eq!(response(line).body().unwrap_err(), problem, "{}", &line[..30.min(line.len())]);
        }
        assert!(matches!(
            response("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":null,\"error\":null}").body(),
            Ok(Body::Result(Value::Null))
        ));
    }

    #[test]
    fn a_line_is_one_message_or_none() {
        assert!(matches!(read(b" {\"method\":\"m\"}\r").unwrap(), Message::Notification { .. }));
        assert!(matches!(read(b"{\"method\":\"m\",\"id\":null}").unwrap(), Message::Request { .. }));
        let array = b" [7,{\"id\":1,\"result\":null}]\r";
        assert!(read(array).is_err() && is_array(array) && !is_array(b"[7, {}]") && !is_array(b"[INFO] {}"));
        for noise in ["hello", "{", "{}", "[1]", "17", "null", "{\"method\":1}", "{\"id\":1,\"id\":1}", "\u{feff}{}"] {
            assert!(read(noise.as_bytes()).is_err(), "{noise}");
        }
        assert!(read(b"{\"method\":\"\xff\"}").is_err());
    }

    proptest! {
        #[test]
        fn whatever_is_json_arrives_and_whatever_is_not_is_refused(
            result in "\\PC{0,40}|[\\[\\]{}\",:0-9a-z ]{0,60}|\\{\"[a-z]\":\\[[0-9]{1,3}\\]\\}",
            id in 0_u64..1_000_000,
        ) {
            let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}");
            // A result may close the object early: the whole line must be parsed.
            let expected = serde_json::from_str::<Value>(&line).ok();
            let members = expected.as_ref().and_then(Value::as_object).filter(|members| members.len() == 3);
            match (read(line.as_bytes()), members) {
                (Ok(Message::Response(response)), Some(members)) => {
                    prop_assert_eq!(response.id(id), Id::Same);
                    prop_assert!(matches!(response.body(), Ok(Body::Result(value)) if value == members["result"]));
                }
                (Err(_), _) | (Ok(_), None) => prop_assert!(expected.is_none() || members.is_none()),
                (Ok(_), Some(_)) => prop_assert!(false, "{}", line),
            }
        }
    }

    #[test]
    fn the_words_of_an_error_are_whole_and_bounded() {
        let words =
            |message: &str, data: Value| RpcError { code: Some(-32603), message: message.to_owned(), data }.words();
        let long = "pi was not found.\nInstall it with npm ".repeat(10);
        assert_eq!(words("Internal error", serde_json::json!({ "details": long })).matches("Install it").count(), 10);
        assert_eq!(words("a", serde_json::json!("b")), "a: b");
        assert_eq!(words("a: b", serde_json::json!({ "message": "b" })), "a: b");
        assert_eq!(words(&"x".repeat(100_000), Value::Null).chars().count(), 2001);
    }

    #[test]
    fn an_error_is_one_bounded_line() {
        let error =
            RpcError { code: Some(-32603), message: "x\n".repeat(500), data: serde_json::json!({"why": "\u{1b}"}) };
        let text = error.describe();
        assert!(text.starts_with("error -32603: `x\\u{a}x") && !text.contains(char::is_control), "{text}");
        assert!(text.chars().count() < 1000);
    }

    #[test]
    fn every_message_is_one_line_of_json() {
        let raw = |text: &str| RawValue::from_string(text.to_owned()).unwrap();
        for (id, method, code) in
            [("7", "fs/read_text_file", -32603), ("\"a\"", "foo", -32601), ("[1,\n2]", "x", -32601)]
        {
            let text = String::from_utf8(refusal(&raw(id), method)).unwrap();
            let value: Value = serde_json::from_str(&text).unwrap();
            assert_eq!((&value["jsonrpc"], value["error"]["code"].as_i64()), (&json!("2.0"), Some(code)));
            assert_eq!(value["id"], serde_json::from_str::<Value>(id).unwrap());
            assert_eq!(text.matches('\n').count(), 1);
        }
        let text = String::from_utf8(request(1, "initialize", &initialize(1))).unwrap();
        assert!(text.ends_with("}\n") && text.matches('\n').count() == 1);
    }

    #[test]
    fn the_client_claims_what_the_rule_needs() {
        let params = initialize(1);
        let capabilities = &params["clientCapabilities"];
        assert_eq!(params["protocolVersion"], 1);
        assert_eq!(capabilities["fs"], json!({ "readTextFile": true, "writeTextFile": true }));
        assert_eq!((&capabilities["terminal"], &capabilities["auth"]["terminal"]), (&json!(true), &json!(true)));
        assert_eq!(capabilities["_meta"], json!({ "terminal-auth": true, "terminal_output": true }));
        assert!(params.get("info").is_none());
        assert_eq!(initialize(2)["info"]["name"], "acp-registry");
        assert_eq!(initialize(2)["capabilities"]["auth"], json!({ "terminal": {} }));
    }
}
