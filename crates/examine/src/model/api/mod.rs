//! The APIs: how each writes requests and answers, lists of models, and token counts.

mod anthropic;
mod chat;
mod gemini;
mod responses;

use std::fmt;

use serde_json::{Value, json};

use super::conversation::Conversation;
use super::reply::{ReplyMessage, Stop};
use super::tools::ReplyCall;

/// An API of language models.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Api {
    /// Anthropic Messages.
    Anthropic,
    /// `OpenAI` Chat Completions.
    Chat,
    /// `OpenAI` Responses.
    Responses,
    /// Gemini `generateContent`.
    Gemini,
}

impl fmt::Display for Api {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Anthropic => "Anthropic Messages",
            Self::Chat => "OpenAI Chat Completions",
            Self::Responses => "OpenAI Responses",
            Self::Gemini => "Gemini generateContent",
        })
    }
}

/// Writes the events of a streamed answer: `open`, then `text` and `call` any number of times, then `close`.
pub(super) trait Writer: Send {
    fn open(&mut self) -> String;
    fn text(&mut self, text: &str) -> String;
    /// The text of an answer that stops with a refusal.
    fn refusal(&mut self, text: &str) -> String {
        self.text(text)
    }
    fn call(&mut self, call: &ReplyCall) -> String;
    fn close(&mut self, stop: Stop) -> String;
}

impl Api {
    /// Reads a request leniently: unknown and malformed parts are skipped.
    pub(super) fn read(self, body: &Value) -> Conversation {
        match self {
            Self::Anthropic => anthropic::read(body),
            Self::Chat => chat::read(body),
            Self::Responses => responses::read(body),
            Self::Gemini => gemini::read(body),
        }
    }

    /// An answer that is not streamed. `serial` makes its ids unique.
    pub(super) fn whole(self, model: &str, message: &ReplyMessage, serial: u64) -> Value {
        match self {
            Self::Anthropic => anthropic::whole(model, message, serial),
            Self::Chat => chat::whole(model, message, serial),
            Self::Responses => responses::whole(model, message, serial),
            Self::Gemini => gemini::whole(model, message, serial),
        }
    }

    /// A writer of a streamed answer. Without `is_sse`, Gemini streams a JSON array.
    pub(super) fn writer(self, model: &str, serial: u64, is_sse: bool) -> Box<dyn Writer> {
        match self {
            Self::Anthropic => Box::new(anthropic::MessageBlocks::new(model, serial)),
            Self::Chat => Box::new(chat::ChatChunks::new(model, serial)),
            Self::Responses => Box::new(responses::ResponseItems::new(model, serial)),
            Self::Gemini => Box::new(gemini::GeminiChunks::new(model, serial, is_sse)),
        }
    }

    /// The body of an HTTP error.
    pub(super) fn error(self, status: u16, text: &str) -> Value {
        match self {
            Self::Anthropic => anthropic::error(status, text),
            Self::Chat | Self::Responses => {
                let kind = match status {
                    429 => "rate_limit_exceeded",
                    500.. => "server_error",
                    _ => "invalid_request_error",
                };
                json!({ "error": { "message": text, "type": kind, "param": null, "code": kind } })
            }
            Self::Gemini => gemini::error(status, text),
        }
    }
}

/// An event of a stream, without a name.
fn data(value: &Value) -> String {
    format!("data: {value}\n\n")
}

/// An event of a stream that is named by its member `type`.
fn named(value: &Value) -> String {
    format!("event: {}\ndata: {value}\n\n", super::conversation::text(value, "type"))
}

/// Names under which agents look for a model. Any other is accepted too.
const NAMES: &[&str] = &[
    "gpt-4.1", "gpt-5", "claude-sonnet-4-5", "claude-haiku-4-5", "claude-opus-4-5", "gemini-2.5-pro",
    "gemini-2.5-flash",
];

impl Api {
    /// The list of models.
    pub(in crate::model) fn models(self) -> Value {
        let models: Vec<Value> = NAMES.iter().map(|name| self.model(name)).collect();
        if self == Self::Gemini {
            return json!({ "models": models });
        }
        // OpenAI and Anthropic have the same path: each ignores the other's members.
        json!({
            "object": "list", "data": models, "has_more": false, "first_id": NAMES.first(), "last_id": NAMES.last(),
        })
    }

    /// One model.
    pub(in crate::model) fn model(self, name: &str) -> Value {
        if self == Self::Gemini {
            return json!({
                "name": format!("models/{name}"), "version": "1", "displayName": name, "inputTokenLimit": 1_000_000,
                "outputTokenLimit": 65_536, "supportedGenerationMethods": ["generateContent", "countTokens"],
            });
        }
        json!({
            "id": name, "object": "model", "created": 1_767_225_600, "owned_by": "acp-registry",
            "type": "model", "display_name": name, "created_at": "2026-01-01T00:00:00Z",
        })
    }

    /// The number of tokens of a request of `size` bytes.
    pub(in crate::model) fn count(self, size: usize) -> Value {
        let tokens = size / 4 + 1;
        match self {
            Self::Gemini => json!({ "totalTokens": tokens }),
            Self::Responses => json!({ "object": "response.input_tokens", "input_tokens": tokens }),
            Self::Anthropic | Self::Chat => json!({ "input_tokens": tokens }),
        }
    }
}
