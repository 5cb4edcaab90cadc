//! Reads the parameters of a call.

use std::time::Duration;

use acp_registry::install::Kind;
use acp_registry::session::AgentSpec;
use acp_registry::text::{quote, suggestions};
use serde_json::{Map, Value};

/// The most agents that a call names.
const AGENTS: usize = 1000;

/// The longest time, in seconds.
const LONGEST: f64 = 10.0 * 365.0 * 86_400.0;

/// The parameters that were not read yet.
pub(crate) struct Params {
    members: Map<String, Value>,
    known: Vec<&'static str>,
}

/// A parameter that is missing, unknown or wrong.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Wrong {
    pub(crate) parameter: String,
    pub(crate) message: String,
    /// The names that an unknown one could have meant, the nearest first.
    pub(crate) suggestions: Vec<String>,
    pub(crate) help: Option<String>,
}

impl Wrong {
    fn new(parameter: &str, what: &str) -> Self {
        let message = format!("{} {what}", quote(parameter));
        Self { parameter: parameter.to_owned(), message, suggestions: Vec::new(), help: None }
    }
}

impl Params {
    pub(crate) fn new(members: Map<String, Value>) -> Self {
        Self { members, known: Vec::new() }
    }

    /// Reads a parameter. Null stands for a missing one.
    fn take<T>(
        &mut self,
        name: &'static str,
        wanted: &str,
        read: impl FnOnce(Value) -> Option<T>,
    ) -> Result<Option<T>, Wrong> {
        self.known.push(name);
        match self.members.remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => read(value).map(Some).ok_or_else(|| Wrong::new(name, &format!("is not {wanted}"))),
        }
    }

    pub(crate) fn flag(&mut self, name: &'static str) -> Result<bool, Wrong> {
        Ok(self.take(name, "true or false", |value| value.as_bool())?.unwrap_or_default())
    }

    pub(crate) fn text(&mut self, name: &'static str) -> Result<Option<String>, Wrong> {
        self.take(name, "a string", text)
    }

    /// A limit of time, given in seconds.
    pub(crate) fn seconds(&mut self, name: &'static str) -> Result<Option<Duration>, Wrong> {
        self.take(name, "a number of seconds above 0 and below ten years", |value| {
            duration(&value).filter(|limit| !limit.is_zero())
        })
    }

    /// An age, given in seconds.
    pub(crate) fn age(&mut self, name: &'static str) -> Result<Option<Duration>, Wrong> {
        self.take(name, "a number of seconds from 0 to ten years", |value| duration(&value))
    }

    /// The kind of distribution.
    pub(crate) fn kind(&mut self) -> Result<Option<Kind>, Wrong> {
        let wanted = Kind::ALL.map(Kind::as_str).join(", ");
        self.take("dist", &format!("one of {wanted}"), |value| Kind::named(value.as_str()?))
    }

    /// The agent that the call is about.
    pub(crate) fn agent(&mut self) -> Result<AgentSpec, Wrong> {
        let agent = self.take("agent", "an id, or ID@VERSION", named)?;
        agent.ok_or_else(|| missing("agent"))
    }

    /// The agents that the call is about. None is named if there is no such parameter.
    pub(crate) fn agents(&mut self) -> Result<Vec<AgentSpec>, Wrong> {
        let agents = self.take("agents", "a list of ids, or of ID@VERSION", |value| match value {
            Value::Array(items) if items.len() <= AGENTS => items.into_iter().map(named).collect(),
            _ => None,
        })?;
        Ok(agents.unwrap_or_default())
    }

    /// Refuses the parameters that were not read.
    pub(crate) fn end(self) -> Result<(), Wrong> {
        let Some(name) = self.members.keys().next() else { return Ok(()) };
        let near = suggestions(name, self.known.iter().copied()).into_iter().map(ToOwned::to_owned).collect();
        let known: Vec<String> = self.known.iter().map(|known| quote(known)).collect();
        let help = if known.is_empty() { "it has none".to_owned() } else { format!("it has {}", known.join(", ")) };
        let what = "is not a parameter of this method";
        Err(Wrong { suggestions: near, help: Some(help), ..Wrong::new(name, what) })
    }
}

fn duration(value: &Value) -> Option<Duration> {
    let seconds = value.as_f64().filter(|seconds| *seconds < LONGEST)?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// The error for a parameter that must be there.
pub(crate) fn missing(name: &str) -> Wrong {
    Wrong::new(name, "is missing")
}

/// The error for a parameter that another one excludes.
pub(crate) fn conflict(name: &str, other: &str) -> Wrong {
    Wrong::new(name, &format!("cannot be combined with {}", quote(other)))
}

fn text(value: Value) -> Option<String> {
    if let Value::String(text) = value { Some(text) } else { None }
}

fn named(value: Value) -> Option<AgentSpec> {
    text(value)?.parse().ok()
}
