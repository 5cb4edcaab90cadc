//! The embedded JSON Schemas; describes schema violations by naming the key and how to fix it.

use std::sync::LazyLock;

use acp_registry_plan::manifest::{Platform, guess_platform};
use acp_registry_plan::text::{nearest, quote};
use jsonschema::error::{TypeKind, ValidationError, ValidationErrorKind as Kind};
use jsonschema::{Draft, JsonType, Registry, Validator};
use serde_json::Value;

/// Prefix of the ids of the embedded schemas, on a reserved domain that never resolves. The build replaces it with the
/// registry's base URL.
pub const BASE: &str = "https://acp-registry.invalid/schemas/1";

/// The schema of `agent.json`.
pub const AGENT: &str = include_str!("../../../../schemas/agent.schema.json");

/// The schema of an index.
pub const REGISTRY: &str = include_str!("../../../../schemas/registry.schema.json");

/// The schema of `registry.toml`.
pub const CONFIG: &str = include_str!("../../../../schemas/registry.toml.schema.json");

/// The schema of `quarantine.json`.
pub const QUARANTINE: &str = include_str!("../../../../schemas/quarantine.schema.json");

/// The schema of `revoked.json`.
pub const REVOKED: &str = include_str!("../../../../schemas/revoked.schema.json");

static AGENT_VALUE: LazyLock<Value> = LazyLock::new(|| parse(AGENT));

#[expect(clippy::expect_used, reason = "the schema is part of the program, and a test compiles it")]
static AGENT_VALIDATOR: LazyLock<Validator> = LazyLock::new(|| options().build(&AGENT_VALUE).expect("a valid schema"));

/// Validation ignores `format`, as consumers of the public schema do; rules check URLs.
fn options<'i>() -> jsonschema::ValidationOptions<'i> {
    jsonschema::options().with_draft(Draft::Draft7).should_validate_formats(false)
}

#[expect(clippy::expect_used, reason = "the schema is part of the program, and a test parses it")]
fn parse(schema: &str) -> Value {
    serde_json::from_str(schema).expect("schemas are JSON")
}

/// One violation of the schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Violation {
    /// JSON pointer of the value that is invalid or lacks a member.
    pub(super) pointer: String,
    /// Whether the key is invalid, not the value.
    pub(super) is_key: bool,
    /// The violated schema keyword.
    pub(super) keyword: String,
    pub(super) message: String,
    pub(super) help: Option<String>,
}

/// The top-level members that the schema of `agent.json` defines.
pub(super) fn known_members() -> impl Iterator<Item = &'static str> {
    static EMPTY: LazyLock<serde_json::Map<String, Value>> = LazyLock::new(serde_json::Map::new);
    AGENT_VALUE["properties"].as_object().unwrap_or(&EMPTY).keys().map(String::as_str)
}

/// All violations of the schema of `agent.json`.
pub(super) fn violations(manifest: &Value) -> Vec<Violation> {
    if AGENT_VALIDATOR.is_valid(manifest) {
        return Vec::new();
    }
    AGENT_VALIDATOR.iter_errors(manifest).flat_map(|error| describe(&error)).collect()
}

/// Whether a value is valid against the schema of `agent.json`.
pub fn is_agent(value: &Value) -> bool {
    AGENT_VALIDATOR.is_valid(value)
}

/// All violations of the index schema, as messages; empty if the index is valid.
pub fn index_errors(index: &Value) -> Vec<String> {
    let schema = parse(REGISTRY);
    let agent = &*AGENT_VALUE;
    let compiled = (|| {
        let known = Registry::new().add(agent["$id"].as_str().unwrap_or_default(), agent.clone())?.prepare()?;
        Ok::<_, Box<dyn std::error::Error>>(
            options()
                .with_registry(&known)
                .build(&schema)?
                .iter_errors(index)
                .map(|error| format!("{}: {error}", error.instance_path()))
                .collect::<Vec<_>>(),
        )
    })();
    compiled.unwrap_or_else(|error| vec![error.to_string()])
}

