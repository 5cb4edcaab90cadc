//! Reads the parameters of a call.

use acp_registry::install::Kind;
use acp_registry::text::{quote, suggestions};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// The most agents that a call names.
const AGENTS: usize = 1000;

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

    /// A parameter of another type than `name` has in every method.
    fn of_type(name: &str) -> Self {
        let wanted = match name {
            "agent" => "an id, or ID@VERSION",
            "agents" => "a list of ids, or of ID@VERSION",
            "dist" => return Self::new(name, &format!("is not one of {}", Kind::ALL.map(Kind::as_str).join(", "))),
            "lock" | "method" | "query" => "a string",
            "min_age_seconds" => "a number of seconds from 0 to ten years",
            "timeout_seconds" => "a number of seconds above 0 and below ten years",
            _ => "true or false",
        };
        Self::new(name, &format!("is not {wanted}"))
    }

    /// A name that is not among the known ones.
    fn unknown(name: &str, known: &[&str]) -> Self {
        let near = suggestions(name, known.iter().copied()).into_iter().map(ToOwned::to_owned).collect();
        let named: Vec<String> = known.iter().map(|known| quote(known)).collect();
        let help = if named.is_empty() { "it has none".to_owned() } else { format!("it has {}", named.join(", ")) };
        Self { suggestions: near, help: Some(help), ..Self::new(name, "is not a parameter of this method") }
    }
}

/// Takes a parameter that is true or false out of the parameters.
pub(crate) fn take_flag(params: &mut Map<String, Value>, name: &str) -> Result<bool, Wrong> {
    match params.remove(name) {
        None | Some(Value::Null) => Ok(false),
        Some(value) => value.as_bool().ok_or_else(|| Wrong::of_type(name)),
    }
}

/// Reads parameters as a request. Null stands for a missing one. `more` is a parameter that was taken before.
pub(crate) fn read<T: DeserializeOwned>(mut params: Map<String, Value>, more: Option<&str>) -> Result<T, Wrong> {
    params.retain(|_, value| !value.is_null());
    if params.get("agents").and_then(Value::as_array).is_some_and(|agents| agents.len() > AGENTS) {
        return Err(Wrong::of_type("agents"));
    }
    let parse = |params: Map<String, Value>| T::deserialize(Value::Object(params)).map_err(|error| error.to_string());
    let message = match parse(params.clone()) {
        Ok(request) => return Ok(request),
        Err(message) => message,
    };
    // The words of serde's derived types, which have no other form.
    let mut named = message.split('`').skip(1).step_by(2);
    if message.starts_with("missing field") {
        return Err(missing(named.next().unwrap_or_default()));
    }
    if message.starts_with("unknown field") {
        let name = named.next().unwrap_or_default();
        return Err(Wrong::unknown(name, &named.chain(more).collect::<Vec<_>>()));
    }
    let is_wrong = |(name, value): &(String, Value)| {
        let alone = parse(Map::from_iter([(name.clone(), value.clone())]));
        alone.is_err_and(|message| !message.starts_with("missing field"))
    };
    let wrong = params.into_iter().find(is_wrong).map(|(name, _)| name);
    Err(Wrong::of_type(&wrong.unwrap_or_default()))
}

/// The error for a parameter that must be there.
pub(crate) fn missing(name: &str) -> Wrong {
    Wrong::new(name, "is missing")
}

/// The error for a parameter that another one excludes.
pub(crate) fn conflict(name: &str, other: &str) -> Wrong {
    Wrong::new(name, &format!("cannot be combined with {}", quote(other)))
}
