//! Authentication methods, and the registry's requirement for at least one interactive method.

use std::collections::HashSet;

use serde::Serialize;
use serde_json::{Map, Value};

use super::verdict::{FailReason, HandshakeFailure};
use super::warnings::kind;
use acp_registry_plan::text::quote;

/// An authentication method.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AuthMethod {
    /// The agent's id for it.
    pub id: String,
    /// The name for users.
    pub name: String,
    /// `agent`, `terminal`, `env_var`, or another value of the agent.
    #[serde(rename = "type")]
    pub kind: String,
    /// Where the type was found.
    #[serde(rename = "type_source")]
    pub source: TypeSource,
    /// All members, as received.
    #[serde(skip)]
    pub members: Map<String, Value>,
}

/// Where the type of an authentication method was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TypeSource {
    /// In `type`.
    Type,
    /// In a hint in `_meta`.
    Meta,
    /// Nowhere; the default is `agent`.
    Default,
}

impl AuthMethod {
    /// Whether a user can sign in with it interactively, with only a client.
    #[must_use]
    pub fn is_interactive(&self) -> bool {
        ["agent", "terminal"].contains(&self.kind.as_str())
    }
}

/// Reads `authMethods`. The error is worded to follow "the response".
pub(super) fn read(value: Option<&Value>, version: i64, warnings: &mut Vec<String>) -> Result<Vec<AuthMethod>, String> {
    let Some(value) = value else { return Ok(Vec::new()) };
    let Value::Array(items) = value else {
        return Err(format!("has `authMethods` that is {}, not an array", kind(value)));
    };
    let mut methods = Vec::with_capacity(items.len());
    for (at, item) in items.iter().enumerate() {
        methods.push(method(item, version).map_err(|problem| format!("has `authMethods[{at}]` {problem}"))?);
    }
    if version >= 2
        && let Some(method) = methods.iter().find(|method| method.source != TypeSource::Type)
    {
        warnings.push(format!("authentication method {} has no `type`, which version 2 requires", quote(&method.id)));
    }
    let mut ids = HashSet::new();
    if let Some(twice) = methods.iter().find(|method| !ids.insert(method.id.as_str())) {
        warnings.push(format!("two authentication methods have the id {}", quote(&twice.id)));
    }
    Ok(methods)
}

fn method(item: &Value, version: i64) -> Result<AuthMethod, String> {
    let Value::Object(members) = item else { return Err(format!("that is {}, not an object", kind(item))) };
    let (id_name, other_name) = if version >= 2 { ("methodId", "id") } else { ("id", "methodId") };
    let id = text(members, id_name).map_err(|problem| {
        let hint = if members.contains_key(other_name) {
            format!(" (it has `{other_name}`, which belongs to version {})", if version >= 2 { 1 } else { 2 })
        } else {
            String::new()
        };
        format!("{problem}{hint}")
    })?;
    let name = text(members, "name")?;
    let (kind, source) = method_type(members)?;
    Ok(AuthMethod { id, name, kind, source, members: members.clone() })
}

/// Reads a required, non-empty text.
fn text(members: &Map<String, Value>, name: &str) -> Result<String, String> {
    match members.get(name) {
        Some(Value::String(text)) if !text.trim().is_empty() => Ok(text.clone()),
        Some(Value::String(_)) => Err(format!("with an empty `{name}`")),
        Some(value) => Err(format!("with `{name}` that is {}, not a string", kind(value))),
        None => Err(format!("without `{name}`")),
    }
}

fn method_type(members: &Map<String, Value>) -> Result<(String, TypeSource), String> {
    match members.get("type") {
        Some(Value::String(kind)) => return Ok((kind.clone(), TypeSource::Type)),
        None | Some(Value::Null) => {}
        Some(value) => return Err(format!("with `type` that is {}, not a string", kind(value))),
    }
    let meta = members.get("_meta");
    let hint = |name: &str| meta.and_then(|meta| meta.get(name)).filter(|hint| !hint.is_null() && **hint != false);
    Ok(if let Some(Value::String(kind)) = hint("type") {
        (kind.clone(), TypeSource::Meta)
    } else if hint("terminal-auth").is_some() {
        ("terminal".to_owned(), TypeSource::Meta)
    } else if hint("agent-auth").is_some() {
        ("agent".to_owned(), TypeSource::Meta)
    } else {
        ("agent".to_owned(), TypeSource::Default)
    })
}