fn describe(error: &ValidationError<'_>) -> Vec<Violation> {
    let place = error.instance_path().as_str().to_owned();
    let keyword = error.kind().keyword().to_owned();
    let name = member_name(&place);
    let about_key = |key: &str, message: String, near: Option<&str>, known: &str| {
        let pointer = format!("{place}/{}", acp_registry_plan::manifest::escape_segment(key));
        let help = Some(near.map_or_else(|| known.to_owned(), |near| format!("did you mean `{near}`?")));
        Violation { pointer, is_key: true, keyword: keyword.clone(), message, help }
    };
    let (message, help) = match error.kind() {
        Kind::AdditionalProperties { unexpected } => {
            let known = around(error)["properties"].as_object();
            let known: Vec<&str> = known.into_iter().flat_map(|known| known.keys()).map(String::as_str).collect();
            let described = unexpected.iter().map(|key| {
                let message = format!("{name} has no member {}", quote(key));
                let near = nearest(key, known.iter().copied());
                about_key(key, message, near, &format!("known members: {}", known.join(", ")))
            });
            return described.collect();
        }
        Kind::PropertyNames { error: inner } => {
            let key = inner.instance().as_str().unwrap_or_default();
            let known: Vec<&str> = match inner.kind() {
                Kind::Enum { options } => options.as_array().into_iter().flatten().filter_map(Value::as_str).collect(),
                _ => Vec::new(),
            };
            let near = guess_platform(key).map(Platform::as_str).or_else(|| nearest(key, known.iter().copied()));
            let message = format!("{} is not a platform", quote(key));
            return vec![about_key(key, message, near, &format!("one of {}", known.join(", ")))];
        }
        Kind::Required { property } => {
            let key = property.as_str().unwrap_or_default();
            (format!("{name} lacks the required member `{key}`"), Some(format!("add `{key}`")))
        }
        Kind::Type { .. } => {
            let (expected, help) = type_remedy(error);
            (format!("{name} must be {expected}"), Some(help))
        }
        Kind::MinLength { .. } => (format!("{name} is empty"), Some("write a text between the quotes".to_owned())),
        Kind::MaxLength { limit } => {
            (format!("{name} is longer than {limit} characters"), Some("write a shorter text".to_owned()))
        }
        Kind::MinProperties { .. } => (format!("{name} is empty"), Some("name at least one".to_owned())),
        Kind::Pattern { pattern } => {
            let value = quote(error.instance().as_str().unwrap_or_default());
            let (what, help) = expected_form(&place, pattern);
            (format!("{value} is not {what}"), Some(help))
        }
        _ => (error.to_string(), None),
    };
    vec![Violation { pointer: place, is_key: false, keyword, message, help }]
}

/// The key of a value, quoted; for an array item, the array's key with the item's position.
fn member_name(pointer: &str) -> String {
    let is_index = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let (rest, last) = pointer.rsplit_once('/').unwrap_or_default();
    let key = |part: &str| part.replace("~1", "/").replace("~0", "~");
    match rest.rsplit('/').next().filter(|list| !list.is_empty() && is_index(last)) {
        Some(of) => quote(&format!("{}[{last}]", key(of))),
        None if last.is_empty() => "the manifest".to_owned(),
        None => quote(&key(last)),
    }
}

fn expected_form(place: &str, pattern: &str) -> (&'static str, String) {
    match place.rsplit('/').next() {
        Some("id") => ("a valid id", "use lower-case letters, digits and hyphens, and begin with a letter".to_owned()),
        Some("command") => (
            "the name of a command",
            "use letters, digits, `.`, `_` and `-`, and do not begin with `.` or `-`".to_owned(),
        ),
        Some("exclude_newer") => ("a day", "write it as YYYY-MM-DD".to_owned()),
        Some("sha256") => ("a SHA-256 digest", "write 64 hexadecimal digits".to_owned()),
        _ => ("of the required form", format!("it must match {pattern}")),
    }
}

