//! How to carry out an authentication method, by type.

use serde::Serialize;
use serde_json::{Map, Value};
use url::Url;

use super::auth::{AuthMethod, TypeSource};
use super::warnings::kind;
use acp_registry_plan::manifest::env_name;
use acp_registry_plan::text::quote;

/// Maximum number of arguments or variables of a method.
const ITEMS: usize = 64;

/// Maximum length of an argument or variable, in bytes.
const LENGTH: usize = 4096;

/// How to carry out a method.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Way {
    /// The agent carries it out itself when requested to.
    Agent,
    /// The agent's program carries it out, in a terminal.
    Terminal(TerminalWay),
    /// The user sets environment variables.
    Variables {
        /// The variables.
        variables: Vec<Variable>,
        /// Names of optional variables that users must not set, since they belong to the system or another program.
        left_out: Vec<String>,
        /// An https URL, without credentials, where users obtain the values.
        link: Option<Url>,
    },
}

/// How to start the agent's program in a terminal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TerminalWay {
    /// The program named in `_meta`, for agents that describe the method only there. Never started as named.
    pub command: Option<String>,
    /// Arguments, appended to the usual ones or, with `command`, replacing them.
    pub args: Vec<String>,
    /// Additional environment variables. None of them belongs to the system or another program.
    pub env: Vec<(String, String)>,
}

/// An environment variable that the user sets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Variable {
    /// The name: letters, digits and underscores.
    pub name: String,
    /// A label for people. Not escaped: escape it before printing.
    pub label: Option<String>,
    /// Whether the value is secret.
    #[serde(rename = "secret")]
    pub is_secret: bool,
    /// Whether it is optional.
    #[serde(rename = "optional")]
    pub is_optional: bool,
}

/// Why a method cannot be carried out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WayError {
    /// The type is unknown.
    #[error("the method {} is of the type {}, which no client is known to carry out", quote(id), quote(kind))]
    UnknownType {
        /// The method's id.
        id: String,
        /// The type.
        kind: String,
    },
    /// The method violates the protocol, or requests something that is not allowed.
    #[error("the method {} {problem}", quote(id))]
    Refused {
        /// The method's id.
        id: String,
        /// What is wrong, worded to follow the id.
        problem: String,
    },
}

impl AuthMethod {
    /// How to carry out the method.
    ///
    /// # Errors
    /// Returns [`WayError`] for an unknown type, for malformed or too large members, and for variables that belong to
    /// the system.
    pub fn way(&self) -> Result<Way, WayError> {
        let refused = |problem| WayError::Refused { id: self.id.clone(), problem };
        match self.kind.as_str() {
            "agent" => Ok(Way::Agent),
            "terminal" => terminal(self).map(Way::Terminal).map_err(refused),
            "env_var" => {
                let (variables, left_out) = variables(&self.members).map_err(refused)?;
                Ok(Way::Variables { variables, left_out, link: self.members.get("link").and_then(link) })
            }
            kind => Err(WayError::UnknownType { id: self.id.clone(), kind: kind.to_owned() }),
        }
    }

    /// The agent's description of the method. Not escaped: escape it before printing.
    #[must_use]
    pub fn description(&self) -> Option<&str> {
        self.members.get("description")?.as_str()
    }
}

fn terminal(method: &AuthMethod) -> Result<TerminalWay, String> {
    let meta = method.members.get("_meta").and_then(Value::as_object);
    let hint = meta.and_then(|meta| meta.get("terminal-auth")).and_then(Value::as_object);
    let (members, command) = match (method.source, hint) {
        (TypeSource::Meta, Some(hint)) => (hint, hint.get("command")),
        (TypeSource::Meta, None) if !method.members.contains_key("args") => (meta.unwrap_or(&method.members), None),
        _ => (&method.members, None),
    };
    let command = command.map(|command| text(command).map_err(|problem| format!("has a `command` that {problem}")));
    let args = items(members.get("args"), "args")?;
    let args = args.iter().map(|arg| text(arg).map_err(|problem| format!("has an argument that {problem}")));
    let args = args.collect::<Result<_, _>>()?;
    Ok(TerminalWay { command: command.transpose()?, args, env: env(members)? })
}

