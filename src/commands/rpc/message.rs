//! The messages of JSON-RPC: turns lines into requests, and makes answers, errors and notifications.

use std::fmt;
use std::future::pending;
use std::io::{BufRead, Read as _};

use acp_registry::failure::{Code, Failure};
use acp_registry::json;
use serde::Serialize;
use serde::de::{Deserializer as _, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::documents::Event;

#[cfg(unix)]
use std::io;

/// The line is not JSON.
const PARSE: i32 = -32700;
/// The JSON is not a request.
pub(crate) const INVALID_REQUEST: i32 = -32600;
/// There is no such method.
pub(crate) const METHOD_NOT_FOUND: i32 = -32601;
/// A parameter is missing, unknown or wrong.
pub(crate) const INVALID_PARAMS: i32 = -32602;
/// A bug of this program.
pub(crate) const INTERNAL: i32 = -32603;
/// The client cancelled the request, or a signal ended it.
const CANCELLED: i32 = -32800;
/// The failure of a command: minus its exit code.
const FAILED: i32 = -32000;

/// The largest exit code of a failure; higher ones are those of signals.
const LAST_EXIT_CODE: u8 = 4;

/// A message of the client.
#[derive(Debug, PartialEq)]
pub(crate) enum ClientMessage {
    Call {
        id: Value,
        method: String,
        params: Map<String, Value>,
    },
    /// The request with this id is no longer wanted.
    Cancel(Value),
    /// A notification that this program does not know.
    Ignored,
}

/// A message that is refused, with its id or null.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) id: Value,
    pub(crate) error: Box<RpcErrorDocument<'static>>,
}

impl Refusal {
    pub(crate) fn new(id: &Value, number: i32, message: &str) -> Self {
        Self::of(id, RpcErrorDocument::new(number, &Failure::usage(message)))
    }

    pub(crate) fn of(id: &Value, error: RpcErrorDocument<'static>) -> Self {
        Self { id: id.clone(), error: error.into() }
    }
}

/// The error for the failure of a command.
pub(crate) fn command_error(error: &Failure) -> RpcErrorDocument<'static> {
    let number =
        if error.exit().code() <= LAST_EXIT_CODE { FAILED - i32::from(error.exit().code()) } else { CANCELLED };
    RpcErrorDocument::new(number, error)
}

/// Reads a line.
pub(crate) fn parse(line: Line) -> Result<ClientMessage, Refusal> {
    let refuse = |id: &Value, message: &str| Err(Refusal::new(id, INVALID_REQUEST, message));
    let text = match line {
        Line::Text(text) => text,
        Line::TooLong(start) => return refuse(&find_id(&start), &format!("the line is longer than {LIMIT} bytes")),
    };
    if text.trim_ascii().is_empty() {
        return Ok(ClientMessage::Ignored);
    }
    let mut members = match json::whole(&text) {
        Ok(Value::Object(members)) => members,
        Ok(Value::Array(_)) => return refuse(&Value::Null, "batches are not supported; send one request per line"),
        Ok(_) => return refuse(&Value::Null, "a request is an object"),
        Err(error) => return Err(Refusal::new(&find_id(&text), PARSE, &format!("the line is not JSON: {error}"))),
    };
    let id = members.remove("id");
    let known = id.clone().filter(is_id).unwrap_or_default();
    if id.is_some() && known.is_null() {
        return refuse(&known, "`id` is not a string or an integer of at most 64 bits");
    }
    if members.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return refuse(&known, "`jsonrpc` is not \"2.0\"");
    }
    let Some(Value::String(method)) = members.remove("method") else {
        return refuse(&known, "`method` is not a string");
    };
    let params = match members.remove("params") {
        None | Some(Value::Null) => Map::new(),
        // Some languages write an empty table as a list.
        Some(Value::Array(items)) if items.is_empty() => Map::new(),
        Some(Value::Object(params)) => params,
        Some(_) if id.is_none() => return Ok(ClientMessage::Ignored),
        Some(_) => {
            return Err(Refusal::new(&known, INVALID_PARAMS, "`params` is not an object: parameters have names"));
        }
    };
    Ok(match (id, method.as_str()) {
        (Some(id), _) => ClientMessage::Call { id, method, params },
        (None, "$/cancel_request") => {
            params.get("requestId").cloned().map_or(ClientMessage::Ignored, ClientMessage::Cancel)
        }
        (None, _) => ClientMessage::Ignored,
    })
}

/// Whether a value is the id of a request. Null would be the id of answers to unreadable requests.
fn is_id(id: &Value) -> bool {
    id.is_string() || id.is_i64() || id.is_u64()
}

/// Finds the id of a request that cannot be read to its end, so that its sender is told: in the values of the line before the
/// one that is wrong. Null if there is none, or if more than one request is in the line.
fn find_id(text: &[u8]) -> Value {
    struct Members<'a>(&'a mut Value);

    impl<'de> Visitor<'de> for Members<'_> {
        type Value = ();

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
            while let Some(name) = members.next_key::<String>()? {
                if name == "id" {
                    *self.0 = members.next_value()?;
                } else {
                    members.next_value::<IgnoredAny>()?;
                }
            }
            Ok(())
        }
    }

    let mut id = Value::Null;
    let mut line = serde_json::Deserializer::from_slice(text);
    let is_one = line.deserialize_map(Members(&mut id)).is_err() || line.end().is_ok();
    if is_one && is_id(&id) { id } else { Value::Null }
}

