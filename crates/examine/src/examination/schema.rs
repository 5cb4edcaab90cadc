//! Judges messages by the JSON Schemas of the protocol, which `build.rs` takes from the protocol's own crate.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use acp_registry_plan::text::quote;
use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::paths::LocationSegment;
use jsonschema::{JsonType, ValidationError, Validator};
use serde_json::{Map, Value, json};

/// How many items of a list are looked at for the place of a violation, which takes more memory than finding that there is
/// one.
const ITEMS: usize = 64;

/// The definitions of a version, by name.
type Definitions = Map<String, Value>;

/// The validators that were made, by version and definition.
type Validators = Mutex<HashMap<(SchemaVersion, &'static str), Arc<Validator>>>;

/// A version of the protocol. Of version 1, only what is stable counts; of the draft of version 2, everything.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(super) enum SchemaVersion {
    #[default]
    V1,
    V2,
}

/// Changes the definitions so that they allow more.
type Relax = fn(&mut Definitions);

/// What is allowed besides what the schemas allow, and why. Members that they do not name are allowed by the schemas
/// themselves.
const LENIENCES: [(&str, Relax); 3] = [
    ("examples of several pages answer a request that asks for nothing with `null`", allow_null_for_empty_answers),
    (
        "later versions of the protocol, and extensions, add kinds of updates and contents, which clients pass over",
        pass_over_unknown_variants,
    ),
    ("an example of the page about modes names the member `modeId`", allow_the_mode_of_the_example),
];

fn allow_null_for_empty_answers(definitions: &mut Definitions) {
    let is_empty = |name: &str, schema: &Value| {
        name.ends_with("Response") && schema["type"] == "object" && schema.get("required").is_none()
    };
    for (name, schema) in definitions {
        if is_empty(name, schema) {
            schema["type"] = json!(["object", "null"]);
        }
    }
}

fn pass_over_unknown_variants(definitions: &mut Definitions) {
    for schema in definitions.values_mut() {
        walk(schema, &|members| {
            let Some(Value::Array(variants)) = members.get_mut("oneOf") else { return };
            let tags = |variant: &Value| -> Option<(String, Value)> {
                let mut properties = variant["properties"].as_object()?.iter();
                properties.find_map(|(name, schema)| Some((name.clone(), schema.get("const")?.clone())))
            };
            let Some(tags): Option<Vec<(String, Value)>> = variants.iter().map(tags).collect() else { return };
            let Some((tag, _)) = tags.first().cloned() else { return };
            let known: Vec<Value> = tags.into_iter().map(|(_, word)| word).collect();
            let word = json!({ "type": "string", "not": { "enum": known } });
            variants.push(json!({ "type": "object", "properties": { tag.clone(): word }, "required": [tag] }));
        });
    }
}

fn allow_the_mode_of_the_example(definitions: &mut Definitions) {
    if let Some(update) = definitions.get_mut("CurrentModeUpdate").and_then(Value::as_object_mut) {
        update.remove("required");
    }
}

/// Removes what may still change: members, variants and methods that are then unknown.
fn keep_stable(definitions: &mut Definitions) {
    let is_unstable = |schema: &Value| schema["x-unstable"] == true;
    let unstable: Vec<String> = definitions
        .iter()
        .filter(|(_, schema)| is_unstable(schema))
        .map(|(name, _)| format!("#/$defs/{name}"))
        .collect();
    let is_unstable = |schema: &Value| is_unstable(schema) || unstable.iter().any(|path| schema["$ref"] == **path);
    for schema in definitions.values_mut() {
        walk(schema, &|members| {
            if let Some(Value::Object(properties)) = members.get_mut("properties") {
                properties.retain(|_, schema| !is_unstable(schema));
            }
            for keyword in ["anyOf", "oneOf"] {
                if let Some(Value::Array(variants)) = members.get_mut(keyword) {
                    variants.retain(|variant| !is_unstable(variant));
                }
            }
        });
    }
}

