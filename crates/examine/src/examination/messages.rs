//! Parses lines into messages, and records invalid ones.

use std::fmt;

use acp_registry_plan::json::check_at_most;
use acp_registry_plan::text::quote;
use serde_json::{Map, Value};

use super::schema::{self, SchemaVersion};

/// Maximum length of a quoted line, in bytes.
const QUOTED: usize = 1000;

/// Maximum number of values in a message. Each takes up to two hundred bytes.
const VALUES: usize = 50_000;

/// A parsed line.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum AgentMessage {
    /// A response, with the id as the agent wrote it.
    Answer(Value, ResponseContent),
    /// A request by the agent.
    Request { id: Value, method: String, params: Value },
    /// A notification by the agent.
    Notification { method: String, params: Value },
}

/// The content of a response.
pub(super) type ResponseContent = Result<Value, RpcError>;

/// A JSON-RPC error.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RpcError {
    pub(super) code: Option<i64>,
    pub(super) message: String,
}

impl RpcError {
    /// The code for requests that need authentication first.
    pub(super) const AUTH_REQUIRED: i64 = -32_000;

    /// Whether the error requests authentication.
    pub(super) fn asks_for_sign_in(&self) -> bool {
        self.code == Some(Self::AUTH_REQUIRED)
    }

    /// Whether the error concerns authentication, by its code or by common words in its message.
    pub(super) fn is_about_sign_in(&self) -> bool {
        let message = self.message.to_lowercase();
        let words = [
            "authenticate", "authenticating", "authentication", "unauthorized", "not logged in", "log in", "login",
            "not signed in", "sign in",
        ];
        self.asks_for_sign_in() || words.iter().any(|words| message.contains(words))
    }
}

impl fmt::Display for RpcError {
    /// A short description, safe to print.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let code = self.code.map_or_else(|| "without a code".to_owned(), |code| code.to_string());
        write!(f, "error {code}: {}", quote(&self.message))
    }
}

/// Violations of one kind: how many there were, and the text of the first.
#[derive(Debug, Default)]
pub(super) struct Remarks {
    count: u64,
    first: String,
}

impl Remarks {
    fn add(&mut self, text: impl FnOnce() -> String) {
        if self.count == 0 {
            self.first = text();
        }
        self.count += 1;
    }

    fn merge(&mut self, other: Self) {
        if self.count == 0 {
            self.first = other.first;
        }
        self.count += other.count;
    }

    /// The first violation, followed by the number of further ones; `None` if there was none.
    pub(super) fn text(&self) -> Option<String> {
        match self.count {
            0 => None,
            1 => Some(self.first.clone()),
            _ => Some(format!("{} (and {} more)", self.first, self.count - 1)),
        }
    }
}

/// Violations in the output of an agent, during any check.
#[derive(Debug, Default)]
pub(super) struct OutputViolations {
    /// Lines that are not messages.
    pub(super) noise: Remarks,
    /// Messages that do not match the schema.
    pub(super) invalid: Remarks,
    /// Messages of version 2 that do not match its schema.
    pub(super) invalid_drafts: Remarks,
    /// Whether the agent wrote any line.
    pub(super) is_any: bool,
    /// Whether it wrote any message of version 2.
    pub(super) has_drafts: bool,
    /// The version of the protocol that the messages follow.
    pub(super) version: SchemaVersion,
}

impl OutputViolations {
    /// Parses a line. `method_of` returns the method of the request with a given id, to check its response.
    pub(super) fn read(&mut self, line: &[u8], method_of: impl Fn(&Value) -> Option<String>) -> Option<AgentMessage> {
        if line.trim_ascii().is_empty() {
            return None;
        }
        self.is_any = true;
        let parsed = check_at_most(line, VALUES).and_then(|()| serde_json::from_slice(line));
        let value = parsed.ok().filter(is_message);
        let Some(value) = value else {
            self.noise.add(|| quote(&String::from_utf8_lossy(&line[..line.len().min(QUOTED)])));
            return None;
        };
        let is_answer = value.get("method").is_none();
        let method = if is_answer { method_of(value.get("id").unwrap_or(&Value::Null)) } else { None };
        self.has_drafts |= self.version == SchemaVersion::V2;
        if let Some(problem) = schema::message(&value, method.as_deref(), self.version) {
            let invalid = if self.version == SchemaVersion::V1 { &mut self.invalid } else { &mut self.invalid_drafts };
            invalid.add(|| problem);
        }
        let Value::Object(members) = value else { return None };
        Some(message(members))
    }