/// Checks the registry's requirement: at least one method that the agent carries out itself or in a terminal.
pub(super) fn judge(methods: &[AuthMethod], has_list: bool) -> Result<(), HandshakeFailure> {
    const REMEDY: &str = "a registry requires at least one method of type `agent` (also without `type`) or `terminal`";
    if methods.is_empty() {
        let state = if has_list { "`authMethods` is empty" } else { "there are no `authMethods`" };
        return Err(HandshakeFailure::new(
            FailReason::NoAuthMethods,
            format!("the agent offers no way to sign in: {state}; {REMEDY}"),
        ));
    }
    if methods.iter().any(AuthMethod::is_interactive) {
        return Ok(());
    }
    let mut found: Vec<String> = methods.iter().map(|method| quote(&method.kind)).collect();
    found.dedup();
    found.truncate(5);
    let message =
        format!("a client alone cannot sign in: all authentication methods are of type {}; {REMEDY}", found.join(", "));
    Err(HandshakeFailure::new(FailReason::NoSupportedAuthType, message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(value: &Value) -> Result<Vec<AuthMethod>, String> {
        super::read(Some(value), 1, &mut Vec::new())
    }

    fn only(method: &Value) -> (String, TypeSource) {
        let mut methods = read(&json!([method])).unwrap();
        let method = methods.remove(0);
        (method.kind, method.source)
    }

    #[test]
    fn the_type_is_taken_from_the_first_place_that_has_one() {
        let method = |extra: Value| {
            let mut method = json!({ "id": "a", "name": "A" });
            method.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
            only(&method)
        };
        for (extra, kind, source) in [
            (json!({}), "agent", TypeSource::Default),
            (json!({ "type": null }), "agent", TypeSource::Default),
            (json!({ "type": "agent" }), "agent", TypeSource::Type),
            (json!({ "type": "env_var", "_meta": { "terminal-auth": {} } }), "env_var", TypeSource::Type),
            (json!({ "type": "quantum" }), "quantum", TypeSource::Type),
            (json!({ "_meta": { "terminal-auth": { "command": "x" } } }), "terminal", TypeSource::Meta),
            (json!({ "_meta": { "agent-auth": true } }), "agent", TypeSource::Meta),
            (json!({ "_meta": { "type": "env_var", "terminal-auth": {} } }), "env_var", TypeSource::Meta),
            (json!({ "_meta": { "terminal-auth": false } }), "agent", TypeSource::Default),
            (json!({ "_meta": 7 }), "agent", TypeSource::Default),
        ] {
            assert_eq!(method(extra.clone()), (kind.to_owned(), source), "{extra}");
        }
    }

    #[test]
    fn what_is_malformed_is_named() {
        for (value, problem) in [
            (json!(null), "has `authMethods` that is null, not an array"),
            (json!("x"), "has `authMethods` that is a string, not an array"),
            (json!([{}]), "has `authMethods[0]` without `id`"),
            (json!([{ "id": "a", "name": "A" }, { "id": "b" }]), "has `authMethods[1]` without `name`"),
            (json!([{ "id": 1, "name": "A" }]), "has `authMethods[0]` with `id` that is a number, not a string"),
            (json!([{ "id": " ", "name": "A" }]), "has `authMethods[0]` with an empty `id`"),
            (
                json!([{ "id": "a", "name": "A", "type": {} }]),
                "has `authMethods[0]` with `type` that is an object, not a string",
            ),
            (json!([["a"]]), "has `authMethods[0]` that is an array, not an object"),
            (
                json!([{ "methodId": "a", "name": "A" }]),
                "has `authMethods[0]` without `id` (it has `methodId`, which belongs to version 2)",
            ),
        ] {
            assert_eq!(read(&value).unwrap_err(), problem);
        }
    }

    #[test]
    fn version_2_has_its_own_name_for_the_id_and_wants_the_type() {
        let mut warnings = Vec::new();
        let methods = super::read(Some(&json!([{ "methodId": "a", "name": "A" }])), 2, &mut warnings).unwrap();
        assert_eq!(methods[0].id, "a");
        assert_eq!(warnings, ["authentication method `a` has no `type`, which version 2 requires"]);
        let error = super::read(Some(&json!([{ "id": "a", "name": "A" }])), 2, &mut warnings).unwrap_err();
        assert!(error.ends_with("without `methodId` (it has `id`, which belongs to version 1)"), "{error}");
    }

    #[test]
    fn many_methods_are_no_work() {
        let method = json!({ "id": "a", "name": "A" });
        let mut warnings = Vec::new();
        let methods = super::read(Some(&vec![method; 50_000].into()), 1, &mut warnings).unwrap();
        assert_eq!(
            (methods.len(), &warnings[..]),
            (50_000, &["two authentication methods have the id `a`".to_owned()][..])
        );
    }

    #[test]
    fn one_method_for_people_is_enough() {
        let methods = |kinds: &[&str]| -> Vec<AuthMethod> {
            let items: Vec<Value> = kinds.iter().map(|kind| json!({ "id": kind, "name": "A", "type": kind })).collect();
            read(&items.into()).unwrap()
        };
        assert!(judge(&methods(&["env_var", "terminal"]), true).is_ok());
        assert!(judge(&methods(&["agent"]), true).is_ok());
        let failure = judge(&methods(&["env_var", "env_var", "Terminal"]), true).unwrap_err();
        assert_eq!(failure.reason, FailReason::NoSupportedAuthType);
        assert!(failure.message.contains("of type `env_var`, `Terminal`; a registry requires"), "{}", failure.message);
        assert_eq!(judge(&[], true).unwrap_err().reason, FailReason::NoAuthMethods);
        assert!(judge(&[], false).unwrap_err().message.contains("there are no `authMethods`"));
    }
}