/// Calls `change` with a schema and with all schemas in it.
fn walk(schema: &mut Value, change: &dyn Fn(&mut Map<String, Value>)) {
    let Value::Object(members) = schema else { return };
    for (keyword, value) in members.iter_mut() {
        match (keyword.as_str(), value) {
            ("properties", Value::Object(schemas)) => {
                for schema in schemas.values_mut() {
                    walk(schema, change);
                }
            }
            ("allOf" | "anyOf" | "oneOf", Value::Array(schemas)) => {
                for schema in schemas {
                    walk(schema, change);
                }
            }
            ("items" | "additionalProperties" | "not", schema) => walk(schema, change),
            _ => {}
        }
    }
    change(members);
}

/// The schemas of both versions, with the leniences.
static SCHEMAS: LazyLock<[Definitions; 2]> = LazyLock::new(|| {
    let text = include_str!(concat!(env!("OUT_DIR"), "/schemas.json"));
    let mut all: Map<String, Value> = serde_json::from_str(text).unwrap_or_default();
    ["v1", "v2"].map(|version| {
        let Some(Value::Object(mut definitions)) = all.remove(version) else { return Map::new() };
        if version == "v1" {
            keep_stable(&mut definitions);
        }
        for (_, relax) in LENIENCES {
            relax(&mut definitions);
        }
        definitions
    })
});

impl SchemaVersion {
    fn definitions(self) -> &'static Definitions {
        let [v1, v2] = &*SCHEMAS;
        match self {
            Self::V1 => v1,
            Self::V2 => v2,
        }
    }

    /// The definition of the messages of a method, among those of `AgentResponse`, `AgentRequest` or `AgentNotification`.
    fn definition(self, union: &str, method: &str) -> Option<&'static str> {
        let definitions = self.definitions();
        let mut variants = definitions.get(union)?["anyOf"].as_array()?.iter();
        variants.find_map(|variant| {
            let name = variant["$ref"].as_str()?.strip_prefix("#/$defs/")?;
            (definitions.get(name)?["x-method"] == method).then_some(name)
        })
    }

    /// The validator of a definition.
    fn validator(self, name: &'static str) -> Option<Arc<Validator>> {
        static VALIDATORS: LazyLock<Validators> = LazyLock::new(Mutex::default);
        let mut validators = VALIDATORS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = validators.get(&(self, name)) {
            return Some(known.clone());
        }
        let schema = json!({ "$ref": format!("#/$defs/{name}"), "$defs": self.definitions() });
        let made = Arc::new(jsonschema::draft202012::new(&schema).ok()?);
        validators.insert((self, name), made.clone());
        Some(made)
    }

    /// The first violation in a value, which is at `place`.
    fn problem(self, name: &'static str, value: &Value, place: &str) -> Option<String> {
        let validator = self.validator(name)?;
        if validator.is_valid(value) {
            return None;
        }
        Some(match validator.validate(&shortened(value)) {
            Err(error) => describe(most_telling(&error), place),
            Ok(()) => {
                format!("an item of a list in {}, behind the first {ITEMS}, does not match the schema", quote(place))
            }
        })
    }
}

/// Whether version 1 defines a kind of update.
pub(super) fn defines_update(kind: &str) -> bool {
    let variants = SchemaVersion::V1.definitions().get("SessionUpdate").and_then(|schema| schema["oneOf"].as_array());
    variants.into_iter().flatten().any(|variant| variant["properties"]["sessionUpdate"]["const"] == kind)
}

/// The first violation in the result of `initialize`, if any.
pub(super) fn initialize(result: &Value) -> Option<String> {
    SchemaVersion::V1.problem("InitializeResponse", result, "result")
}

/// The first violation in a message, if any. `method` is the method of the request that it answers. The result of
/// `initialize` is not checked here: see [`initialize`].
pub(super) fn message(message: &Value, method: Option<&str>, version: SchemaVersion) -> Option<String> {
    let own = message.get("method").and_then(Value::as_str);
    let what = match own.or(method) {
        Some(name) if own.is_some() => quote(name),
        Some(name) => format!("the answer to {}", quote(name)),
        None => "an answer".to_owned(),
    };
    if message.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Some(format!("{what} has no member `\"jsonrpc\": \"2.0\"`"));
    }
    let found = if let Some(name) = own { params(message, name, version) } else { answer(message, method, version) };
    found.map(|problem| format!("{what}: {problem}"))
}

