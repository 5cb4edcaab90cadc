//! What the model answers in a turn.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The answers of the model in one turn of an agent, one for each request with which the agent continues the turn.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Script {
    pub(super) steps: Vec<Step>,
    pub(super) is_repeating: bool,
}

impl Script {
    /// A script with these steps. Requests after the last one are answered with a short text that ends the turn.
    pub fn new(steps: Vec<Step>) -> Self {
        Self { steps, is_repeating: false }
    }

    /// A script in which the model calls a tool, and then ends the turn with a text.
    pub fn calling(call: ToolCall, then: &str) -> Self {
        Self::new(vec![Step::Call(vec![call]), Step::say(then)])
    }

    /// A script whose last step is the answer to all further requests too, because an agent may continue by itself
    /// what the model did not finish.
    pub fn repeating(steps: Vec<Step>) -> Self {
        Self { steps, is_repeating: true }
    }

    /// The step for a request that follows `turns` turns of the model. `is_repeated` tells whether an earlier request
    /// of the script was there already.
    pub(super) fn step(&self, turns: usize, is_repeated: bool) -> Option<&Step> {
        let last = self.steps.last().filter(|_| self.is_repeating);
        match self.steps.get(turns).or(last)? {
            Step::First(first, then) => Some(if is_repeated { then } else { first }),
            step => Some(step),
        }
    }
}

/// One answer of the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Step {
    /// A text in chunks, with a pause after each, which ends the turn.
    Say {
        /// The chunks. An answer that is not streamed has the whole text.
        chunks: Vec<String>,
        /// The pause.
        pause: Duration,
    },
    /// A text that goes on until the client closes the connection, or for a minute.
    Stall,
    /// A text that goes on line by line until [`Play::release`](super::Play::release). An answer that is not streamed has
    /// one line.
    Hold,
    /// Tool calls, all in one answer. Those that the agent does not offer are left out.
    Call(Vec<ToolCall>),
    /// An HTTP error with this status.
    Fail(u16),
    /// A refusal, in the form of the API.
    Refuse,
    /// A text that ends at the token limit.
    CutOff(String),
    /// A text after which the connection closes in the middle of the answer.
    Break(String),
    /// One step for the first request, and another one if the agent repeats the request.
    First(Box<Self>, Box<Self>),
}

impl Step {
    /// A text in one chunk.
    pub fn say(text: impl Into<String>) -> Self {
        Self::Say { chunks: vec![text.into()], pause: Duration::ZERO }
    }

    /// A step that fails once, after which an agent that repeats its request gets a text.
    #[must_use]
    pub fn once(self, then: impl Into<String>) -> Self {
        Self::First(Box::new(self), Box::new(Self::say(then)))
    }
}

/// A tool call, independent of what the agent calls the tool and its parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ToolCall {
    /// Runs a command in a shell.
    Shell {
        /// The command, in POSIX syntax.
        command: String,
    },
    /// Reads a file.
    Read {
        /// Its absolute path.
        path: String,
    },
    /// Writes a file.
    Write {
        /// Its absolute path.
        path: String,
        /// Its current text, for tools that replace a part of a file; `None` if there is no such file.
        before: Option<String>,
        /// Its new text.
        text: String,
    },
    /// Asks the person.
    Ask {
        /// The question, for tools that take a text.
        question: String,
    },
    /// Calls a tool by its name, which agents extend by that of its server.
    Named {
        /// A part of the name, compared without regard to case and punctuation.
        name: String,
        /// The arguments.
        arguments: Value,
    },
}

impl ToolCall {
    /// What the tool does, for the reason why a check could not run.
    pub(super) fn describe(&self) -> String {
        match self {
            Self::Shell { .. } => "a tool that runs a command".to_owned(),
            Self::Read { .. } => "a tool that reads a file".to_owned(),
            Self::Write { .. } => "a tool that writes a file".to_owned(),
            Self::Ask { .. } => "a tool that asks the person".to_owned(),
            Self::Named { name, .. } => format!("the tool {}", acp_registry_plan::text::quote(name)),
        }
    }
}
