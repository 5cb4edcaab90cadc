//! A small HTTP client, and requests in the form of each API.

use std::net::SocketAddr;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::model::{Api, Model};

pub(super) const APIS: [Api; 4] = [Api::Anthropic, Api::Chat, Api::Responses, Api::Gemini];

pub(super) fn model() -> Model {
    Model::start(std::net::TcpListener::bind("127.0.0.1:0").unwrap()).unwrap()
}

/// A response as it was received.
#[derive(Debug)]
pub(super) struct Response {
    pub(super) status: u16,
    pub(super) headers: String,
    pub(super) body: String,
    /// Whether the body has ended as its headers say.
    pub(super) is_complete: bool,
}

impl Response {
    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The data of the events of a stream.
    pub(super) fn events(&self) -> Vec<Value> {
        assert!(self.headers.contains("text/event-stream"), "{self:?}");
        let data = self.body.lines().filter_map(|line| line.strip_prefix("data: "));
        data.filter(|data| *data != "[DONE]").map(|data| serde_json::from_str(data).unwrap()).collect()
    }
}

/// Sends a request and reads until the server closes the connection.
pub(super) async fn send(address: SocketAddr, method: &str, path: &str, body: &str) -> Response {
    let length = body.len();
    let head = format!("{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n");
    send_raw(address, &format!("{head}{body}")).await
}

pub(super) async fn send_raw(address: SocketAddr, text: &str) -> Response {
    let mut socket = TcpStream::connect(address).await.unwrap();
    // The server may respond and close before it has read everything.
    let _ = socket.write_all(text.as_bytes()).await;
    let mut bytes = Vec::new();
    let _ = socket.read_to_end(&mut bytes).await;
    parse(&String::from_utf8(bytes).unwrap())
}

fn parse(text: &str) -> Response {
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((text, ""));
    let headers = head.to_lowercase();
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default();
    let (body, is_complete) = if headers.contains("transfer-encoding: chunked") {
        unchunked(body)
    } else {
        let length = headers.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
        (body.to_owned(), length == Some(body.len()))
    };
    Response { status, headers, body, is_complete }
}

fn unchunked(mut rest: &str) -> (String, bool) {
    let mut body = String::new();
    while let Some((size, after)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap();
        if size == 0 {
            return (body, true);
        }
        let Some(chunk) = after.get(..size) else { break };
        body += chunk;
        rest = after.get(size + 2..).unwrap_or_default();
    }
    (body, false)
}

/// One tool result of a conversation: the text of the result.
pub(super) type Result<'a> = &'a str;