fn params(message: &Value, method: &str, version: SchemaVersion) -> Option<String> {
    let id = message.get("id");
    if id.is_some_and(|id| !id.is_string() && !id.is_i64() && !id.is_null()) {
        return Some("`id` is neither a string nor an integer".to_owned());
    }
    // The method decides what the parameters are, also where an `id` is missing or too many.
    let mut unions = ["AgentRequest", "AgentNotification"].into_iter();
    let Some(name) = unions.find_map(|union| version.definition(union, method)) else {
        let is_right = message.get("params").is_none_or(|params| params.is_object() || params.is_array());
        return (!is_right).then(|| "`params` is neither an object nor an array".to_owned());
    };
    version.problem(name, message.get("params").unwrap_or(&Value::Null), "params")
}

fn answer(message: &Value, method: Option<&str>, version: SchemaVersion) -> Option<String> {
    if message.get("id").is_none() {
        return Some("it has no `id`, which must be `null` if the request is unknown".to_owned());
    }
    let error = message.get("error");
    match (message.get("result"), error) {
        (Some(_), Some(_)) => return Some("it has both `result` and `error`".to_owned()),
        (None, None) => return Some("it has neither `result` nor `error`".to_owned()),
        _ => {}
    }
    if let Some(error) = error {
        return version.problem("Error", error, "error");
    }
    let method = method.filter(|method| *method != "initialize")?;
    version.problem(version.definition("AgentResponse", method)?, message.get("result")?, "result")
}

/// A copy whose lists have at most [`ITEMS`] items.
fn shortened(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().take(ITEMS).map(shortened).collect(),
        Value::Object(members) => members.iter().map(|(name, value)| (name.clone(), shortened(value))).collect(),
        other => other.clone(),
    }
}

/// The violation that says most: of a value that matches no variant, the one in the variant that was meant.
fn most_telling<'a, 'v>(error: &'a ValidationError<'v>) -> &'a ValidationError<'v> {
    let (ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context }) = error.kind() else {
        return error;
    };
    let depth = |error: &ValidationError<'_>| error.instance_path().iter().count();
    let own = depth(error);
    // Another variant is meant if the value has another type, or another word in the member that tells variants apart.
    let is_other = |error: &ValidationError<'static>| match error.kind() {
        ValidationErrorKind::Constant { .. } | ValidationErrorKind::Not { .. } => depth(error) <= own + 1,
        ValidationErrorKind::Type { .. } => depth(error) == own,
        _ => false,
    };
    let meant = context.iter().filter(|errors| !errors.iter().any(is_other)).filter_map(|errors| errors.first());
    // The first of equals, where several may be meant.
    if let Some(first) = meant.map(most_telling).rev().max_by_key(|error| depth(error)) {
        return first;
    }
    // All are other variants: the value has a wrong type, or the word that tells them apart is no string.
    let types = context.iter().flatten().filter(|error| matches!(error.kind(), ValidationErrorKind::Type { .. }));
    types.rev().max_by_key(|error| depth(error)).unwrap_or(error)
}

/// A violation as a sentence, with the place of the value in a message.
fn describe(error: &ValidationError<'_>, place: &str) -> String {
    let path = error.instance_path().iter().fold(place.to_owned(), |path, segment| match segment {
        LocationSegment::Property(name) => format!("{path}.{name}"),
        LocationSegment::Index(at) => format!("{path}[{at}]"),
    });
    let path = quote(&path);
    let words = |values: &[&Value]| {
        let words = values.iter().map(|value| value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned));
        words.collect::<Vec<_>>().join(", ")
    };
    match error.kind() {
        ValidationErrorKind::Required { property } => {
            format!("{path} has no {}", quote(property.as_str().unwrap_or_default()))
        }
        ValidationErrorKind::Type { kind } => format!("{path} is not {}", types(kind)),
        ValidationErrorKind::Constant { expected_value } => format!("{path} is not {}", words(&[expected_value])),
        ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
            let expected = context.iter().flatten().filter_map(|error| match error.kind() {
                ValidationErrorKind::Constant { expected_value } => Some(&**expected_value),
                _ => None,
            });
            let expected: Vec<&Value> = expected.collect();
            if expected.is_empty() {
                format!("{path} is of no type that the schema names")
            } else {
                format!("{path} is none of {}", words(&expected))
            }
        }
        ValidationErrorKind::Minimum { limit } => format!("{path} is less than {limit}"),
        ValidationErrorKind::Maximum { limit } => format!("{path} is more than {limit}"),
        other => format!("{path} violates the schema's `{}`", other.keyword()),
    }
}

