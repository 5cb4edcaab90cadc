//! What a transport reads of a message: its id, its method, and its session.

use std::io::{BufRead, Read as _};

use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _};

use crate::MESSAGE;

/// The parts of a message that decide its way. All are `None` for a text that is not a message.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Envelope {
    /// The id as JSON, in one form for equal ids; `None` if it is missing or `null`.
    pub(crate) id: Option<String>,
    pub(crate) method: Option<String>,
    /// `sessionId` of the parameters.
    pub(crate) session: Option<String>,
    /// `sessionId` of the result.
    pub(crate) result_session: Option<String>,
    /// Whether it is an answer with an error.
    pub(crate) is_error: bool,
    /// Whether it says that it is a message: an object with the member `jsonrpc`.
    pub(crate) is_rpc: bool,
    /// Whether it is a JSON object.
    pub(crate) is_object: bool,
}

#[derive(Deserialize)]
struct Parts<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<&'a RawValue>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    #[serde(borrow)]
    jsonrpc: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Scope {
    #[serde(rename = "sessionId")]
    session: Option<String>,
}

impl Envelope {
    pub(crate) fn read(line: &[u8]) -> Self {
        // Arrays would be read as the members in their order.
        if line.trim_ascii().first() != Some(&b'{') {
            return Self::default();
        }
        let Ok(parts) = serde_json::from_slice::<Parts<'_>>(line) else { return Self::default() };
        let session = |scope: Option<&RawValue>| {
            let scope = scope.filter(|scope| scope.get().starts_with('{'))?;
            serde_json::from_str::<Scope>(scope.get()).ok()?.session
        };
        Self {
            id: parts.id.map(|id| normal(id.get())),
            method: parts.method.and_then(|method| serde_json::from_str(method.get()).ok()),
            session: session(parts.params),
            result_session: session(parts.result),
            is_error: parts.error.is_some(),
            is_rpc: parts.jsonrpc.is_some(),
            is_object: true,
        }
    }

    pub(crate) fn is_request(&self) -> bool {
        self.method.is_some() && self.id.is_some()
    }

    pub(crate) fn is_response(&self) -> bool {
        self.is_object && self.method.is_none()
    }

    pub(crate) fn is_initialize(&self) -> bool {
        self.is_request() && self.method.as_deref() == Some("initialize")
    }

    /// Whether the method opens a session that exists already, or makes one from it: its answer is on the stream of the
    /// connection.
    pub(crate) fn opens_session(&self) -> bool {
        matches!(self.method.as_deref(), Some("session/load" | "session/resume" | "session/fork"))
    }
}

/// One form for equal ids: programs that read an id may write it in another way.
fn normal(id: &str) -> String {
    let Ok(value) = serde_json::from_str::<serde_json::Value>(id) else { return id.to_owned() };
    value
        .as_f64()
        .filter(|number| number.fract() == 0.0)
        .map_or_else(|| value.to_string(), |number| format!("{number:.0}"))
}

/// An answer of the transport itself. The id is JSON.
pub(crate) fn failure(id: Option<&str>, code: i32, message: &str) -> Vec<u8> {
    let error = json!({ "code": code, "message": message });
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"error\":{error}}}", id.unwrap_or("null")).into_bytes()
}

/// Makes a message one line, with its end. Between the tokens of JSON, a line break is a space.
pub(crate) fn into_line(mut message: Vec<u8>) -> Vec<u8> {
    for byte in &mut message {
        if matches!(byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
    while message.last() == Some(&b' ') {
        message.pop();
    }
    message.push(b'\n');
    message
}

/// How many bytes of a line are read, with its end.
const LINE: u64 = MESSAGE as u64 + 1;

/// A line above the limit, or a failure of the system.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LineError {
    #[error("a message is longer than {MESSAGE} bytes")]
    TooLong,
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// The next line without its end; `None` at the end of the input.
pub(crate) async fn next_line(input: &mut (impl AsyncBufRead + Unpin)) -> Result<Option<Vec<u8>>, LineError> {
    let mut line = Vec::new();
    input.take(LINE).read_until(b'\n', &mut line).await?;
    whole(line)
}

/// Like [`next_line`], for a thread.
pub(crate) fn next_line_blocking(input: &mut impl BufRead) -> Result<Option<Vec<u8>>, LineError> {
    let mut line = Vec::new();
    input.take(LINE).read_until(b'\n', &mut line)?;
    whole(line)
}

fn whole(mut line: Vec<u8>) -> Result<Option<Vec<u8>>, LineError> {
    let has_end = line.pop_if(|last| *last == b'\n').is_some();
    if line.len() > MESSAGE {
        return Err(LineError::TooLong);
    }
    Ok((has_end || !line.is_empty()).then_some(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_ids_have_one_form() {
        let id = |text: &str| Envelope::read(text.as_bytes()).id;
        assert_eq!(id(r#"{"id": 1.0, "method": "a"}"#).as_deref(), Some("1"));
        assert_eq!(id(r#"{"id":"\u0031"}"#).as_deref(), Some(r#""1""#));
        assert_eq!((id(r#"{"id":null}"#), id("{}"), id("[1]"), id("x")), (None, None, None, None));
        let text = String::from_utf8(failure(Some("1.0"), -32603, "a \"b\"")).unwrap();
        assert_eq!(text, r#"{"jsonrpc":"2.0","id":1.0,"error":{"code":-32603,"message":"a \"b\""}}"#);
    }

    #[test]
    fn a_message_has_its_session_in_its_parameters_or_its_result() {
        let read = |text: &str| Envelope::read(text.as_bytes());
        assert_eq!(read(r#"{"method":"a","params":{"sessionId":"s"}}"#).session.as_deref(), Some("s"));
        assert_eq!(read(r#"{"id":1,"result":{"sessionId":"s"}}"#).result_session.as_deref(), Some("s"));
        for odd in [r#"{"method":"a","params":{"sessionId":1}}"#, r#"{"method":"a","params":[{"sessionId":"s"}]}"#] {
            assert_eq!((read(odd).session, read(odd).is_object), (None, true), "{odd}");
        }
        assert_eq!(read(r#"["id","a","b"]"#), Envelope::default());
    }

    #[test]
    fn every_message_is_one_line() {
        assert_eq!(into_line(b"{\r\n \"a\": 1\n}\n".to_vec()), b"{   \"a\": 1 }\n");
        let mut input = &b"a\n\nb"[..];
        let lines: Vec<_> = std::iter::from_fn(|| next_line_blocking(&mut input).unwrap()).collect();
        assert_eq!(lines, [b"a".to_vec(), Vec::new(), b"b".to_vec()]);
        let long = vec![b'x'; MESSAGE + 1];
        assert!(matches!(next_line_blocking(&mut &long[..]), Err(LineError::TooLong)));
    }
}