/// The `jsonrpc` member of all messages.
const VERSION: &str = "2.0";

/// The answer to a request.
#[derive(Debug, Serialize)]
pub(crate) struct Response<'a> {
    jsonrpc: &'static str,
    id: &'a Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<RpcErrorDocument<'a>>,
}

impl<'a> Response<'a> {
    /// A result: the document of a command.
    pub(crate) fn result(id: &'a Value, document: &'a RawValue) -> Self {
        Self { jsonrpc: VERSION, id, result: Some(document), error: None }
    }

    /// An error. The id is null for a message that has none.
    pub(crate) fn failed(id: &'a Value, error: RpcErrorDocument<'a>) -> Self {
        Self { jsonrpc: VERSION, id, result: None, error: Some(error) }
    }
}

/// Why a request failed.
#[derive(Debug, Serialize)]
pub(crate) struct RpcErrorDocument<'a> {
    code: i32,
    message: String,
    data: ErrorData<'a>,
}

#[derive(Debug, Serialize)]
struct ErrorData<'a> {
    code: Code,
    exit_code: u8,
    help: Option<String>,
    suggestions: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameter: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a RawValue>,
}

impl<'a> RpcErrorDocument<'a> {
    /// An error with this number of JSON-RPC.
    pub(crate) fn new(number: i32, error: &Failure) -> Self {
        let data = ErrorData {
            code: error.kind(),
            exit_code: error.exit().code(),
            help: error.advice(),
            suggestions: error.suggestions().to_vec(),
            parameter: None,
            result: None,
        };
        Self { code: number, message: error.to_string(), data }
    }

    /// Names the parameter that is wrong.
    pub(crate) fn with_parameter(mut self, name: String) -> Self {
        self.data.parameter = Some(name);
        self
    }

    /// Adds the document of a command that failed in part.
    pub(crate) fn with_result(mut self, document: &'a RawValue) -> Self {
        self.data.result = Some(document);
        self
    }
}

/// A notification about a request that is being worked on.
pub(crate) fn progress(id: &Value, event: &Event<'_>) -> Value {
    json!({ "jsonrpc": VERSION, "method": "$/progress", "params": { "requestId": id, "event": event } })
}

/// The longest line that is read, in bytes.
pub(crate) const LIMIT: usize = 1 << 20;

/// A line of the client.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    Text(Vec<u8>),
    /// The start of a line above the limit. The rest is skipped.
    TooLong(Vec<u8>),
}

/// One of the two streams of the client.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Stream {
    Stdin,
    Stdout,
}

/// Waits until the client has closed its end of a stream, also while nothing is read or written. Stdin may still have lines to
/// read: a client that does not read answers keeps these lines from being read too.
#[cfg(unix)]
#[expect(deprecated, reason = "its successor is unsafe because a descriptor may be closed, which these are not")]
pub(crate) async fn hung_up(stream: Stream) {
    use std::os::fd::AsRawFd as _;
    use tokio::io::unix::AsyncFd;
    use tokio::io::{Interest, Ready};

    let (descriptor, interest, is_closed): (_, _, fn(Ready) -> bool) = match stream {
        Stream::Stdin => (io::stdin().as_raw_fd(), Interest::READABLE, Ready::is_read_closed),
        Stream::Stdout => (io::stdout().as_raw_fd(), Interest::WRITABLE, Ready::is_write_closed),
    };
    // A file cannot be watched: as stdin, it ends by itself.
    if let Ok(watched) = AsyncFd::with_interest(descriptor, interest) {
        while let Ok(mut guard) = watched.ready(interest).await {
            if is_closed(guard.ready()) {
                return;
            }
            guard.clear_ready();
        }
    }
    pending::<()>().await;
}

#[cfg(not(unix))]
pub(crate) async fn hung_up(_stream: Stream) {
    pending::<()>().await;
}

