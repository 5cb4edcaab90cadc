//! Gemini `generateContent`.

use serde_json::{Value, json};

use super::{Writer, data};
use crate::model::conversation::{Conversation, Item, Output, Tool, add_answer, list, text};
use crate::model::reply::{ReplyMessage, Stop};
use crate::model::tools::ReplyCall;

/// A member by its name in camel case or in snake case, both of which the API accepts.
fn member<'a>(value: &'a Value, camel: &str, snake: &str) -> Option<&'a Value> {
    value.get(camel).or_else(|| value.get(snake))
}

pub(super) fn read(body: &Value) -> Conversation {
    let mut items = Vec::new();
    for content in list(body, "contents") {
        if text(content, "role") == "model" {
            let calls = list(content, "parts").iter().filter_map(|part| member(part, "functionCall", "function_call"));
            add_answer(&mut items, calls.map(|call| text(call, "name").to_owned()));
        } else {
            items.extend(list(content, "parts").iter().filter_map(read_part));
        }
    }
    let system = member(body, "systemInstruction", "system_instruction");
    let system = system.map(|system| list(system, "parts").iter().map(|part| text(part, "text")).collect());
    let groups =
        list(body, "tools").iter().filter_map(|group| member(group, "functionDeclarations", "function_declarations"));
    let tools = groups.filter_map(Value::as_array).flatten().map(|tool| Tool {
        name: text(tool, "name").to_owned(),
        schema: Some(
            member(tool, "parametersJsonSchema", "parameters_json_schema")
                .or_else(|| tool.get("parameters"))
                .cloned()
                .unwrap_or_else(|| json!({ "type": "object" })),
        ),
        ..Tool::default()
    });
    Conversation {
        model: String::new(),
        is_streamed: false,
        system: system.unwrap_or_default(),
        items,
        tools: tools.collect(),
        output: output(member(body, "generationConfig", "generation_config").unwrap_or(&Value::Null)),
    }
}

fn read_part(part: &Value) -> Option<Item> {
    if let Some(text) = part.get("text").and_then(Value::as_str) {
        return Some(Item::User(text.to_owned()));
    }
    if let Some(result) = member(part, "functionResponse", "function_response") {
        let response = result.get("response").unwrap_or(&Value::Null);
        let texts: Vec<&str> = ["output", "error"].iter().map(|name| text(response, name)).collect();
        let text = texts.concat();
        return Some(Item::Result(if text.is_empty() { response.to_string() } else { text }));
    }
    let data = member(part, "inlineData", "inline_data").or_else(|| member(part, "fileData", "file_data"))?;
    let kind = member(data, "mimeType", "mime_type").and_then(Value::as_str).unwrap_or_default();
    kind.starts_with("image/").then_some(Item::Image)
}

fn output(config: &Value) -> Output {
    let schemas = [("responseJsonSchema", "response_json_schema"), ("responseSchema", "response_schema")];
    let schema = schemas.iter().find_map(|(camel, snake)| member(config, camel, snake));
    let kind = member(config, "responseMimeType", "response_mime_type");
    match schema {
        Some(schema) => Output::Json(schema.clone()),
        None if kind == Some(&json!("application/json")) => Output::Json(json!({ "type": "object" })),
        None => Output::Any,
    }
}

fn reason(stop: Stop) -> &'static str {
    match stop {
        Stop::End | Stop::Calls => "STOP",
        Stop::Limit => "MAX_TOKENS",
        Stop::Refusal => "SAFETY",
    }
}

fn call_part(call: &ReplyCall, serial: u64, index: usize) -> Value {
    let id = format!("call_{serial:08}_{index}");
    json!({ "functionCall": { "id": id, "name": call.name, "args": call.arguments } })
}

fn envelope(model: &str, serial: u64, parts: &[Value], stop: Option<Stop>) -> Value {
    let mut candidate = json!({ "content": { "role": "model", "parts": parts }, "index": 0 });
    if let Some(stop) = stop {
        candidate["finishReason"] = reason(stop).into();
    }
    json!({
        "candidates": [candidate], "modelVersion": model, "responseId": format!("response-{serial:08}"),
        "usageMetadata": { "promptTokenCount": 10, "candidatesTokenCount": 10, "totalTokenCount": 20 },
    })
}

pub(super) fn whole(model: &str, message: &ReplyMessage, serial: u64) -> Value {
    let text = message.text();
    let mut parts = if text.is_empty() { Vec::new() } else { vec![json!({ "text": text })] };
    parts.extend(message.calls().enumerate().map(|(index, call)| call_part(call, serial, index)));
    envelope(model, serial, &parts, Some(message.stop))
}

pub(super) fn error(status: u16, text: &str) -> Value {
    let name = match status {
        404 => "NOT_FOUND",
        429 => "RESOURCE_EXHAUSTED",
        503 => "UNAVAILABLE",
        500.. => "INTERNAL",
        _ => "INVALID_ARGUMENT",
    };
    json!({ "error": { "code": status, "message": text, "status": name } })
}

/// Writes the chunks of an answer, as events or as the elements of an array.
pub(super) struct GeminiChunks {
    model: String,
    serial: u64,
    is_sse: bool,
    calls: usize,
    is_first: bool,
}

impl GeminiChunks {
    pub(super) fn new(model: &str, serial: u64, is_sse: bool) -> Self {
        Self { model: model.to_owned(), serial, is_sse, calls: 0, is_first: true }
    }

    fn chunk(&mut self, parts: &[Value], stop: Option<Stop>) -> String {
        let chunk = envelope(&self.model, self.serial, parts, stop);
        let is_first = std::mem::take(&mut self.is_first);
        match (self.is_sse, is_first) {
            (true, _) => data(&chunk),
            (false, true) => format!("[{chunk}"),
            (false, false) => format!(",\n{chunk}"),
        }
    }
}

impl Writer for GeminiChunks {
    fn open(&mut self) -> String {
        self.chunk(&[json!({ "text": "" })], None)
    }

    fn text(&mut self, text: &str) -> String {
        self.chunk(&[json!({ "text": text })], None)
    }

    fn call(&mut self, call: &ReplyCall) -> String {
        self.calls += 1;
        let part = call_part(call, self.serial, self.calls);
        self.chunk(&[part], None)
    }

    fn close(&mut self, stop: Stop) -> String {
        let last = self.chunk(&[json!({ "text": "" })], Some(stop));
        last + if self.is_sse { "" } else { "]" }
    }
}
