//! An answer of the model, in a form that all APIs share.

use std::time::Duration;

use serde_json::json;

use super::conversation::{Conversation, Item, Output};
use super::sample::sample;
use super::script::{Step, ToolCall};
use super::tools::{ReplyCall, find, is_search, search, through};

/// The text of answers that no script determines.
pub(super) const HARMLESS: &str = "Examination";

/// An answer.
#[derive(Debug)]
pub(super) enum ModelReply {
    Message(ReplyMessage),
    /// An HTTP error with this status.
    Failure(u16),
}

/// A successful answer.
#[derive(Debug, Default)]
pub(super) struct ReplyMessage {
    pub(super) parts: Vec<ReplyPart>,
    /// The pause after each part.
    pub(super) pause: Duration,
    pub(super) stop: Stop,
    pub(super) end: End,
    /// Descriptions of tools that the script wants, but the agent does not offer.
    pub(super) missing: Vec<String>,
}

/// A part of an answer.
#[derive(Debug)]
pub(super) enum ReplyPart {
    /// A chunk of text. Successive chunks belong together.
    Text(String),
    Call(ReplyCall),
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
    /// It goes on with further lines until the script is released.
    Hold,
    /// The connection closes after the parts.
    Break,
}

impl ReplyMessage {
    /// A text that ends the turn.
    pub(super) fn say(text: impl Into<String>) -> Self {
        Self { parts: vec![ReplyPart::Text(text.into())], ..Self::default() }
    }

    /// The whole text.
    pub(super) fn text(&self) -> String {
        self.parts.iter().map(|part| if let ReplyPart::Text(text) = part { text.as_str() } else { "" }).collect()
    }

    pub(super) fn calls(&self) -> impl Iterator<Item = &ReplyCall> {
        self.parts.iter().filter_map(|part| if let ReplyPart::Call(call) = part { Some(call) } else { None })
    }

    fn call(calls: Vec<ReplyCall>) -> Self {
        Self { parts: calls.into_iter().map(ReplyPart::Call).collect(), stop: Stop::Calls, ..Self::default() }
    }
}

/// The answer of a script's step to a conversation; `None` is the step after the last.
pub(super) fn scripted(step: Option<&Step>, conversation: &Conversation) -> ModelReply {
    let message = match step {
        None => ReplyMessage::say("Done."),
        Some(Step::Say { chunks, pause }) => {
            let parts = chunks.iter().cloned().map(ReplyPart::Text).collect();
            ReplyMessage { parts, pause: *pause, ..ReplyMessage::default() }
        }
        Some(Step::Stall) => ReplyMessage { end: End::Stall, ..ReplyMessage::say("Waiting") },
        Some(Step::Hold) => ReplyMessage { end: End::Hold, ..ReplyMessage::say(held_line(0)) },
        Some(Step::Call(wanted)) => calls(wanted, conversation),
        Some(Step::Fail(status)) => return ModelReply::Failure(*status),
        Some(Step::Refuse) => ReplyMessage { stop: Stop::Refusal, ..ReplyMessage::say("I cannot help with that.") },
        Some(Step::CutOff(text)) => ReplyMessage { stop: Stop::Limit, ..ReplyMessage::say(text) },
        Some(Step::Break(text)) => ReplyMessage { end: End::Break, ..ReplyMessage::say(text) },
        Some(Step::First(first, _)) => return scripted(Some(first), conversation),
    };
    ModelReply::Message(message)
}

/// A line of a text that goes on. No line is repeated: agents stop models that repeat themselves.
pub(super) fn held_line(number: usize) -> String {
    format!("Stream line {number}.\n\n")
}

fn calls(wanted: &[ToolCall], conversation: &Conversation) -> ReplyMessage {
    let (mut calls, mut missing) = (Vec::new(), Vec::new());
    for wanted in wanted {
        match find(wanted, &conversation.tools) {
            Some(call) => calls.push(call),
            None => missing.push(wanted.describe()),
        }
    }
    // Tools of MCP servers may have to be searched for, which the agent answers by offering them.
    let has_searched = conversation.items.iter().any(|item| matches!(item, Item::Call(name) if is_search(name)));
    if let (false, false, [ToolCall::Named { name, .. }]) = (missing.is_empty(), has_searched, wanted)
        && let Some(search) = search(name, &conversation.tools)
    {
        return ReplyMessage { missing, ..ReplyMessage::call(vec![search]) };
    }
    if let (false, [ToolCall::Named { name, arguments }]) = (missing.is_empty(), wanted) {
        let results = conversation.items.iter().rev().filter_map(|item| match item {
            Item::Result(text) | Item::User(text) => Some(text),
            _ => None,
        });
        if let Some(call) = through(name, arguments, &conversation.tools, results.chain([&conversation.system])) {
            return ReplyMessage::call(vec![call]);
        }
    }
    let message = if calls.is_empty() { ReplyMessage::say(HARMLESS) } else { ReplyMessage::call(calls) };
    ReplyMessage { missing, ..message }
}

/// The answer to a request that belongs to no script: the smallest one that has the wanted form.
pub(super) fn harmless(conversation: &Conversation) -> ReplyMessage {
    match &conversation.output {
        Output::Any => ReplyMessage::say(HARMLESS),
        Output::Json(schema) => ReplyMessage::say(sample(schema).to_string()),
        Output::Tool(name) => {
            let tool = conversation.tools.iter().find(|tool| tool.name == *name);
            let schema = tool.and_then(|tool| tool.schema.as_ref());
            let arguments = schema.map_or_else(|| json!({}), sample);
            let namespace = tool.and_then(|tool| tool.namespace.clone());
            ReplyMessage::call(vec![ReplyCall { name: name.clone(), namespace, arguments, is_text: false }])
        }
    }
}
