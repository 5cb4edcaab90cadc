//! Reads the parameters of a call.

use acp_registry::install::Kind;
use acp_registry::provenance::Require;
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
    fn mistyped(name: &str) -> Self {
        let wanted = match name {
            "agent" => "an id, or ID@VERSION",
            "agents" => "a list of ids, or of ID@VERSION",
            "dist" => return Self::new(name, &format!("is not one of {}", Kind::ALL.map(Kind::as_str).join(", "))),
            "lock" | "method" | "query" => "a string",
            "require" => {
                return Self::new(name, &format!("is not one of {}", Require::ALL.map(Require::as_str).join(", ")));
            }
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
        Some(value) => value.as_bool().ok_or_else(|| Wrong::mistyped(name)),
    }
}

/// Reads parameters as a request. Null stands for a missing one. `more` is a parameter that was taken before.
pub(crate) fn read<T: DeserializeOwned>(mut params: Map<String, Value>, more: Option<&str>) -> Result<T, Wrong> {
    params.retain(|_, value| !value.is_null());
    if params.get("agents").and_then(Value::as_array).is_some_and(|agents| agents.len() > AGENTS) {
        return Err(Wrong::mistyped("agents"));
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
    Err(Wrong::mistyped(&wrong.unwrap_or_default()))
}

/// The error for a parameter that must be there.
pub(crate) fn missing(name: &str) -> Wrong {
    Wrong::new(name, "is missing")
}

/// The error for a parameter that another one excludes.
pub(crate) fn conflict(name: &str, other: &str) -> Wrong {
    Wrong::new(name, &format!("cannot be combined with {}", quote(other)))
}

#[cfg(test)]
mod tests {
    use acp_registry::ops::{Install, Resolve, SignOut, Update};
    use serde_json::json;

    use super::*;

    fn params(value: Value) -> Map<String, Value> {
        if let Value::Object(members) = value { members } else { Map::new() }
    }

    fn wrong<T: DeserializeOwned + std::fmt::Debug>(value: Value) -> (String, String, Option<String>) {
        let Wrong { parameter, message, help, .. } = read::<T>(params(value), Some("refresh")).unwrap_err();
        (parameter, message, help)
    }

    #[test]
    fn a_parameter_that_is_wrong_is_named_with_what_it_should_be() {
        let many = json!({ "agents": vec!["a"; AGENTS + 1] });
        let list = "`agents` is not a list of ids, or of ID@VERSION";
        for (found, parameter, message) in [
            (wrong::<Install>(json!({ "agents": "a" })), "agents", list),
            (wrong::<Install>(json!({ "agents": [7], "dry_run": true })), "agents", list),
            (wrong::<Install>(many), "agents", list),
            (wrong::<Install>(json!({ "agents": ["a"], "dry_run": 1 })), "dry_run", "`dry_run` is not true or false"),
            (wrong::<Install>(json!({ "dist": "exe" })), "dist", "`dist` is not one of npx, uvx, binary"),
            (wrong::<Resolve>(json!({ "agent": "a@" })), "agent", "`agent` is not an id, or ID@VERSION"),
            (wrong::<Resolve>(json!({ "agent": null })), "agent", "`agent` is missing"),
            (
                wrong::<SignOut>(json!({ "agent": "a", "timeout_seconds": 0 })),
                "timeout_seconds",
                "`timeout_seconds` is not a number of seconds above 0 and below ten years",
            ),
            (
                wrong::<Update>(json!({ "min_age_seconds": -1 })),
                "min_age_seconds",
                "`min_age_seconds` is not a number of seconds from 0 to ten years",
            ),
        ] {
            assert_eq!(found, (parameter.to_owned(), message.to_owned(), None));
        }
        let (parameter, message, help) = wrong::<Resolve>(json!({ "agnt": "a" }));
        assert_eq!((parameter.as_str(), message.as_str()), ("agnt", "`agnt` is not a parameter of this method"));
        assert_eq!(help.as_deref(), Some("it has `agent`, `dist`, `refresh`"));
    }

    #[test]
    fn null_stands_for_a_missing_parameter() {
        let request: Update = read(params(json!({ "agents": null, "min_age_seconds": 0.5 })), None).unwrap();
        assert_eq!((request.agents.len(), request.min_age), (0, Some(std::time::Duration::from_millis(500))));
        let mut members = params(json!({ "refresh": true, "agent": "a" }));
        assert_eq!(take_flag(&mut members, "refresh"), Ok(true));
        assert_eq!(take_flag(&mut members, "refresh"), Ok(false));
        assert!(take_flag(&mut params(json!({ "refresh": "yes" })), "refresh").is_err());
    }
}