    /// Adds the violations of another instance.
    pub(super) fn merge(&mut self, other: Self) {
        self.noise.merge(other.noise);
        self.invalid.merge(other.invalid);
        self.invalid_drafts.merge(other.invalid_drafts);
        self.is_any |= other.is_any;
        self.has_drafts |= other.has_drafts;
    }
}

/// Whether a value is a message, leniently.
fn is_message(value: &Value) -> bool {
    match value.get("method") {
        Some(method) => method.is_string(),
        None => ["id", "result", "error"].iter().any(|name| value.get(name).is_some()),
    }
}

/// The message with these members.
fn message(mut members: Map<String, Value>) -> AgentMessage {
    let mut member = |name: &str| members.swap_remove(name);
    if let Some(Value::String(method)) = member("method") {
        let params = member("params").unwrap_or_default();
        match member("id") {
            Some(id) => AgentMessage::Request { id, method, params },
            None => AgentMessage::Notification { method, params },
        }
    } else {
        let (result, error) = (member("result"), member("error"));
        let answer = match error.filter(|error| !error.is_null()) {
            Some(error) => Err(RpcError {
                code: error.get("code").and_then(Value::as_i64),
                message: error.get("message").and_then(Value::as_str).unwrap_or_default().to_owned(),
            }),
            None => Ok(result.unwrap_or_default()),
        };
        AgentMessage::Answer(member("id").unwrap_or_default(), answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(line: &str) -> (Option<AgentMessage>, OutputViolations) {
        let mut heard = OutputViolations::default();
        let message = heard.read(line.as_bytes(), |_| None);
        (message, heard)
    }

    #[test]
    fn whatever_is_not_an_object_of_a_message_is_noise() {
        for line in ["hello", "[]", "1", "{", "{}", "{\"a\":1}", "{\"method\":1}", &"[".repeat(10_000)] {
            let (message, heard) = read(line);
            assert_eq!((message, heard.noise.count), (None, 1), "{line}");
            assert!(heard.noise.text().unwrap().len() < 400);
        }
        let mut heard = OutputViolations::default();
        assert_eq!(heard.read(b"\x1b[2J\xff", |_| None), None);
        assert_eq!(heard.read(b"more", |_| None), None);
        assert_eq!(heard.noise.text().unwrap(), "`\\u{1b}[2J\u{fffd}` (and 1 more)");
        assert!(!read(" \r").1.is_any);
    }

    #[test]
    fn errors_of_sign_ins_are_told_from_others() {
        let is_about = |message: &str| RpcError { code: None, message: message.to_owned() }.is_about_sign_in();
        assert!(is_about("Please log in first") && is_about("Authentication required"));
        assert!(!is_about("No model is configured") && !is_about("Internal error"));
        assert!(RpcError { code: Some(-32_000), message: String::new() }.is_about_sign_in());
    }

    #[test]
    fn messages_are_read_even_where_their_form_is_bad() {
        let (message, heard) = read(r#"{"id":1,"result":null}"#);
        assert_eq!(message, Some(AgentMessage::Answer(json!(1), Ok(Value::Null))));
        assert!(heard.invalid.text().unwrap().contains("jsonrpc"));
        let mut other = OutputViolations { version: SchemaVersion::V2, ..OutputViolations::default() };
        let prompted = other.read(br#"{"jsonrpc":"2.0","id":1,"result":{}}"#, |_| Some("session/prompt".to_owned()));
        assert!(prompted.is_some() && other.invalid.text().is_none());
        assert!(other.read(b"hello", |_| None).is_none() && other.noise.text().is_some());
        let (message, heard) = read(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m"}}"#);
        let error = RpcError { code: Some(-32_700), message: "m".to_owned() };
        assert_eq!((error.to_string().as_str(), heard.invalid.count), ("error -32700: `m`", 0));
        assert_eq!(message, Some(AgentMessage::Answer(Value::Null, Err(error))));
        let (message, _) = read(r#"{"jsonrpc":"2.0","id":"x","method":"fs/read_text_file"}"#);
        let method = "fs/read_text_file".to_owned();
        assert_eq!(message, Some(AgentMessage::Request { id: json!("x"), method, params: Value::Null }));
        let notification = AgentMessage::Notification { method: "_x".to_owned(), params: json!([1]) };
        assert_eq!(read(r#"{"jsonrpc":"2.0","method":"_x","params":[1]}"#).0, Some(notification));
    }
}
