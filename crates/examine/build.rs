//! Writes the JSON Schemas of the messages that agents send, from the types of the protocol's own crate: an update of the
//! protocol is an update of that dependency. The types are compiled for the build alone; the program holds their schemas.

use std::collections::BTreeSet;
use std::error::Error;
use std::path::PathBuf;
use std::{env, fs};

use agent_client_protocol_schema::{v1, v2};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

/// What begins the description of a part that may still change.
const UNSTABLE: &str = "**UNSTABLE**";

/// The definitions of a version, by name, with those of all its responses, requests and notifications.
fn definitions<Response: JsonSchema, Request: JsonSchema, Notification: JsonSchema>() -> Map<String, Value> {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let all = [
        ("AgentResponse", generator.subschema_for::<Response>()),
        ("AgentRequest", generator.subschema_for::<Request>()),
        ("AgentNotification", generator.subschema_for::<Notification>()),
    ];
    let mut definitions = generator.take_definitions(true);
    definitions.extend(all.map(|(name, schema)| (name.to_owned(), schema.to_value())));
    definitions.values_mut().for_each(shorten);
    definitions
}

/// Replaces descriptions by a mark of what may still change, in a schema and in all schemas in it.
fn shorten(schema: &mut Value) {
    let Value::Object(members) = schema else { return };
    if let Some(Value::String(text)) = members.remove("description")
        && text.starts_with(UNSTABLE)
    {
        members.insert("x-unstable".to_owned(), Value::Bool(true));
    }
    for (keyword, value) in members {
        match (keyword.as_str(), value) {
            ("properties", Value::Object(schemas)) => schemas.values_mut().for_each(shorten),
            ("allOf" | "anyOf" | "oneOf" | "prefixItems", Value::Array(schemas)) => {
                schemas.iter_mut().for_each(shorten);
            }
            ("items" | "additionalProperties" | "not", schema) => shorten(schema),
            _ => {}
        }
    }
}

/// The methods that a version names: those of agents and clients, requests and notifications.
fn methods<Request: JsonSchema, Notification: JsonSchema, General: JsonSchema>(
    known: &Map<String, Value>,
) -> BTreeSet<String> {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let _ = generator.subschema_for::<Request>();
    let _ = generator.subschema_for::<Notification>();
    let _ = generator.subschema_for::<General>();
    let sent = generator.take_definitions(true);
    let named = |schema: &Value| Some(schema.get("x-method")?.as_str()?.to_owned());
    known.values().chain(sent.values()).filter_map(named).collect()
}

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    let v1 = definitions::<v1::AgentResponse, v1::AgentRequest, v1::AgentNotification>();
    let v2 = definitions::<v2::AgentResponse, v2::AgentRequest, v2::AgentNotification>();
    let methods = json!({
        "v1": methods::<v1::ClientRequest, v1::ClientNotification, v1::ProtocolLevelNotification>(&v1),
        "v2": methods::<v2::ClientRequest, v2::ClientNotification, v2::ProtocolLevelNotification>(&v2),
    });
    let folder = PathBuf::from(env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?);
    fs::write(folder.join("methods.json"), methods.to_string())?;
    Ok(fs::write(folder.join("schemas.json"), json!({ "v1": v1, "v2": v2 }).to_string())?)
}
