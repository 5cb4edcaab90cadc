//! An answer of the model, in a form that all APIs share.

use std::time::Duration;

use serde_json::{Value, json};

use super::conversation::{Conversation, Item, Output};
use super::sample::sample;
use super::script::{Step, Wanted};
use super::tools::{find, is_search, search};

/// The text of answers that no script determines.
pub(super) const HARMLESS: &str = "Examination";

/// An answer.
#[derive(Debug)]
pub(super) enum Reply {
    Message(Message),
    /// An HTTP error with this status.
    Failure(u16),
}

/// A successful answer.
#[derive(Debug, Default)]
pub(super) struct Message {
    pub(super) parts: Vec<Part>,
    /// The pause after each part.
    pub(super) pause: Duration,
    pub(super) stop: Stop,
    pub(super) end: End,
    /// Descriptions of tools that the script wants, but the agent does not offer.
    pub(super) missing: Vec<String>,
}

/// A part of an answer.
#[derive(Debug)]
pub(super) enum Part {
    /// A chunk of text. Successive chunks belong together.
    Text(String),
    Call(Call),
}

/// A tool call.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Call {
    pub(super) name: String,
    pub(super) namespace: Option<String>,
    /// An object, or a text for a tool without a schema.
    pub(super) arguments: Value,
    /// Whether the tool has no schema.
    pub(super) is_text: bool,
}

/// Why the model stops.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Stop {
    /// It is done.
    #[default]
    End,
    /// It waits for the results of tool calls.
    Calls,
    /// It has reached the token limit.
    Limit,
    /// It refuses.
    Refusal,
}

/// How an answer ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum End {
    #[default]
    Complete,
    /// It goes on with text until the client closes the connection.
    Stall,
    /// The connection closes after the parts.
    Break,
}

impl Message {
    /// A text that ends the turn.
    pub(super) fn say(text: impl Into<String>) -> Self {
        Self { parts: vec![Part::Text(text.into())], ..Self::default() }
    }

    /// The whole text.
    pub(super) fn text(&self) -> String {
        self.parts.iter().map(|part| if let Part::Text(text) = part { text.as_str() } else { "" }).collect()
    }

    pub(super) fn calls(&self) -> impl Iterator<Item = &Call> {
        self.parts.iter().filter_map(|part| if let Part::Call(call) = part { Some(call) } else { None })
    }

    fn call(calls: Vec<Call>) -> Self {
        Self { parts: calls.into_iter().map(Part::Call).collect(), stop: Stop::Calls, ..Self::default() }
    }
}

/// The answer of a script's step to a conversation; `None` is the step after the last.
pub(super) fn scripted(step: Option<&Step>, conversation: &Conversation) -> Reply {
    let message = match step {
        None => Message::say("Done."),
        Some(Step::Say { chunks, pause }) => {
            let parts = chunks.iter().cloned().map(Part::Text).collect();
            Message { parts, pause: *pause, ..Message::default() }
        }
        Some(Step::Stall) => Message { end: End::Stall, ..Message::say("Waiting") },
        Some(Step::Call(wanted)) => calls(wanted, conversation),
        Some(Step::Fail(status)) => return Reply::Failure(*status),
        Some(Step::Refuse) => Message { stop: Stop::Refusal, ..Message::say("I cannot help with that.") },
        Some(Step::CutOff(text)) => Message { stop: Stop::Limit, ..Message::say(text) },
        Some(Step::Break(text)) => Message { end: End::Break, ..Message::say(text) },
        Some(Step::First(first, _)) => return scripted(Some(first), conversation),
    };
    Reply::Message(message)
}

fn calls(wanted: &[Wanted], conversation: &Conversation) -> Message {
    let (mut calls, mut missing) = (Vec::new(), Vec::new());
    for wanted in wanted {
        match find(wanted, &conversation.tools) {
            Some(call) => calls.push(call),
            None => missing.push(wanted.describe()),
        }
    }
    // Tools of MCP servers may have to be searched for, which the agent answers by offering them.
    let has_searched = conversation.items.iter().any(|item| matches!(item, Item::Call(name) if is_search(name)));
    if let (false, false, [Wanted::Named { name, .. }]) = (missing.is_empty(), has_searched, wanted)
        && let Some(search) = search(name, &conversation.tools)
    {
        return Message { missing, ..Message::call(vec![search]) };
    }
    let message = if calls.is_empty() { Message::say(HARMLESS) } else { Message::call(calls) };
    Message { missing, ..message }
}

/// The answer to a request that belongs to no script: the smallest one that has the wanted form.
pub(super) fn harmless(conversation: &Conversation) -> Message {
    match &conversation.output {
        Output::Any => Message::say(HARMLESS),
        Output::Json(schema) => Message::say(sample(schema).to_string()),
        Output::Tool(name) => {
            let tool = conversation.tools.iter().find(|tool| tool.name == *name);
            let schema = tool.and_then(|tool| tool.schema.as_ref());
            let arguments = schema.map_or_else(|| json!({}), sample);
            let namespace = tool.and_then(|tool| tool.namespace.clone());
            Message::call(vec![Call { name: name.clone(), namespace, arguments, is_text: false }])
        }
    }
}
