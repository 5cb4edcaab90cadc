//! What to write where a value breaks the schema of manifests.

use acp_registry_plan::text::quote;
use jsonschema::JsonType;
use jsonschema::error::{TypeKind, ValidationError, ValidationErrorKind as Kind};
use serde_json::Value;

/// What stands where a value of this type is expected, and what to write there.
pub(super) fn type_remedy(error: &ValidationError<'_>, schema: &Value) -> (&'static str, String) {
    let Kind::Type { kind: TypeKind::Single(expected) } = error.kind() else {
        return ("of another type", "see agent.schema.json, which is published beside the index".to_owned());
    };
    let value: &Value = error.instance();
    match expected {
        JsonType::Object => ("an object", object(around(error, schema))),
        JsonType::Array => ("an array", list(value)),
        _ => ("a string", string(value)),
    }
}

/// What to write in the place of an empty text.
pub(super) fn empty_remedy() -> String {
    "write a text between the quotes".to_owned()
}

/// The schema that has the broken keyword.
fn around<'s>(error: &ValidationError<'_>, schema: &'s Value) -> &'s Value {
    let path = error.schema_path().as_str();
    schema.pointer(path.rsplit_once('/').unwrap_or_default().0).unwrap_or(&Value::Null)
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
