//! Anthropic Messages.

use serde_json::{Value, json};

use super::{Writer, named};
use crate::model::conversation::{Conversation, Item, Output, Tool, add_answer, content_text, list, text};
use crate::model::reply::{ReplyMessage, Stop};
use crate::model::tools::ReplyCall;

pub(super) fn read(body: &Value) -> Conversation {
    let mut items = Vec::new();
    for message in list(body, "messages") {
        read_message(message, &mut items);
    }
    let tools = list(body, "tools").iter().map(|tool| Tool {
        name: text(tool, "name").to_owned(),
        schema: tool.get("input_schema").cloned(),
        ..Tool::default()
    });
    let choice = body.get("tool_choice").filter(|choice| text(choice, "type") == "tool");
    // The format was a member of its own before it moved into the configuration.
    let format = body.pointer("/output_config/format").or_else(|| body.get("output_format"));
    let output = match (choice, format.and_then(|format| format.get("schema"))) {
        (Some(choice), _) => Output::Tool(text(choice, "name").to_owned()),
        (None, Some(schema)) => Output::Json(schema.clone()),
        (None, None) => Output::Any,
    };
    Conversation {
        model: text(body, "model").to_owned(),
        is_streamed: body.get("stream") == Some(&json!(true)),
        system: body.get("system").map(content_text).unwrap_or_default(),
        items,
        // Tools of the API itself, such as a web search, have no schema.
        tools: tools.filter(|tool| tool.schema.is_some()).collect(),
        output,
    }
}

fn read_message(message: &Value, items: &mut Vec<Item>) {
    if text(message, "role") == "assistant" {
        let calls = list(message, "content").iter().filter(|block| text(block, "type") == "tool_use");
        return add_answer(items, calls.map(|call| text(call, "name").to_owned()));
    }
    match message.get("content") {
        Some(Value::String(text)) => items.push(Item::User(text.clone())),
        Some(Value::Array(blocks)) => {
            for block in blocks {
                match text(block, "type") {
                    "text" => items.push(Item::User(text(block, "text").to_owned())),
                    "image" => items.push(Item::Image),
                    "tool_result" => {
                        items.push(Item::Result(block.get("content").map(content_text).unwrap_or_default()));
                    }
                    "document" => {
                        items
                            .push(Item::User(block.get("source").map_or("", |source| text(source, "data")).to_owned()));
                    }
                    _ => {}
                }
            }
        }
        _ => {}
    }
}

fn reason(stop: Stop) -> &'static str {
    match stop {
        Stop::End => "end_turn",
        Stop::Calls => "tool_use",
        Stop::Limit => "max_tokens",
        Stop::Refusal => "refusal",
    }
}

fn envelope(model: &str, serial: u64, content: &[Value], stop: Option<Stop>) -> Value {
    json!({
        "id": format!("msg_{serial:08}"), "type": "message", "role": "assistant", "model": model, "content": content,
        "stop_reason": stop.map(reason), "stop_sequence": null,
        "usage": { "input_tokens": 10, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
                   "output_tokens": 1 },
    })
}

fn call_id(serial: u64, index: usize) -> String {
    format!("toolu_{serial:08}_{index}")
}

pub(super) fn whole(model: &str, message: &ReplyMessage, serial: u64) -> Value {
    let text = message.text();
    let mut content = if text.is_empty() { Vec::new() } else { vec![json!({ "type": "text", "text": text })] };
    for (index, call) in message.calls().enumerate() {
        let id = call_id(serial, index + 1);
        content.push(json!({ "type": "tool_use", "id": id, "name": call.name, "input": call.arguments }));
    }
    envelope(model, serial, &content, Some(message.stop))
}

pub(super) fn error(status: u16, text: &str) -> Value {
    let kind = match status {
        429 => "rate_limit_error",
        529 => "overloaded_error",
        500.. => "api_error",
        404 => "not_found_error",
        413 => "request_too_large",
        _ => "invalid_request_error",
    };
    json!({ "type": "error", "error": { "type": kind, "message": text } })
}

/// Writes the events of an answer, in which each text and each call is a block.
pub(super) struct MessageBlocks {
    model: String,
    serial: u64,
    /// Number of blocks that have begun.
    blocks: usize,
    is_text_open: bool,
}

impl MessageBlocks {
    pub(super) fn new(model: &str, serial: u64) -> Self {
        Self { model: model.to_owned(), serial, blocks: 0, is_text_open: false }
    }

    fn begin(&mut self, block: &Value) -> String {
        self.blocks += 1;
        named(&json!({ "type": "content_block_start", "index": self.blocks - 1, "content_block": block }))
    }

    fn delta(&self, delta: &Value) -> String {
        named(&json!({ "type": "content_block_delta", "index": self.blocks - 1, "delta": delta }))
    }

    fn end_text(&mut self) -> String {
        if std::mem::take(&mut self.is_text_open) { self.end() } else { String::new() }
    }

    fn end(&self) -> String {
        named(&json!({ "type": "content_block_stop", "index": self.blocks - 1 }))
    }
}

impl Writer for MessageBlocks {
    fn open(&mut self) -> String {
        let message = envelope(&self.model, self.serial, &[], None);
        named(&json!({ "type": "message_start", "message": message }))
    }

    fn text(&mut self, text: &str) -> String {
        let is_first = !std::mem::replace(&mut self.is_text_open, true);
        let begin = if is_first { self.begin(&json!({ "type": "text", "text": "" })) } else { String::new() };
        begin + &self.delta(&json!({ "type": "text_delta", "text": text }))
    }

    fn call(&mut self, call: &ReplyCall) -> String {
        let before = self.end_text();
        let id = call_id(self.serial, self.blocks + 1);
        let begin = self.begin(&json!({ "type": "tool_use", "id": id, "name": call.name, "input": {} }));
        let arguments = call.arguments.to_string();
        let delta = self.delta(&json!({ "type": "input_json_delta", "partial_json": arguments }));
        before + &begin + &delta + &self.end()
    }

    fn close(&mut self, stop: Stop) -> String {
        let delta = json!({ "stop_reason": reason(stop), "stop_sequence": null });
        self.end_text()
            + &named(&json!({ "type": "message_delta", "delta": delta, "usage": { "output_tokens": 10 } }))
            + &named(&json!({ "type": "message_stop" }))
    }
}
