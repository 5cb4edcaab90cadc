//! A small instance of a JSON schema.

use acp_registry_plan::json::weight;
use serde_json::{Map, Value, json};

use super::conversation::list;

/// The text of members that a schema requires but nothing determines.
const TEXT: &str = "acp-registry";

/// Maximum size of what the model repeats of a request in its answer, in bytes.
pub(super) const ANSWER: usize = 64 << 10;

/// Maximum number of values in an instance, because schemas can refer to themselves.
const VALUES: usize = 500;

/// Maximum depth of an instance.
const DEPTH: usize = 16;

/// Maximum number of elements and characters that a schema can demand.
const LENGTH: u64 = 100;

/// An instance with the required members only. It is valid for schemas as agents use them, without patterns.
pub(super) fn sample(schema: &Value) -> Value {
    sample_in(schema, schema)
}

/// Like [`sample`], for a part of the schema `root`, in which references are resolved.
pub(super) fn sample_in(schema: &Value, root: &Value) -> Value {
    Sampler { root, left: VALUES, bytes: ANSWER }.value(schema, 0)
}

/// The types that a schema allows, in lower case, also those of its alternatives. Gemini writes them in upper case.
pub(super) fn types(schema: &Value) -> Vec<String> {
    let own = |schema: &Value| match schema.get("type") {
        Some(Value::String(name)) => vec![name.to_lowercase()],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).map(str::to_lowercase).collect(),
        _ => Vec::new(),
    };
    let choices = ["anyOf", "oneOf"].into_iter().flat_map(|name| list(schema, name));
    [schema].into_iter().chain(choices).flat_map(own).collect()
}

/// Whether a schema allows `null`. A member that must be there, but may be `null`, means nothing then: any other value
/// would, such as the name of a directory that is not there.
fn is_nullable(schema: &Value) -> bool {
    match schema.get("enum") {
        Some(Value::Array(values)) => values.contains(&Value::Null),
        _ => types(schema).contains(&"null".to_owned()),
    }
}

struct Sampler<'a> {
    root: &'a Value,
    /// The number of values that may follow.
    left: usize,
    /// The number of bytes that values and names may still take.
    bytes: usize,
}

impl Sampler<'_> {
    fn value(&mut self, schema: &Value, depth: usize) -> Value {
        if self.left == 0 || depth > DEPTH {
            return Value::Null;
        }
        self.left -= 1;
        if let Some(value) = schema.get("const").or_else(|| schema.get("default")) {
            return self.copy(value);
        }
        // The arguments themselves are an object.
        if depth > 0 && is_nullable(schema) {
            return Value::Null;
        }
        if let Some(Value::Array(values)) = schema.get("enum") {
            return values.iter().find(|value| !value.is_null()).map_or(Value::Null, |value| self.copy(value));
        }
        if let Some(target) = schema.get("$ref").and_then(Value::as_str) {
            let target = target.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer));
            return target.map_or(Value::Null, |target| self.value(target, depth + 1));
        }
        for name in ["anyOf", "oneOf"] {
            let choices = list(schema, name);
            let is_null = |choice: &&Value| types(choice) == ["null"];
            if let Some(choice) = choices.iter().find(|choice| !is_null(choice)).or(choices.first()) {
                return self.value(choice, depth + 1);
            }
        }
        if let Some(Value::Array(parts)) = schema.get("allOf") {
            return self.merge_all(schema, parts, depth);
        }
        self.typed(schema, depth)
    }

    /// A value of the schema, or `null` if it would make the instance too large.
    fn copy(&mut self, value: &Value) -> Value {
        if self.spend(weight(value)) { value.clone() } else { Value::Null }
    }

    fn spend(&mut self, bytes: usize) -> bool {
        let rest = self.bytes.checked_sub(bytes);
        self.bytes = rest.unwrap_or(self.bytes);
        rest.is_some()
    }

    /// An instance by the schema's own `type`.
    fn typed(&mut self, schema: &Value, depth: usize) -> Value {
        let types = types(schema);
        match types.iter().map(String::as_str).find(|name| *name != "null") {
            Some("string") => string(schema),
            Some("integer" | "number") => number(schema),
            Some("boolean") => json!(false),
            Some("array") => self.array(schema, depth),
            Some("object") => self.object(schema, depth),
            None if !types.is_empty() => Value::Null,
            _ if schema.get("items").is_some() => self.array(schema, depth),
            _ => self.object(schema, depth),
        }
    }

    fn merge_all(&mut self, schema: &Value, parts: &[Value], depth: usize) -> Value {
        let mut members = Map::new();
        for part in parts {
            match self.value(part, depth + 1) {
                Value::Object(more) => members.extend(more),
                other => return other,
            }
        }
        match self.typed(schema, depth + 1) {
            Value::Object(more) => members.extend(more),
            other => return other,
        }
        members.into()
    }

    fn array(&mut self, schema: &Value, depth: usize) -> Value {
        let least = schema.get("minItems").and_then(Value::as_u64).unwrap_or_default().min(LENGTH);
        let items = schema.get("items").unwrap_or(&Value::Null);
        let mut elements = Vec::new();
        for _ in 0..least {
            if self.left == 0 {
                break;
            }
            elements.push(self.value(items, depth + 1));
        }
        elements.into()
    }

    fn object(&mut self, schema: &Value, depth: usize) -> Value {
        let mut members = Map::new();
        for name in list(schema, "required").iter().filter_map(Value::as_str) {
            if self.left == 0 || !self.spend(name.len()) {
                break;
            }
            let member = schema.get("properties").and_then(|members| members.get(name));
            let value = self.value(member.unwrap_or(&json!({ "type": "string" })), depth + 1);
            members.insert(name.to_owned(), value);
        }
        members.into()
    }
}

