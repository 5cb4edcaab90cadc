//! Lines to messages, and what is wrong with either.

use std::collections::BTreeMap;

use acp_registry_core::text::quote;
use serde_json::Value;

use super::shape;

/// How much of a line is quoted, in bytes.
const QUOTED: usize = 1000;

/// What a line holds.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Message {
    /// An answer, with the id as the agent wrote it.
    Answer(Value, Answer),
    /// The agent asks for something.
    Request { id: Value, method: String },
    /// The agent tells something.
    Notification,
}

/// What an answer says.
pub(super) type Answer = Result<Value, RpcError>;

/// A JSON-RPC error.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RpcError {
    pub(super) code: Option<i64>,
    pub(super) message: String,
}

impl RpcError {
    /// The code that asks for signing in.
    pub(super) const AUTH_REQUIRED: i64 = -32_000;

    /// Whether signing in is asked for.
    pub(super) fn asks_for_sign_in(&self) -> bool {
        self.code == Some(Self::AUTH_REQUIRED)
    }

    /// The error in a few words. Printable.
    pub(super) fn describe(&self) -> String {
        let code = self.code.map_or_else(|| "without a code".to_owned(), |code| code.to_string());
        format!("error {code}: {}", quote(&self.message))
    }
}

/// Something that may be wrong many times: how often, and the first time in words.
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

    /// The first as a sentence that goes on with how many more there were; `None` without any.
    pub(super) fn text(&self) -> Option<String> {
        match self.count {
            0 => None,
            1 => Some(self.first.clone()),
            _ => Some(format!("{} (and {} more)", self.first, self.count - 1)),
        }
    }
}

/// What is wrong with the output of an agent, whichever check has caused it.
#[derive(Debug, Default)]
pub(super) struct Heard {
    /// Lines that are not messages.
    pub(super) noise: Remarks,
    /// Messages that are not of the form that the protocol gives them.
    pub(super) invalid: Remarks,
    /// Whether there was any line.
    pub(super) is_any: bool,
}

impl Heard {
    /// Reads a line. `method_of` tells the method of the request that an answer of this id belongs to.
    pub(super) fn read(&mut self, line: &[u8], method_of: impl Fn(&Value) -> Option<String>) -> Option<Message> {
        if line.trim_ascii().is_empty() {
            return None;
        }
        self.is_any = true;
        let Ok(Value::Object(members)) = serde_json::from_slice(line) else {
            self.noise.add(|| quote(&String::from_utf8_lossy(&line[..line.len().min(QUOTED)])));
            return None;
        };
        let read = message(Value::Object(members));
        let Some((message, value)) = read else {
            self.noise.add(|| quote(&String::from_utf8_lossy(&line[..line.len().min(QUOTED)])));
            return None;
        };
        let method = match &message {
            Message::Answer(id, _) => method_of(id),
            _ => None,
        };
        if let Some(problem) = shape::message(&value, method.as_deref()) {
            self.invalid.add(|| problem);
        }
        Some(message)
    }

    /// Adds what was heard from another agent.
    pub(super) fn merge(&mut self, other: Self) {
        self.noise.merge(other.noise);
        self.invalid.merge(other.invalid);
        self.is_any |= other.is_any;
    }
}

/// A message, however bad its form; `None` for an object that is none.
fn message(value: Value) -> Option<(Message, Value)> {
    let member = |name: &str| value.get(name).cloned();
    let message = if let Some(method) = value.get("method") {
        let method = method.as_str()?.to_owned();
        match member("id") {
            Some(id) => Message::Request { id, method },
            None => Message::Notification,
        }
    } else {
        let (result, error) = (member("result"), member("error"));
        if value.get("id").is_none() && result.is_none() && error.is_none() {
            return None;
        }
        let answer = match error.filter(|error| !error.is_null()) {
            Some(error) => Err(RpcError {
                code: error.get("code").and_then(Value::as_i64),
                message: error.get("message").and_then(Value::as_str).unwrap_or_default().to_owned(),
            }),
            None => Ok(result.unwrap_or_default()),
        };
        Message::Answer(member("id").unwrap_or_default(), answer)
    };
    Some((message, value))
}

/// The requests that were sent: the method of each, by its id as JSON.
#[derive(Debug, Default)]
pub(super) struct Sent(BTreeMap<String, String>);

impl Sent {
    pub(super) fn add(&mut self, id: &Value, method: &str) {
        self.0.insert(id.to_string(), method.to_owned());
    }

    pub(super) fn method(&self, id: &Value) -> Option<String> {
        self.0.get(&id.to_string()).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(line: &str) -> (Option<Message>, Heard) {
        let mut heard = Heard::default();
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
        let mut heard = Heard::default();
        assert_eq!(heard.read(b"\x1b[2J\xff", |_| None), None);
        assert_eq!(heard.read(b"more", |_| None), None);
        assert_eq!(heard.noise.text().unwrap(), "`\\u{1b}[2J\u{fffd}` (and 1 more)");
        assert!(!read(" \r").1.is_any);
    }

    #[test]
    fn messages_are_read_even_where_their_form_is_bad() {
        let (message, heard) = read(r#"{"id":1,"result":null}"#);
        assert_eq!(message, Some(Message::Answer(json!(1), Ok(Value::Null))));
        assert!(heard.invalid.text().unwrap().contains("jsonrpc"));
        let (message, heard) = read(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m"}}"#);
        let error = RpcError { code: Some(-32_700), message: "m".to_owned() };
        assert_eq!((error.describe().as_str(), heard.invalid.count), ("error -32700: `m`", 0));
        assert_eq!(message, Some(Message::Answer(Value::Null, Err(error))));
        let (message, _) = read(r#"{"jsonrpc":"2.0","id":"x","method":"fs/read_text_file"}"#);
        assert_eq!(message, Some(Message::Request { id: json!("x"), method: "fs/read_text_file".to_owned() }));
        assert_eq!(read(r#"{"jsonrpc":"2.0","method":"_x"}"#).0, Some(Message::Notification));
    }
}