fn env(members: &Map<String, Value>) -> Result<Vec<(String, String)>, String> {
    let items = match members.get("env") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Object(items)) if items.len() <= ITEMS => items,
        Some(Value::Object(_)) => return Err(format!("has more than {ITEMS} members in `env`")),
        Some(value) => return Err(format!("has `env` that is {}, not an object", kind(value))),
    };
    let checked = items.iter().map(|(name, value)| {
        if let Some(problem) = env_name::problem(name) {
            return Err(format!("sets the environment variable {}, which {problem}", quote(name)));
        }
        let value = text(value).map_err(|problem| format!("sets {} to a value that {problem}", quote(name)))?;
        Ok((name.clone(), value))
    });
    checked.collect()
}

/// The variables that a user should set, and the names of optional ones that users must not set.
fn variables(members: &Map<String, Value>) -> Result<(Vec<Variable>, Vec<String>), String> {
    let items = items(members.get("vars"), "vars")?;
    if items.is_empty() {
        return Err("names no variables in `vars`".to_owned());
    }
    let (mut variables, mut left_out) = (Vec::new(), Vec::new());
    for item in items {
        let name = item.get("name").and_then(Value::as_str).ok_or("has a variable without `name`")?;
        if name.len() > LENGTH || !env_name::is_portable(name) {
            return Err(format!("names the variable {}, which is not a name of an environment variable", quote(name)));
        }
        let flag = |key: &str, usual: bool| item.get(key).and_then(Value::as_bool).unwrap_or(usual);
        let is_optional = flag("optional", false);
        match env_name::problem_for_person(name) {
            Some(_) if is_optional => left_out.push(name.to_owned()),
            Some(problem) => {
                return Err(format!("wants the environment variable {} set, which {problem}", quote(name)));
            }
            None => variables.push(Variable {
                name: name.to_owned(),
                label: item.get("label").and_then(Value::as_str).map(ToOwned::to_owned),
                is_secret: flag("secret", true),
                is_optional,
            }),
        }
    }
    Ok((variables, left_out))
}

fn items<'a>(value: Option<&'a Value>, name: &str) -> Result<&'a [Value], String> {
    match value {
        None | Some(Value::Null) => Ok(&[]),
        Some(Value::Array(items)) if items.len() <= ITEMS => Ok(items),
        Some(Value::Array(_)) => Err(format!("has more than {ITEMS} items in `{name}`")),
        Some(value) => Err(format!("has `{name}` that is {}, not an array", kind(value))),
    }
}

fn text(value: &Value) -> Result<String, String> {
    match value {
        Value::String(text) if text.contains('\0') => Err("has a NUL in it".to_owned()),
        Value::String(text) if text.len() > LENGTH => Err(format!("is longer than {LENGTH} bytes")),
        Value::String(text) => Ok(text.clone()),
        value => Err(format!("is {}, not a string", kind(value))),
    }
}