/// What stands where a value of this type is expected, and what to write there.
fn type_remedy(error: &ValidationError<'_>) -> (&'static str, String) {
    let Kind::Type { kind: TypeKind::Single(expected) } = error.kind() else {
        return ("of another type", "see agent.schema.json, which is published beside the index".to_owned());
    };
    let value: &Value = error.instance();
    match expected {
        JsonType::Object => ("an object", object(around(error))),
        JsonType::Array => ("an array", list(value)),
        _ => ("a string", string(value)),
    }
}

/// The schema that has the broken keyword.
fn around(error: &ValidationError<'_>) -> &'static Value {
    let path = error.schema_path().as_str();
    AGENT_VALUE.pointer(path.rsplit_once('/').unwrap_or_default().0).unwrap_or(&Value::Null)
}

fn string(value: &Value) -> String {
    match value {
        Value::Bool(_) | Value::Number(_) => format!("write it in double quotes: {}", quote(&format!("\"{value}\""))),
        Value::Array(items) if items.len() == 1 && items[0].is_string() => {
            format!("write the text without square brackets: {}", quote(&items[0].to_string()))
        }
        _ => "write a text in double quotes".to_owned(),
    }
}

fn list(value: &Value) -> String {
    match value {
        Value::String(_) => format!("write a list of texts: {}", quote(&format!("[{value}]"))),
        _ => "write a list of texts in square brackets, such as `[\"text\"]`".to_owned(),
    }
}

/// The members that an object must have; else those that it may have.
fn object(schema: &Value) -> String {
    let names = |names: Vec<&str>| names.into_iter().map(|name| format!("`{name}`")).collect::<Vec<_>>();
    let texts = |key: &str| schema[key].as_array().map(|texts| texts.iter().filter_map(Value::as_str).collect());
    if let Some(required) = texts("required") {
        return format!("write an object with {}", series(&names(required), "and"));
    }
    if let Some(known) = schema["properties"].as_object() {
        return format!("write an object with {}", series(&names(known.keys().map(String::as_str).collect()), "or"));
    }
    if schema.get("propertyNames").is_some() {
        return "write an object with a member for each platform, such as `linux-x86_64`".to_owned();
    }
    "write an object of names and texts, such as `{ \"NAME\": \"text\" }`".to_owned()
}

fn series(names: &[String], word: &str) -> String {
    match names {
        [first @ .., last] if !first.is_empty() => format!("{} {word} {last}", first.join(", ")),
        names => names.concat(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_error_is_found_with_its_place() {
        let found = violations(&json!({
            "id": "A", "name": "", "version": "1.0.0", "description": 1, "authors": ["a", 2], "preview": {},
            "distribution": { "binary": { "linux-x64": {}, "linux-x86_64": { "archive": "a", "cmd": "b", "arg": [] } }, "npx": {} },
        }));
        let mut shown: Vec<_> =
            found.iter().map(|v| (v.pointer.as_str(), v.keyword.as_str(), v.help.as_deref().unwrap_or(""))).collect();
        shown.sort_unstable();
        assert_eq!(
            shown,
            [
                ("/authors/1", "type", "write it in double quotes: `\"2\"`"),
                ("/description", "type", "write it in double quotes: `\"1\"`"),
                ("/distribution/binary/linux-x64", "propertyNames", "did you mean `linux-x86_64`?"),
                ("/distribution/binary/linux-x64", "required", "add `archive`"),
                ("/distribution/binary/linux-x64", "required", "add `cmd`"),
                ("/distribution/binary/linux-x86_64/arg", "additionalProperties", "did you mean `args`?"),
                ("/distribution/npx", "required", "add `package`"),
                ("/id", "pattern", "use lower-case letters, digits and hyphens, and begin with a letter"),
                ("/name", "minLength", "write a text between the quotes"),
                ("/preview", "required", "add `distribution`"),
                ("/preview", "required", "add `version`"),
            ]
        );
        assert!(violations(&json!([])).iter().any(|violation| violation.message == "the manifest must be an object"));
    }

    #[test]
    fn what_to_write_is_said_for_every_wrong_value() {
        let whole = json!({
            "id": "a", "name": "A", "version": "1.0.0", "description": "d", "repository": "https://h.example",
            "authors": ["a"], "license": "MIT", "icon": "i", "preview": { "version": "1.0.0-a", "distribution": {} },
            "distribution": {
                "binary": { "linux-x86_64": { "archive": "a", "cmd": "b", "args": ["a"], "env": { "A": "b" } } },
                "npx": { "package": "a", "command": "a" }, "uvx": { "package": "a", "exclude_newer": "2026-01-01" },
            },
        });
        let values = [
            json!(null),
            json!(1),
            json!(""),
            json!("a"),
            json!([]),
            json!(["a"]),
            json!([2]),
            json!({}),
            json!({ "z": 1 }),
        ];
        for pointer in pointers(&whole) {
            for value in &values {
                let mut manifest = whole.clone();
                *manifest.pointer_mut(&pointer).unwrap() = value.clone();
                for found in violations(&manifest) {
                    let help = found.help.unwrap_or_default();
                    assert!(!help.is_empty() && !found.message.contains(&help), "{pointer} {value}: {}", found.message);
                }
            }
        }
        for (pointer, value, expected) in [
            ("/authors", json!("x"), "write a list of texts: `[\"x\"]`"),
            ("/authors", json!({}), "write a list of texts in square brackets, such as `[\"text\"]`"),
            ("/name", json!(["x"]), "write the text without square brackets: `\"x\"`"),
            ("/name", json!(null), "write a text in double quotes"),
            ("/distribution", json!([]), "write an object with `binary`, `npx` or `uvx`"),
            (
                "/distribution/binary",
                json!("x"),
                "write an object with a member for each platform, such as `linux-x86_64`",
            ),
            ("/distribution/binary/linux-x86_64", json!("x"), "write an object with `archive` and `cmd`"),
            (
                "/distribution/binary/linux-x86_64/env",
                json!([]),
                "write an object of names and texts, such as `{ \"NAME\": \"text\" }`",
            ),
            ("/distribution/npx", json!("x@1.0.0"), "write an object with `package`"),
            ("/distribution/npx/command", json!("a".repeat(215)), "write a shorter text"),
            ("", json!([]), "write an object with `id`, `name`, `version`, `description` and `distribution`"),
        ] {
            let mut manifest = whole.clone();
            *manifest.pointer_mut(pointer).unwrap() = value;
            let found = violations(&manifest);
            assert!(found.iter().any(|found| found.help.as_deref() == Some(expected)), "{pointer}: {found:?}");
        }
    }

    /// The places of all values of a document.
    fn pointers(value: &Value) -> Vec<String> {
        let members: Vec<(String, &Value)> = match value {
            Value::Object(members) => members.iter().map(|(key, value)| (key.clone(), value)).collect(),
            Value::Array(items) => items.iter().enumerate().map(|(at, item)| (at.to_string(), item)).collect(),
            _ => Vec::new(),
        };
        let below = members
            .into_iter()
            .flat_map(|(key, value)| pointers(value).into_iter().map(move |rest| format!("/{key}{rest}")));
        std::iter::once(String::new()).chain(below).collect()
    }

    #[test]
    fn the_embedded_schemas_have_ids_of_their_own() {
        for (schema, file) in [(AGENT, "agent"), (REGISTRY, "registry"), (QUARANTINE, "quarantine")] {
            assert_eq!(parse(schema)["$id"], format!("{BASE}/{file}.schema.json"));
        }
    }

    #[test]
    fn an_index_is_checked_down_to_its_agents() {
        assert_eq!(index_errors(&json!({ "version": "1.0.0", "agents": [], "extensions": [] })), [] as [String; 0]);
        let errors = index_errors(&json!({ "version": "1", "agents": [{ "id": "a" }] }));
        assert!(errors.iter().any(|error| error.starts_with("/version: ")), "{errors:?}");
        assert!(errors.iter().any(|error| error.starts_with("/agents/0: ")), "{errors:?}");
    }
}