/// Types, as the rest of a sentence. `null` goes without saying where there is another.
fn types(kind: &TypeKind) -> String {
    let name = |kind: JsonType| match kind {
        JsonType::Array => "an array",
        JsonType::Boolean => "a boolean",
        JsonType::Integer => "an integer",
        JsonType::Null => "null",
        JsonType::Number => "a number",
        JsonType::Object => "an object",
        JsonType::String => "a string",
    };
    match kind {
        TypeKind::Single(kind) => name(*kind).to_owned(),
        TypeKind::Multiple(kinds) => {
            kinds.iter().filter(|kind| *kind != JsonType::Null).map(name).collect::<Vec<_>>().join(" or ")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The types that a schema allows; none where it allows any.
    fn types_in(schema: &Value, definitions: &Definitions) -> Vec<String> {
        if let Some(constant) = schema.get("const") {
            return vec![name(constant).to_owned()];
        }
        if let Some(path) = schema["$ref"].as_str() {
            return types_in(&definitions[path.strip_prefix("#/$defs/").unwrap()], definitions);
        }
        if let Some(variants) = ["anyOf", "oneOf"].iter().find_map(|keyword| schema[*keyword].as_array()) {
            let all: Vec<Vec<String>> = variants.iter().map(|variant| types_in(variant, definitions)).collect();
            return if all.iter().any(Vec::is_empty) { Vec::new() } else { all.concat() };
        }
        match &schema["type"] {
            Value::String(name) => vec![name.clone()],
            Value::Array(names) => names.iter().map(|name| name.as_str().unwrap().to_owned()).collect(),
            _ => Vec::new(),
        }
    }

    /// An instance with the members that are required.
    fn instance(schema: &Value, definitions: &Definitions) -> Value {
        if let Some(constant) = schema.get("const") {
            return constant.clone();
        }
        let variants = ["anyOf", "oneOf"].iter().find_map(|keyword| schema[*keyword].as_array());
        let mut value =
            match (schema["$ref"].as_str(), variants, types_in(schema, definitions).first().map(String::as_str)) {
                (Some(path), _, _) => instance(&definitions[path.strip_prefix("#/$defs/").unwrap()], definitions),
                (None, Some(variants), _) => instance(&variants[0], definitions),
                (None, None, Some("array")) if schema["minItems"].is_null() => json!([]),
                (None, None, Some("array")) => json!([instance(&schema["items"], definitions)]),
                (None, None, Some("boolean")) => json!(true),
                (None, None, Some("integer" | "number")) => json!(1),
                (None, None, Some("object")) => json!({}),
                (None, None, _) => json!("x"),
            };
        for member in schema["required"].as_array().into_iter().flatten().map(|member| member.as_str().unwrap()) {
            value[member] = instance(&schema["properties"][member], definitions);
        }
        value
    }

    fn name(value: &Value) -> &'static str {
        match value {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        }
    }

    /// Leaves out each member that a definition requires, and gives each of its members a value of a type that it does not
    /// allow: every change is a violation, and its place is named.
    #[test]
    fn what_the_schemas_require_is_required() {
        let mut count = [0, 0];
        for (version, count) in [SchemaVersion::V1, SchemaVersion::V2].into_iter().zip(&mut count) {
            let definitions = version.definitions();
            for (definition, schema) in definitions {
                let Some(members) = schema["properties"].as_object().filter(|_| schema["type"] == "object") else {
                    continue;
                };
                let valid = instance(schema, definitions);
                assert_eq!(version.problem(definition, &valid, "value"), None, "{definition}: {valid}");
                let required = schema["required"].as_array().cloned().unwrap_or_default();
                for member in required.iter().map(|member| member.as_str().unwrap()) {
                    let mut changed = valid.clone();
                    changed.as_object_mut().unwrap().remove(member);
                    let problem = version.problem(definition, &changed, "value").unwrap_or_default();
                    assert!(
                        problem.starts_with("`value") && problem.contains(member),
                        "{definition}: {changed}: {problem}"
                    );
                    *count += 1;
                }
                for (member, schema) in members {
                    let allowed = types_in(schema, definitions);
                    let is_other = |value: &&Value| match name(value) {
                        "number" => !allowed.iter().any(|name| ["number", "integer"].contains(&name.as_str())),
                        name => !allowed.iter().any(|allowed| allowed == name),
                    };
                    let values = [json!([]), json!({}), json!("x"), json!(7), json!(true), Value::Null];
                    let Some(other) = values.iter().find(is_other).filter(|_| !allowed.is_empty()) else { continue };
                    let mut changed = valid.clone();
                    changed[member] = other.clone();
                    let problem = version.problem(definition, &changed, "value").unwrap_or_default();
                    assert!(problem.contains(&format!("value.{member}")), "{definition}: {changed}: {problem}");
                    *count += 1;
                }
            }
        }
        assert!(count.iter().all(|count| *count >= 200), "{count:?}");
    }

    /// Methods that no check sends or expects, on purpose, and why.
    const LEFT_OUT: &[(&str, &str)] = &[
        ("auth/status", "may still change; read as a feature"),
        ("auth/status_update", "may still change"),
        ("logout", "ends the sign-in of the person whose agent it is"),
        ("auth/logout", "ends the sign-in of the person whose agent it is"),
        ("providers/disable", "may still change, and would take away the model"),
        ("session/archive", "may still change; read as a feature"),
        ("session/unarchive", "may still change; read as a feature"),
        ("session/options", "may still change"),
        ("session/set_title", "may still change; read as a feature"),
        ("session/status", "may still change; read as a feature"),
        ("terminal/cancel", "of the draft of version 2"),
        ("tool_call/cancel", "of the draft of version 2"),
    ];

    /// The nightly build runs this with the newest release of the protocol's crate.
    #[test]
    fn every_method_of_the_protocol_is_examined_or_left_out_on_purpose() {
        fn texts(folder: &std::path::Path, all: &mut String) {
            for path in std::fs::read_dir(folder).unwrap().map(|item| item.unwrap().path()) {
                if path.is_dir() {
                    texts(&path, all);
                } else if path.file_name().unwrap() != "schema.rs" {
                    all.push_str(&std::fs::read_to_string(path).unwrap());
                }
            }
        }
        let mut sources = String::new();
        texts(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/examination"), &mut sources);
        let methods: HashMap<String, Vec<String>> =
            serde_json::from_str(include_str!(concat!(env!("OUT_DIR"), "/methods.json"))).unwrap();
        let named: std::collections::BTreeSet<&String> = methods.values().flatten().collect();
        assert!(named.len() > 30, "{named:?}");
        let is_left_out = |method: &str| LEFT_OUT.iter().any(|(known, _)| *known == method);
        let is_examined =
            |method: &str| ["\"", "`"].iter().any(|quote| sources.contains(&format!("{quote}{method}{quote}")));
        let unknown: Vec<_> = named.iter().filter(|method| !is_examined(method) && !is_left_out(method)).collect();
        assert!(unknown.is_empty(), "methods that no check knows: {unknown:?}; add a check, or a reason to LEFT_OUT");
        let aged: Vec<_> = LEFT_OUT.iter().filter(|(method, _)| !named.contains(&(*method).to_owned())).collect();
        assert!(aged.is_empty(), "the protocol has these methods no more: {aged:?}");
        let both: Vec<_> = LEFT_OUT.iter().filter(|(method, _)| is_examined(method)).collect();
        assert!(both.is_empty(), "a check knows these methods: {both:?}");
    }

    fn updated(update: &Value) -> Option<String> {
        SchemaVersion::V1.problem("SessionUpdate", update, "update")
    }

    #[test]
    fn updates_of_sessions_have_the_members_that_clients_need() {
        let text = json!({ "type": "text", "text": "a" });
        for (update, expected) in [
            (json!({ "sessionUpdate": "agent_message_chunk" }), "`update` has no `content`"),
            (json!({ "sessionUpdate": "agent_message_chunk", "content": [] }), "`update.content` is not an object"),
            (
                json!({ "sessionUpdate": "agent_thought_chunk", "content": { "type": "text" } }),
                "`update.content` has no `text`",
            ),
            (json!({ "sessionUpdate": "tool_call", "toolCallId": "1" }), "`update` has no `title`"),
            (
                json!({ "sessionUpdate": "tool_call", "toolCallId": "1", "title": "", "kind": "run" }),
                "`update.kind` is none of read, edit, delete, move, search, execute, think, fetch, switch_mode, other",
            ),
            (
                json!({ "sessionUpdate": "tool_call_update", "toolCallId": "1", "status": "done" }),
                "`update.status` is none of pending, in_progress, completed, failed",
            ),
            (json!({ "sessionUpdate": "tool_call_update", "toolCallId": "1", "content": [text] }), ""),
            (
                json!({ "sessionUpdate": "tool_call_update", "toolCallId": "1", "content": [{ "type": "diff", "path": "/a" }] }),
                "`update.content[0]` has no `newText`",
            ),
            (
                json!({ "sessionUpdate": "plan", "entries": [{ "content": "a", "priority": "top", "status": "pending" }] }),
                "`update.entries[0].priority` is none of high, medium, low",
            ),
            (json!({ "sessionUpdate": "usage_update", "used": -1, "size": 2 }), "`update.used` is less than 0"),
            (
                json!({ "sessionUpdate": "config_option_update", "configOptions": [{ "id": "a", "name": "A", "type": "select",
                        "currentValue": "b", "options": [{ "group": "g", "name": "G", "options": [{ "value": "b" }] }] }] }),
                "`update.configOptions[0].options[0].options[0]` has no `name`",
            ),
            (json!({ "sessionUpdate": 1 }), "`update.sessionUpdate` is not a string"),
        ] {
            assert_eq!(updated(&update).unwrap_or_default(), expected, "{update}");
        }
    }

    #[test]
    fn updates_that_the_schema_allows_are_allowed() {
        for update in [
            json!({ "sessionUpdate": "_vendor_update", "content": 1 }),
            json!({ "sessionUpdate": "user_message_chunk", "content": { "type": "video" }, "messageId": null }),
            json!({ "sessionUpdate": "user_message_chunk",
                    "content": { "type": "resource", "resource": { "uri": "a:", "blob": "" } } }),
            json!({ "sessionUpdate": "tool_call_update", "toolCallId": "1", "kind": null, "status": null, "content": null,
                    "rawInput": [1], "locations": [{ "path": "/a", "line": 0 }] }),
            json!({ "sessionUpdate": "usage_update", "used": 1, "size": 2, "cost": { "amount": 0.5, "currency": "USD" } }),
            json!({ "sessionUpdate": "current_mode_update", "modeId": "a" }),
            json!({ "sessionUpdate": "config_option_update", "configOptions": [
                { "id": "a", "name": "A", "type": "select", "currentValue": "b", "category": null,
                  "options": [{ "group": "g", "name": "G", "options": [{ "value": "b", "name": "B" }] }] },
                { "id": "c", "name": "C", "type": "boolean", "currentValue": false }, { "id": "d", "name": "D", "type": "slider" },
            ] }),
            json!({ "sessionUpdate": "available_commands_update",
                    "availableCommands": [{ "name": "a", "description": "", "input": null, "_meta": {} }] }),
        ] {
            assert_eq!(updated(&update), None, "{update}");
        }
    }

    #[test]
    fn what_the_schema_allows_is_allowed() {
        for result in [
            json!({ "protocolVersion": 1 }),
            json!({ "protocolVersion": 1, "agentInfo": null, "new": [1], "_meta": null }),
            json!({
                "protocolVersion": 1,
                "agentCapabilities": {
                    "loadSession": true, "sessionCapabilities": { "list": {}, "resume": null, "fork": true },
                    "auth": { "logout": {} }, "_meta": { "x": 1 }, "nes": 1,
                },
                "authMethods": [{ "id": "a", "name": "A", "description": null, "type": "env_var", "vars": [] }],
            }),
        ] {
            assert_eq!(initialize(&result), None, "{result}");
        }
    }

    #[test]
    fn every_place_is_named() {
        for (result, text) in [
            (json!([]), "`result` is not an object"),
            (json!({}), "`result` has no `protocolVersion`"),
            (json!({ "protocolVersion": 70_000 }), "`result.protocolVersion` is more than 65535"),
            (json!({ "protocolVersion": 1, "agentCapabilities": null }), "`result.agentCapabilities` is not an object"),
            (
                json!({ "protocolVersion": 1, "agentCapabilities": { "sessionCapabilities": { "list": true } } }),
                "`result.agentCapabilities.sessionCapabilities.list` is not an object",
            ),
            (json!({ "protocolVersion": 1, "authMethods": {} }), "`result.authMethods` is not an array"),
            (
                json!({ "protocolVersion": 1, "authMethods": [{ "id": "a", "name": "A" }, { "id": 1, "name": "B" }] }),
                "`result.authMethods[1].id` is not a string",
            ),
            (json!({ "protocolVersion": 1, "agentInfo": { "name": "a" } }), "`result.agentInfo` has no `version`"),
            (json!({ "protocolVersion": 1, "_meta": 1 }), "`result._meta` is not an object"),
        ] {
            assert_eq!(initialize(&result).as_deref(), Some(text), "{result}");
        }
    }

    #[test]
    fn messages_are_of_the_form_of_json_rpc() {
        for (text, method, expected) in [
            (r#"{"jsonrpc":"2.0","id":1,"result":null}"#, None, None),
            (r#"{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":""}}"#, None, None),
            (r#"{"jsonrpc":"2.0","method":"_x","params":[1]}"#, None, None),
            (r#"{"id":1,"result":null}"#, None, Some("an answer has no member `\"jsonrpc\": \"2.0\"`")),
            (
                r#"{"jsonrpc":"2.0","id":1,"result":null,"error":null}"#,
                Some("a"),
                Some("the answer to `a`: it has both `result` and `error`"),
            ),
            (
                r#"{"jsonrpc":"2.0","error":{"code":-1,"message":""}}"#,
                None,
                Some("an answer: it has no `id`, which must be `null` if the request is unknown"),
            ),
            (r#"{"jsonrpc":"2.0","id":1}"#, None, Some("an answer: it has neither `result` nor `error`")),
            (
                r#"{"jsonrpc":"2.0","id":1,"error":{"code":"-1","message":""}}"#,
                None,
                Some("an answer: `error.code` is not an integer"),
            ),
            (r#"{"jsonrpc":"2.0","id":1,"error":{"code":-1}}"#, None, Some("an answer: `error` has no `message`")),
            (r#"{"jsonrpc":"2.0","id":1,"error":7}"#, None, Some("an answer: `error` is not an object")),
            (
                r#"{"jsonrpc":"2.0","id":1.5,"method":"_x"}"#,
                None,
                Some("`_x`: `id` is neither a string nor an integer"),
            ),
            (
                r#"{"jsonrpc":"2.0","method":"_x","params":1}"#,
                None,
                Some("`_x`: `params` is neither an object nor an array"),
            ),
            (
                r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{}}}"#,
                None,
                Some("`session/update`: `params.update` has no `sessionUpdate`"),
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"result":{"stopReason":"done"}}"#,
                Some("session/prompt"),
                Some(
                    "the answer to `session/prompt`: `result.stopReason` is none of end_turn, max_tokens, \
                     max_turn_requests, refusal, cancelled",
                ),
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
                Some("session/new"),
                Some("the answer to `session/new`: `result` has no `sessionId`"),
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"session/update","params":{"sessionId":"s"}}"#,
                None,
                Some("`session/update`: `params` has no `update`"),
            ),
            (
                r#"{"jsonrpc":"2.0","method":"session/request_permission","params":{"sessionId":"s","options":[]}}"#,
                None,
                Some("`session/request_permission`: `params` has no `toolCall`"),
            ),
            (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, Some("initialize"), None),
        ] {
            let value: Value = serde_json::from_str(text).unwrap();
            assert_eq!(message(&value, method, SchemaVersion::V1).as_deref(), expected, "{text}");
        }
    }
}
