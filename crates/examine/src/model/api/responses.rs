//! `OpenAI` Responses.

use serde_json::{Value, json};

use super::{Writer, named};
use crate::model::conversation::{Conversation, Item, Output, Tool, content_text, list, text};
use crate::model::reply::{ReplyMessage, Stop};
use crate::model::tools::ReplyCall;

pub(super) fn read(body: &Value) -> Conversation {
    let (mut items, mut system, mut tools) = (Vec::new(), text(body, "instructions").to_owned(), Vec::new());
    if let Some(text) = body.get("input").and_then(Value::as_str) {
        items.push(Item::User(text.to_owned()));
    }
    for item in list(body, "input") {
        match text(item, "type") {
            "message" | "" => read_message(item, &mut items, &mut system),
            kind if kind.ends_with("_call_output") => {
                items.push(Item::Result(item.get("output").map(content_text).unwrap_or_default()));
            }
            kind if kind.ends_with("_call") => items.push(Item::Call(text(item, "name").to_owned())),
            // Some agents add tools here, so that the list of tools stays the same for a cache.
            "additional_tools" => read_tools(item, &mut tools),
            _ => {}
        }
    }
    read_tools(body, &mut tools);
    let choice = body.get("tool_choice").map_or("", |choice| text(choice, "name"));
    let format = body.pointer("/text/format").unwrap_or(&Value::Null);
    let output = match (choice, text(format, "type")) {
        ("", "json_schema") => Output::Json(format.get("schema").cloned().unwrap_or_default()),
        ("", "json_object") => Output::Json(json!({ "type": "object" })),
        ("", _) => Output::Any,
        (name, _) => Output::Tool(name.to_owned()),
    };
    Conversation {
        model: text(body, "model").to_owned(),
        is_streamed: body.get("stream") == Some(&json!(true)),
        system,
        items,
        tools,
        output,
    }
}

fn read_message(message: &Value, items: &mut Vec<Item>, system: &mut String) {
    let content = message.get("content").unwrap_or(&Value::Null);
    match text(message, "role") {
        "system" | "developer" => *system += &content_text(content),
        "assistant" => items.push(Item::Model),
        _ => match content {
            Value::Array(parts) => {
                for part in parts {
                    match text(part, "type") {
                        "input_image" => items.push(Item::Image),
                        "input_text" | "text" => items.push(Item::User(text(part, "text").to_owned())),
                        _ => {}
                    }
                }
            }
            content => items.push(Item::User(content_text(content))),
        },
    }
}

fn read_tools(list_of: &Value, tools: &mut Vec<Tool>) {
    for tool in list(list_of, "tools") {
        if text(tool, "type") == "namespace" {
            let name = text(tool, "name");
            tools.extend(list(tool, "tools").iter().filter_map(|tool| read_tool(tool, Some(name))));
        } else {
            tools.extend(read_tool(tool, None));
        }
    }
}

fn read_tool(tool: &Value, namespace: Option<&str>) -> Option<Tool> {
    let schema = match text(tool, "type") {
        "function" => Some(tool.get("parameters").cloned().unwrap_or_else(|| json!({ "type": "object" }))),
        "custom" => None,
        // Tools of the API itself, such as a web search.
        _ => return None,
    };
    let description = if schema.is_none() { text(tool, "description").to_owned() } else { String::new() };
    Some(Tool { name: text(tool, "name").to_owned(), namespace: namespace.map(str::to_owned), schema, description })
}

/// The text of a message, or a refusal.
fn part(text: &str, is_refusal: bool) -> Value {
    if is_refusal {
        json!({ "type": "refusal", "refusal": text })
    } else {
        json!({ "type": "output_text", "text": text, "annotations": [], "logprobs": [] })
    }
}

fn message_item(serial: u64, content: &[Value], status: &str) -> Value {
    json!({ "id": format!("msg_{serial:08}"), "type": "message", "role": "assistant", "status": status, "content": content })
}

fn call_item(call: &ReplyCall, serial: u64, index: usize) -> Value {
    let (kind, argument, value) = if call.is_text {
        ("custom_tool_call", "input", call.arguments.clone())
    } else {
        ("function_call", "arguments", call.arguments.to_string().into())
    };
    let mut item = json!({
        "id": format!("fc_{serial:08}_{index}"), "type": kind, "status": "completed",
        "call_id": format!("call_{serial:08}_{index}"), "name": call.name,
    });
    item[argument] = value;
    if let Some(namespace) = &call.namespace {
        item["namespace"] = json!(namespace);
    }
    item
}

fn envelope(model: &str, serial: u64, output: &[Value], stop: Option<Stop>) -> Value {
    let is_cut_off = stop == Some(Stop::Limit);
    let status = match stop {
        None => "in_progress",
        Some(Stop::Limit) => "incomplete",
        Some(_) => "completed",
    };
    let usage = json!({
        "input_tokens": 10, "input_tokens_details": { "cached_tokens": 0 }, "output_tokens": 10,
        "output_tokens_details": { "reasoning_tokens": 0 }, "total_tokens": 20,
    });
    json!({
        "id": format!("resp_{serial:08}"), "object": "response", "created_at": 1_767_225_600, "status": status,
        "background": false, "error": null, "model": model, "output": output, "parallel_tool_calls": true,
        "incomplete_details": if is_cut_off { json!({ "reason": "max_output_tokens" }) } else { Value::Null },
        "tool_choice": "auto", "tools": [], "metadata": {}, "usage": if stop.is_some() { usage } else { Value::Null },
    })
}

