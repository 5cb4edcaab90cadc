//! Messages of JSON-RPC: answers, errors and notifications.

use acp_registry::failure::{Code, Failure};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::documents::Event;

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
#[derive(Debug, Serialize)]
pub(crate) struct Notification<'a> {
    jsonrpc: &'static str,
    method: &'static str,
    params: Progress<'a>,
}

#[derive(Debug, Serialize)]
struct Progress<'a> {
    #[serde(rename = "requestId")]
    request_id: &'a Value,
    event: &'a Event<'a>,
}

impl<'a> Notification<'a> {
    /// An event of the request with this id.
    pub(crate) fn progress(id: &'a Value, event: &'a Event<'a>) -> Self {
        Self { jsonrpc: VERSION, method: "$/progress", params: Progress { request_id: id, event } }
    }
}