/// The next line; `None` at the end of the input. An error counts as the end.
pub(crate) fn next(input: &mut impl BufRead) -> Option<Line> {
    let mut line = Vec::new();
    let read = input.take(LIMIT as u64 + 1).read_until(b'\n', &mut line).ok()?;
    if read == 0 {
        return None;
    }
    if line.len() <= LIMIT || line.ends_with(b"\n") {
        return Some(Line::Text(line));
    }
    let mut rest = Vec::new();
    while !rest.ends_with(b"\n") {
        rest.clear();
        if input.take(LIMIT as u64).read_until(b'\n', &mut rest).ok()? == 0 {
            break;
        }
    }
    Some(Line::TooLong(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<ClientMessage, (Value, i32)> {
        let number = |refusal: &Refusal| serde_json::to_value(&refusal.error).unwrap()["code"].as_i64().unwrap();
        parse(Line::Text(text.as_bytes().to_vec()))
            .map_err(|refusal| (refusal.id.clone(), i32::try_from(number(&refusal)).unwrap()))
    }

    #[test]
    fn what_is_not_a_request_is_refused_with_its_id() {
        for (text, id, number) in [
            ("{", json!(null), PARSE),
            ("\u{1}", json!(null), PARSE),
            ("{\"id\":1}{\"id\":2}", json!(null), PARSE),
            ("7", json!(null), INVALID_REQUEST),
            ("[]", json!(null), INVALID_REQUEST),
            (r#"[{"jsonrpc":"2.0","id":1,"method":"list"}]"#, json!(null), INVALID_REQUEST),
            ("{}", json!(null), INVALID_REQUEST),
            (r#"{"id":1,"method":"list"}"#, json!(1), INVALID_REQUEST),
            (r#"{"jsonrpc":"1.0","id":"x","method":"list"}"#, json!("x"), INVALID_REQUEST),
            (r#"{"jsonrpc":"2.0","id":1}"#, json!(1), INVALID_REQUEST),
            (r#"{"jsonrpc":"2.0","id":1,"method":7}"#, json!(1), INVALID_REQUEST),
            (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, json!(1), INVALID_REQUEST),
            (r#"{"jsonrpc":"2.0","id":null,"method":"list"}"#, json!(null), INVALID_REQUEST),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"list"}"#, json!(null), INVALID_REQUEST),
            (r#"{"jsonrpc":"2.0","id":[1],"method":"list"}"#, json!(null), INVALID_REQUEST),
            (r#"{"jsonrpc":"2.0","id":1,"method":"list","params":[1]}"#, json!(1), INVALID_PARAMS),
            (r#"{"jsonrpc":"2.0","id":1,"method":"list","params":"x"}"#, json!(1), INVALID_PARAMS),
        ] {
            assert_eq!(of(text), Err((id, number)), "{text}");
        }
        let deep = "[".repeat(1 << 19);
        assert_eq!(of(&deep), Err((Value::Null, PARSE)));
        // The sender of a request that cannot be read waits for its answer.
        for (text, id) in [
            (r#"{"jsonrpc":"2.0","id":1,"method":"search","params":{"query":"\ud800"}}"#, json!(1)),
            (r#"{"method":"search","params":{"query":"\ud800"},"id":"x"}"#, json!("x")),
            (r#"{"id":1,"method":"search","params":{"query":NaN}}"#, json!(1)),
            (r#"{"params":{"query":NaN},"id":1}"#, json!(null)),
            (r#"{"id":{},"params":NaN}"#, json!(null)),
            (r#"{"id":1,"params":"#, json!(1)),
        ] {
            assert_eq!(of(text), Err((id, PARSE)), "{text}");
        }
        let long = [br#"{"id":7,"params":{"query":""#.to_vec(), vec![b'x'; LIMIT]].concat();
        assert_eq!(parse(Line::TooLong(long)).unwrap_err().id, 7);
        assert!(parse(Line::Text(vec![b'"', 0xff, b'"'])).is_err());
    }

    #[test]
    fn requests_and_cancellations_are_read() {
        let call = |id, params| ClientMessage::Call { id, method: "list".to_owned(), params };
        for (text, expected) in [
            (r#"{"jsonrpc":"2.0","id":1,"method":"list"}"#, call(json!(1), Map::new())),
            (r#"{"jsonrpc":"2.0","id":"1","method":"list","params":[]}"#, call(json!("1"), Map::new())),
            (r#"{"jsonrpc":"2.0","id":-1,"method":"list","params":null}"#, call(json!(-1), Map::new())),
            (
                r#"{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":7}}"#,
                ClientMessage::Cancel(json!(7)),
            ),
            (r#"{"jsonrpc":"2.0","method":"$/cancel_request"}"#, ClientMessage::Ignored),
            (r#"{"jsonrpc":"2.0","method":"list"}"#, ClientMessage::Ignored),
            (r#"{"jsonrpc":"2.0","method":"other","params":7}"#, ClientMessage::Ignored),
            (" \r\n", ClientMessage::Ignored),
        ] {
            assert_eq!(of(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_skipped_and_the_next_one_is_read() {
        let of = |length: usize| "x".repeat(length);
        let text = format!("a\n{}\n{}\nb\r\n{}\nlast", of(LIMIT), of(LIMIT + 1), of(3 * LIMIT));
        let mut input = text.as_bytes();
        let lines: Vec<Line> = std::iter::from_fn(|| next(&mut input)).collect();
        let text = |text: &str| Line::Text(text.as_bytes().to_vec());
        let whole = text(&format!("{}\n", of(LIMIT)));
        let too_long = || Line::TooLong(of(LIMIT + 1).into_bytes());
        assert!(lines == [text("a\n"), whole, too_long(), text("b\r\n"), too_long(), text("last")]);
        let mut input = &vec![b'x'; LIMIT + 1][..];
        assert_eq!((next(&mut input), next(&mut input)), (Some(too_long()), None));
    }
}