pub(super) fn whole(model: &str, message: &ReplyMessage, serial: u64) -> Value {
    let text = message.text();
    let content = [part(&text, message.stop == Stop::Refusal)];
    let mut output = if text.is_empty() { Vec::new() } else { vec![message_item(serial, &content, "completed")] };
    output.extend(message.calls().enumerate().map(|(index, call)| call_item(call, serial, index)));
    envelope(model, serial, &output, Some(message.stop))
}

/// Writes the events of an answer, in which each text and each call is an item.
pub(super) struct ResponseItems {
    model: String,
    serial: u64,
    /// Number of events so far.
    number: u64,
    /// The text of the message that is being written.
    open: Option<String>,
    /// The items that are complete.
    output: Vec<Value>,
}

impl ResponseItems {
    pub(super) fn new(model: &str, serial: u64) -> Self {
        Self { model: model.to_owned(), serial, number: 0, open: None, output: Vec::new() }
    }

    /// An event with these members, numbered.
    fn event(&mut self, kind: &str, members: &[(&str, Value)]) -> String {
        let mut event = json!({ "type": kind, "sequence_number": self.number });
        self.number += 1;
        for (name, value) in members {
            event[*name] = value.clone();
        }
        named(&event)
    }

    /// An event about the message that is being written.
    fn about(&mut self, kind: &str, member: &str, value: Value) -> String {
        let place = [
            ("item_id", json!(format!("msg_{:08}", self.serial))),
            ("output_index", json!(self.output.len())),
            ("content_index", json!(0)),
        ];
        let members: Vec<_> = place.into_iter().chain([(member, value)]).collect();
        self.event(kind, &members)
    }

    fn item(&mut self, kind: &str, item: Value) -> String {
        let index = json!(self.output.len());
        self.event(kind, &[("output_index", index), ("item", item)])
    }

    fn begin_text(&mut self, text: &str, is_refusal: bool) -> String {
        let mut events = String::new();
        if self.open.is_none() {
            let item = message_item(self.serial, &[], "in_progress");
            events = self.item("response.output_item.added", item)
                + &self.about("response.content_part.added", "part", part("", is_refusal));
        }
        self.open.get_or_insert_default().push_str(text);
        events
    }

    fn end_text(&mut self, is_refusal: bool) -> String {
        let Some(text) = self.open.take() else { return String::new() };
        let part = part(&text, is_refusal);
        let item = message_item(self.serial, std::slice::from_ref(&part), "completed");
        let done = if is_refusal {
            self.about("response.refusal.done", "refusal", json!(text))
        } else {
            self.about("response.output_text.done", "text", json!(text))
        };
        let done = done
            + &self.about("response.content_part.done", "part", part)
            + &self.item("response.output_item.done", item.clone());
        self.output.push(item);
        done
    }
}

impl Writer for ResponseItems {
    fn open(&mut self) -> String {
        let response = envelope(&self.model, self.serial, &[], None);
        self.event("response.created", &[("response", response.clone())])
            + &self.event("response.in_progress", &[("response", response)])
    }

    fn text(&mut self, text: &str) -> String {
        self.begin_text(text, false) + &self.about("response.output_text.delta", "delta", json!(text))
    }

    fn refusal(&mut self, text: &str) -> String {
        self.begin_text(text, true) + &self.about("response.refusal.delta", "delta", json!(text))
    }

    fn call(&mut self, call: &ReplyCall) -> String {
        let before = self.end_text(false);
        let item = call_item(call, self.serial, self.output.len());
        let (argument, kind) =
            if call.is_text { ("input", "custom_tool_call_input") } else { ("arguments", "function_call_arguments") };
        let mut begun = item.clone();
        begun["status"] = json!("in_progress");
        begun[argument] = json!("");
        let added = self.item("response.output_item.added", begun);
        let (index, id, value) = (json!(self.output.len()), item["id"].clone(), item[argument].clone());
        let place = [("item_id", id), ("output_index", index)];
        let with = |name, value: &Value| place.iter().cloned().chain([(name, value.clone())]).collect::<Vec<_>>();
        let delta = self.event(&format!("response.{kind}.delta"), &with("delta", &value));
        let done = self.event(&format!("response.{kind}.done"), &with(argument, &value));
        let end = self.item("response.output_item.done", item.clone());
        self.output.push(item);
        before + &added + &delta + &done + &end
    }

    fn close(&mut self, stop: Stop) -> String {
        let before = self.end_text(stop == Stop::Refusal);
        let response = envelope(&self.model, self.serial, &self.output, Some(stop));
        let kind = if stop == Stop::Limit { "response.incomplete" } else { "response.completed" };
        before + &self.event(kind, &[("response", response)])
    }
}
