//! Lists of models, and token counts.

use serde_json::{Value, json};

use super::Api;

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