/// The path and the body of a request with a prompt, the results of tool calls in turns of their own, and tools by
/// name and schema.
pub(super) fn request(
    api: Api,
    prompt: &str,
    results: &[Result<'_>],
    tools: &[(&str, Value)],
    is_streamed: bool,
) -> (String, String) {
    let schemas = |schema: &str| -> Vec<Value> {
        tools.iter().map(|(name, parameters)| json!({ "name": name, schema: parameters })).collect()
    };
    let (path, body) = match api {
        Api::Anthropic => {
            let mut messages = vec![json!({ "role": "user", "content": [{ "type": "text", "text": prompt }] })];
            for result in results {
                messages.push(json!({ "role": "assistant", "content": [
                    { "type": "tool_use", "id": "t", "name": "x", "input": {} }] }));
                messages.push(json!({ "role": "user", "content": [
                    { "type": "tool_result", "tool_use_id": "t", "content": [{ "type": "text", "text": result }] }] }));
            }
            let tools = schemas("input_schema");
            (
                "/v1/messages?beta=true",
                json!({ "messages": messages, "tools": tools, "stream": is_streamed, "model": "m" }),
            )
        }
        Api::Chat => {
            let mut messages =
                vec![json!({ "role": "system", "content": "s" }), json!({ "role": "user", "content": prompt })];
            for result in results {
                messages.push(json!({ "role": "assistant", "content": null, "tool_calls": [{ "id": "t" }] }));
                messages.push(json!({ "role": "tool", "tool_call_id": "t", "content": result }));
            }
            let tools: Vec<Value> =
                schemas("parameters").into_iter().map(|tool| json!({ "type": "function", "function": tool })).collect();
            ("/chat/completions", json!({ "messages": messages, "tools": tools, "stream": is_streamed, "model": "m" }))
        }
        Api::Responses => {
            let content = json!([{ "type": "input_text", "text": prompt }]);
            let mut input = vec![json!({ "type": "message", "role": "user", "content": content })];
            for result in results {
                input.push(json!({ "type": "function_call", "call_id": "t", "name": "x", "arguments": "{}" }));
                input.push(json!({ "type": "function_call_output", "call_id": "t", "output": result }));
            }
            let tools: Vec<Value> = schemas("parameters")
                .into_iter()
                .map(|mut tool| {
                    tool["type"] = "function".into();
                    tool
                })
                .collect();
            ("/v1/responses", json!({ "input": input, "tools": tools, "stream": is_streamed, "model": "m" }))
        }
        Api::Gemini => {
            let mut contents = vec![json!({ "role": "user", "parts": [{ "text": prompt }] })];
            for result in results {
                contents.push(json!({ "role": "model", "parts": [{ "functionCall": { "name": "x", "args": {} } }] }));
                contents.push(json!({ "role": "user", "parts": [
                    { "functionResponse": { "name": "x", "response": { "output": result } } }] }));
            }
            let path = if is_streamed {
                "/v1beta/models/m:streamGenerateContent?alt=sse"
            } else {
                "/v1beta/models/m:generateContent"
            };
            (
                path,
                json!({ "contents": contents, "tools": [{ "functionDeclarations": schemas("parametersJsonSchema") }] }),
            )
        }
    };
    (path.to_owned(), body.to_string())
}

/// Asks for an answer.
pub(super) async fn ask(
    model: &Model,
    api: Api,
    prompt: &str,
    results: &[Result<'_>],
    tools: &[(&str, Value)],
    is_streamed: bool,
) -> Response {
    let (path, body) = request(api, prompt, results, tools, is_streamed);
    send(model.address(), "POST", &path, &body).await
}

/// The answer's text, calls (name and arguments) and reason to stop, from either form of an answer.
pub(super) fn answer(api: Api, response: &Response, is_streamed: bool) -> (String, Vec<(String, Value)>, String) {
    assert_eq!((response.status, response.is_complete), (200, true), "{response:?}");
    let (mut text, mut calls, mut stop) = (String::new(), Vec::new(), String::new());
    let of = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let parsed = |value: &Value| serde_json::from_str(value.as_str().unwrap()).unwrap();
    let parts = if is_streamed { response.events() } else { vec![response.json()] };
    for part in &parts {
        match (api, is_streamed) {
            (Api::Anthropic, true) => {
                text += &of(&part["delta"]["text"]);
                if part["content_block"]["type"] == "tool_use" {
                    calls.push((of(&part["content_block"]["name"]), Value::Null));
                }
                if part["delta"]["type"] == "input_json_delta" {
                    calls.last_mut().unwrap().1 = parsed(&part["delta"]["partial_json"]);
                }
                stop += &of(&part["delta"]["stop_reason"]);
            }
            (Api::Anthropic, false) => {
                for block in part["content"].as_array().unwrap() {
                    text += &of(&block["text"]);
                    if block["type"] == "tool_use" {
                        calls.push((of(&block["name"]), block["input"].clone()));
                    }
                }
                stop += &of(&part["stop_reason"]);
            }
            (Api::Chat, _) => {
                let choice = &part["choices"][0];
                let message = if is_streamed { &choice["delta"] } else { &choice["message"] };
                text += &(of(&message["content"]) + &of(&message["refusal"]));
                for call in message["tool_calls"].as_array().into_iter().flatten() {
                    calls.push((of(&call["function"]["name"]), parsed(&call["function"]["arguments"])));
                }
                stop += &of(&choice["finish_reason"]);
            }
            (Api::Responses, _) => {
                let whole = if is_streamed { &part["response"] } else { part };
                if whole["status"] == "in_progress" || whole.is_null() {
                    continue;
                }
                for item in whole["output"].as_array().unwrap() {
                    text += &(of(&item["content"][0]["text"]) + &of(&item["content"][0]["refusal"]));
                    if item["type"] == "function_call" {
                        calls.push((of(&item["name"]), parsed(&item["arguments"])));
                    }
                }
                stop += &(of(&whole["status"]) + &of(&whole["incomplete_details"]["reason"]));
            }
            (Api::Gemini, _) => {
                let candidate = &part["candidates"][0];
                for part in candidate["content"]["parts"].as_array().unwrap() {
                    text += &of(&part["text"]);
                    if let Some(call) = part.get("functionCall") {
                        calls.push((of(&call["name"]), call["args"].clone()));
                    }
                }
                stop += &of(&candidate["finishReason"]);
            }
        }
    }
    (text, calls, stop)
}