/// Parses a URL that may be shown to users.
fn link(value: &Value) -> Option<Url> {
    let url = Url::parse(value.as_str().filter(|text| text.len() <= LENGTH)?).ok()?;
    let is_plain = url.username().is_empty() && url.password().is_none();
    (url.scheme() == "https" && is_plain).then_some(url)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn way(extra: &Value) -> Result<Way, String> {
        let mut method = json!({ "id": "a", "name": "A" });
        method.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        let methods = super::super::auth::read(Some(&json!([method])), 1, &mut Vec::new()).unwrap();
        methods[0].way().map_err(|error| error.to_string())
    }

    fn by_terminal(command: Option<&str>, args: &[&str], env: &[(&str, &str)]) -> Way {
        Way::Terminal(TerminalWay {
            command: command.map(ToOwned::to_owned),
            args: args.iter().map(|arg| (*arg).to_owned()).collect(),
            env: env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        })
    }

    #[test]
    fn each_type_has_its_way() {
        let hint = json!({ "command": "/x/other", "args": ["login"], "env": { "EXAMPLE": "2" }, "label": "L" });
        for (method, expected) in [
            (json!({}), Way::Agent),
            (json!({ "type": "terminal" }), by_terminal(None, &[], &[])),
            (
                json!({ "type": "terminal", "args": ["--setup"], "env": { "EXAMPLE": "1" } }),
                by_terminal(None, &["--setup"], &[("EXAMPLE", "1")]),
            ),
            // Members of the protocol take precedence over older hints in `_meta`.
            (
                json!({ "type": "terminal", "args": ["--setup"], "_meta": { "terminal-auth": hint } }),
                by_terminal(None, &["--setup"], &[]),
            ),
            (
                json!({ "args": ["no"], "_meta": { "terminal-auth": hint } }),
                by_terminal(Some("/x/other"), &["login"], &[("EXAMPLE", "2")]),
            ),
            (json!({ "_meta": { "type": "terminal", "args": ["x"] } }), by_terminal(None, &["x"], &[])),
            (json!({ "args": ["y"], "_meta": { "type": "terminal", "args": ["x"] } }), by_terminal(None, &["y"], &[])),
        ] {
            assert_eq!(way(&method).unwrap(), expected, "{method}");
        }
    }

    #[test]
    fn variables_are_secret_and_wanted_unless_they_say_otherwise() {
        let vars = json!([{ "name": "KEY", "label": "Key" }, { "name": "REGION", "secret": false, "optional": true }]);
        let shown = way(&json!({ "type": "env_var", "vars": vars, "link": "https://h.example/keys" })).unwrap();
        let Way::Variables { variables, left_out, link } = shown else { panic!("{shown:?}") };
        assert_eq!(left_out, [] as [&str; 0]);
        assert_eq!(
            serde_json::to_value(&variables).unwrap(),
            json!([{ "name": "KEY", "label": "Key", "secret": true, "optional": false },
                   { "name": "REGION", "label": null, "secret": false, "optional": true }])
        );
        assert_eq!(link.unwrap().as_str(), "https://h.example/keys");
        for link in ["http://h.example", "javascript:alert(1)", "https://me:secret@h.example", "file:///etc", "x"] {
            let shown = way(&json!({ "type": "env_var", "vars": vars, "link": link })).unwrap();
            assert!(matches!(shown, Way::Variables { link: None, .. }), "{link}");
        }
    }

    #[test]
    fn no_method_may_set_what_belongs_to_others() {
        let vars = json!([{ "name": "AZURE_OPENAI_API_KEY" }, { "name": "https_proxy", "optional": true }]);
        let shown = way(&json!({ "type": "env_var", "vars": vars })).unwrap();
        let Way::Variables { variables, left_out, .. } = shown else { panic!("{shown:?}") };
        let names: Vec<&str> = variables.iter().map(|variable| variable.name.as_str()).collect();
        assert_eq!((names.as_slice(), left_out.join(" ").as_str()), (&["AZURE_OPENAI_API_KEY"][..], "https_proxy"));
        for name in ["LD_PRELOAD", "PATH", "node_options", "PYTHONPATH", "ACP_REGISTRY_INDEX"] {
            let vars = json!([{ "name": "KEY" }, { "name": name }]);
            let error = way(&json!({ "type": "env_var", "vars": vars })).unwrap_err();
            let part = format!("wants the environment variable `{name}` set, which belongs to the system");
            assert!(error.starts_with("the method `a` ") && error.contains(&part), "{error}");
        }
    }

    #[test]
    fn what_is_malformed_or_meant_badly_is_refused() {
        let many = vec![json!("x"); ITEMS + 1];
        for (method, part) in [
            (json!({ "type": "quantum" }), "is of the type `quantum`"),
            (json!({ "type": "terminal", "args": "x" }), "has `args` that is a string, not an array"),
            (json!({ "type": "terminal", "args": [1] }), "has an argument that is a number, not a string"),
            (json!({ "type": "terminal", "args": ["a\0b"] }), "has a NUL in it"),
            (json!({ "type": "terminal", "args": ["x".repeat(5000)] }), "is longer than 4096 bytes"),
            (json!({ "type": "terminal", "args": many }), "has more than 64 items in `args`"),
            (json!({ "type": "terminal", "env": [] }), "has `env` that is an array, not an object"),
            (json!({ "type": "terminal", "env": { "A": 1 } }), "sets `A` to a value that is a number"),
            (
                json!({ "type": "terminal", "env": { "LD_PRELOAD": "/x" } }),
                "sets the environment variable `LD_PRELOAD`",
            ),
            (json!({ "_meta": { "terminal-auth": { "command": 7 } } }), "has a `command` that is a number"),
            (json!({ "_meta": { "terminal-auth": { "env": { "PATH": "/x" } } } }), "which belongs to the system"),
            (json!({ "type": "env_var" }), "names no variables in `vars`"),
            (json!({ "type": "env_var", "vars": [{}] }), "has a variable without `name`"),
            (json!({ "type": "env_var", "vars": [{ "name": "A\u{1b}" }] }), "`A\\u{1b}`, which is not a name"),
        ] {
            let error = way(&method).unwrap_err();
            assert!(error.starts_with("the method `a` ") && error.contains(part), "{error}");
        }
    }
}
