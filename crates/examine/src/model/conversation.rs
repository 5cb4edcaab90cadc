//! A request to a model, in a form that all APIs share.

use serde_json::Value;

/// A request for an answer.
#[derive(Debug, Default)]
pub(super) struct Conversation {
    /// The model's name, repeated in the answer.
    pub(super) model: String,
    pub(super) is_streamed: bool,
    /// Instructions outside of the conversation.
    pub(super) system: String,
    /// The conversation, the oldest item first.
    pub(super) items: Vec<Item>,
    /// The tools offered.
    pub(super) tools: Vec<Tool>,
    pub(super) output: Output,
}

/// Maximum length of a name that answers repeat, in bytes. No API accepts as long a name for a tool.
const NAME: usize = 256;

impl Conversation {
    /// Leaves out tools whose names are too long to be repeated in an answer, and shortens the name of the model.
    pub(super) fn bound(&mut self) {
        let is_long = |name: &String| name.len() > NAME;
        self.model.truncate(self.model.floor_char_boundary(NAME));
        self.tools.retain(|tool| !is_long(&tool.name) && !tool.namespace.as_ref().is_some_and(is_long));
        if matches!(&self.output, Output::Tool(name) if is_long(name)) {
            self.output = Output::Any;
        }
    }
}

/// A part of a conversation. A message consists of several.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Item {
    /// Text of the user, or of the agent on the user's behalf.
    User(String),
    /// An image from the user.
    Image,
    /// Text of the model. It is one turn with the tool calls that follow it.
    Model,
    /// A call of the tool with this name. Successive ones are one turn.
    Call(String),
    /// The result of a tool call.
    Result(String),
}

/// The form of the answer.
#[derive(Debug, Default, PartialEq)]
pub(super) enum Output {
    /// Text and tool calls as the model likes.
    #[default]
    Any,
    /// JSON by this schema.
    Json(Value),
    /// A call of the tool with this name.
    Tool(String),
}

/// A tool that the agent offers.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Tool {
    pub(super) name: String,
    /// A group of tools that the name belongs to, which calls repeat (Responses only).
    pub(super) namespace: Option<String>,
    /// The schema of the arguments; `None` if the argument is a text.
    pub(super) schema: Option<Value>,
    /// The description of a tool without a schema; empty for others.
    pub(super) description: String,
}

/// A member that is a text, or the empty text.
pub(super) fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// The elements of a member that is an array.
pub(super) fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The text of content: a text, or a list of parts with a member `text` each.
pub(super) fn content_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            parts.iter().map(|part| part.as_str().unwrap_or_else(|| text(part, "text"))).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

/// Adds what the model has said: calls of tools with these names, or else a text.
pub(super) fn add_answer(items: &mut Vec<Item>, calls: impl Iterator<Item = String>) {
    let before = items.len();
    items.extend(calls.map(Item::Call));
    if items.len() == before {
        items.push(Item::Model);
    }
}
