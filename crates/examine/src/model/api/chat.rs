//! `OpenAI` Chat Completions.

use serde_json::{Value, json};

use super::{Writer, data};
use crate::model::conversation::{Conversation, Item, Output, Tool, add_answer, content_text, list, text};
use crate::model::reply::{ReplyMessage, Stop};
use crate::model::tools::ReplyCall;

pub(super) fn read(body: &Value) -> Conversation {
    let (mut items, mut system) = (Vec::new(), String::new());
    for message in list(body, "messages") {
        let content = message.get("content").unwrap_or(&Value::Null);
        match text(message, "role") {
            "system" | "developer" => system += &content_text(content),
            "assistant" => {
                let names = list(message, "tool_calls").iter().map(|call| {
                    ["function", "custom"].map(|kind| call.get(kind).map_or("", |call| text(call, "name"))).concat()
                });
                add_answer(&mut items, names);
            }
            "tool" | "function" => items.push(Item::Result(content_text(content))),
            _ => read_user(content, &mut items),
        }
    }
    let tools = list(body, "tools").iter().filter_map(|tool| {
        if let Some(custom) = tool.get("custom") {
            let [name, description] = ["name", "description"].map(|member| text(custom, member).to_owned());
            return Some(Tool { name, description, ..Tool::default() });
        }
        let function = tool.get("function")?;
        let schema = function.get("parameters").cloned().unwrap_or_else(|| json!({ "type": "object" }));
        Some(Tool { name: text(function, "name").to_owned(), schema: Some(schema), ..Tool::default() })
    });
    let choice = body.pointer("/tool_choice/function/name").and_then(Value::as_str);
    let format = body.get("response_format");
    let output = match (choice, format.map_or("", |format| text(format, "type"))) {
        (Some(name), _) => Output::Tool(name.to_owned()),
        (None, "json_schema") => {
            Output::Json(body.pointer("/response_format/json_schema/schema").cloned().unwrap_or_default())
        }
        (None, "json_object") => Output::Json(json!({ "type": "object" })),
        _ => Output::Any,
    };
    Conversation {
        model: text(body, "model").to_owned(),
        is_streamed: body.get("stream") == Some(&json!(true)),
        system,
        items,
        tools: tools.collect(),
        output,
    }
}

fn read_user(content: &Value, items: &mut Vec<Item>) {
    let Value::Array(parts) = content else {
        items.push(Item::User(content_text(content)));
        return;
    };
    for part in parts {
        match text(part, "type") {
            "image_url" => items.push(Item::Image),
            "text" => items.push(Item::User(text(part, "text").to_owned())),
            _ => {}
        }
    }
}

fn reason(stop: Stop) -> &'static str {
    match stop {
        Stop::End => "stop",
        Stop::Calls => "tool_calls",
        Stop::Limit => "length",
        Stop::Refusal => "content_filter",
    }
}

fn usage() -> Value {
    json!({ "prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20 })
}

fn call_json(call: &ReplyCall, serial: u64, index: usize) -> Value {
    let id = format!("call_{serial:08}_{index}");
    if call.is_text {
        return json!({ "id": id, "type": "custom", "custom": { "name": call.name, "input": call.arguments } });
    }
    let function = json!({ "name": call.name, "arguments": call.arguments.to_string() });
    json!({ "id": id, "type": "function", "function": function })
}

fn envelope(kind: &str, model: &str, serial: u64, choices: &Value) -> Value {
    json!({
        "id": format!("chatcmpl-{serial:08}"), "object": kind, "created": 1_767_225_600, "model": model,
        "choices": choices,
    })
}

pub(super) fn whole(model: &str, message: &ReplyMessage, serial: u64) -> Value {
    let calls: Vec<Value> = message.calls().enumerate().map(|(index, call)| call_json(call, serial, index)).collect();
    let text = message.text();
    let is_refusal = message.stop == Stop::Refusal;
    let mut answer = json!({
        "role": "assistant", "content": if is_refusal || text.is_empty() { Value::Null } else { json!(text) },
        "refusal": if is_refusal { json!(text) } else { Value::Null },
    });
    if !calls.is_empty() {
        answer["tool_calls"] = calls.into();
    }
    let choice = json!({ "index": 0, "message": answer, "logprobs": null, "finish_reason": reason(message.stop) });
    let mut whole = envelope("chat.completion", model, serial, &json!([choice]));
    whole["usage"] = usage();
    whole
}

/// Writes the chunks of an answer.
pub(super) struct ChatChunks {
    model: String,
    serial: u64,
    calls: usize,
}

impl ChatChunks {
    pub(super) fn new(model: &str, serial: u64) -> Self {
        Self { model: model.to_owned(), serial, calls: 0 }
    }

    fn chunk(&self, delta: &Value, stop: Option<Stop>) -> String {
        let choice = json!({ "index": 0, "delta": delta, "logprobs": null, "finish_reason": stop.map(reason) });
        data(&envelope("chat.completion.chunk", &self.model, self.serial, &json!([choice])))
    }
}

impl Writer for ChatChunks {
    fn open(&mut self) -> String {
        self.chunk(&json!({ "role": "assistant", "content": "" }), None)
    }

    fn text(&mut self, text: &str) -> String {
        self.chunk(&json!({ "content": text }), None)
    }

    fn refusal(&mut self, text: &str) -> String {
        self.chunk(&json!({ "refusal": text }), None)
    }

    fn call(&mut self, call: &ReplyCall) -> String {
        let mut value = call_json(call, self.serial, self.calls);
        value["index"] = self.calls.into();
        self.calls += 1;
        self.chunk(&json!({ "tool_calls": [value] }), None)
    }

    fn close(&mut self, stop: Stop) -> String {
        let mut last = envelope("chat.completion.chunk", &self.model, self.serial, &json!([]));
        last["usage"] = usage();
        self.chunk(&json!({}), Some(stop)) + &data(&last) + "data: [DONE]\n\n"
    }
}