fn string(schema: &Value) -> Value {
    match schema.get("format").and_then(Value::as_str) {
        Some("date-time") => json!("2026-01-01T00:00:00Z"),
        Some("date") => json!("2026-01-01"),
        Some("uri") => json!("https://example.com"),
        Some("uuid") => json!("00000000-0000-4000-8000-000000000000"),
        Some("email") => json!("user@example.com"),
        _ => {
            let least = schema.get("minLength").and_then(Value::as_u64).unwrap_or_default().min(LENGTH);
            let most = schema.get("maxLength").and_then(Value::as_u64).unwrap_or(u64::MAX).max(least);
            let fill = "-".repeat(usize::try_from(least).unwrap_or_default().saturating_sub(TEXT.len()));
            json!(format!("{TEXT}{fill}").chars().take(usize::try_from(most).unwrap_or(usize::MAX)).collect::<String>())
        }
    }
}

fn number(schema: &Value) -> Value {
    let bound = |name: &str| schema.get(name).filter(|bound| bound.is_number()).cloned();
    if let Some(least) = bound("minimum") {
        return least;
    }
    if let Some(least) = bound("exclusiveMinimum").and_then(|least| least.as_i64()) {
        return json!(least.saturating_add(1));
    }
    match bound("maximum") {
        Some(most) if most.as_f64().is_some_and(|most| most < 1.0) => most,
        _ => json!(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemas_that_refer_to_themselves_end() {
        let endless = json!({ "$defs": { "a": { "type": "object", "required": ["x", "y", "z"], "properties": {
            "x": { "$ref": "#/$defs/a" }, "y": { "$ref": "#/$defs/a" }, "z": { "$ref": "#/$defs/a" },
        } } }, "$ref": "#/$defs/a" });
        assert!(sample(&endless).to_string().len() < 100_000);
        let many =
            json!({ "type": "array", "minItems": u64::MAX, "items": { "type": "string", "minLength": u64::MAX } });
        assert!(sample(&many).to_string().len() < 100_000);
        assert_eq!(sample(&json!({ "$ref": "#" })), Value::Null);
    }

    #[test]
    fn instances_repeat_little_of_a_large_schema() {
        let large = "x".repeat(1 << 20);
        let part = "x".repeat(ANSWER / 5);
        for schema in [
            json!({ "const": large }),
            json!({ "enum": [null, large] }),
            json!({ "default": vec![0; 50_000] }),
            json!({ "type": "array", "minItems": 100, "items": { "const": part } }),
            json!({ "$defs": { "a": { "default": part } }, "type": "array", "minItems": 90, "items": {
                "type": "array", "minItems": 5, "items": { "$ref": "#/$defs/a" } } }),
            json!({ "type": "object", "required": [large, "a"], "properties": { "a": { "const": large } } }),
            json!({ "type": "object", "required": ["a"], "properties": { "a": { "required": [part], "$ref": "#" } } }),
            json!({ "allOf": vec![json!({ "required": [part], "properties": { &part: { "const": part } } }); 50] }),
            json!({ "type": "array", "minItems": 100, "items": { "type": "array", "minItems": 100 } }),
        ] {
            let instance = sample(&schema);
            assert!(instance.to_string().len() <= ANSWER, "{:.100}", schema.to_string());
        }
        assert_eq!(sample(&json!({ "type": "array", "minItems": 2, "items": { "const": part } })), json!([part, part]));
    }

    #[test]
    fn odd_schemas_have_some_instance() {
        for (schema, instance) in [
            (json!(true), json!({})),
            (json!(null), json!({})),
            (json!({ "type": 7 }), json!({})),
            (json!({ "type": ["null"] }), json!(null)),
            (json!({ "enum": [] }), json!(null)),
            (json!({ "required": [7, "a"] }), json!({ "a": TEXT })),
            (json!({ "$ref": "https://example.com" }), json!(null)),
        ] {
            assert_eq!(sample(&schema), instance, "{schema}");
        }
    }

    #[test]
    fn required_members_that_may_be_null_are_null() {
        let member = |schema: Value| {
            let schema = json!({ "type": "object", "required": ["a"], "properties": { "a": schema } });
            let instance = sample(&schema);
            assert!(jsonschema::is_valid(&schema, &instance), "{schema}: {instance}");
            instance["a"].clone()
        };
        for schema in [
            json!({ "type": ["string", "null"], "minLength": 3 }),
            json!({ "type": "null" }),
            json!({ "anyOf": [{ "type": "string" }, { "type": "null" }] }),
            json!({ "oneOf": [{ "type": ["integer", "null"] }, { "type": "object" }] }),
            json!({ "type": ["string", "null"], "enum": ["fast", null] }),
        ] {
            assert_eq!(member(schema.clone()), Value::Null, "{schema}");
        }
        for (schema, value) in [
            (json!({ "type": ["string", "null"], "enum": ["fast"] }), json!("fast")),
            (json!({ "type": ["string", "null"], "default": "." }), json!(".")),
            (json!({ "type": ["string", "null"], "const": "x" }), json!("x")),
            (json!({ "type": "string" }), json!(TEXT)),
            (json!({ "anyOf": [{ "type": "boolean" }, { "type": "string" }] }), json!(false)),
        ] {
            assert_eq!(member(schema.clone()), value, "{schema}");
        }
        assert_eq!(sample(&json!({ "type": ["object", "null"], "required": ["a"] })), json!({ "a": TEXT }));
    }

    #[test]
    fn instances_are_valid() {
        for schema in [
            json!({ "type": "OBJECT", "required": ["a", "b"], "properties": {
                "a": { "type": "STRING", "enum": ["flash", "pro"] }, "b": { "type": "BOOLEAN" }, "c": {} } }),
            json!({ "type": "object", "required": ["n", "m", "l"], "properties": {
                "n": { "type": "integer", "minimum": 3 }, "m": { "type": "number", "exclusiveMinimum": 0 },
                "l": { "type": "number", "maximum": 0 } } }),
            json!({ "allOf": [{ "type": "object", "required": ["a"] }], "required": ["b"] }),
            json!({ "type": ["null", "string"], "minLength": 20, "maxLength": 30 }),
            json!({ "anyOf": [{ "type": "null" }, { "type": "array", "minItems": 2, "items": { "const": 1 } }] }),
        ] {
            let lowered: Value = serde_json::from_str(
                &schema
                    .to_string()
                    .replace("OBJECT", "object")
                    .replace("STRING", "string")
                    .replace("BOOLEAN", "boolean"),
            )
            .unwrap();
            let instance = sample(&schema);
            assert!(jsonschema::is_valid(&lowered, &instance), "{schema}: {instance}");
        }
    }
}
