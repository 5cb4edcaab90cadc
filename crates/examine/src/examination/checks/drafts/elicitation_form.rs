use acp_registry_plan::text::quote;
use serde_json::Value;

use crate::examination::agent::StartedAgent;
use crate::examination::check::{Check, Force, Level, Run, Setup};
use crate::examination::failure::CheckFailure;

pub(super) static CHECK: Check = Check {
    id: "drafts/elicitation-form",
    level: Level::Drafts,
    force: Force::Must,
    spec: "rfds/elicitation",
    summary: "asks with a form that has only fields of simple types",
    why: "A form of `elicitation/create` has a `message`, a `requestedSchema` that is an object of strings, numbers, \
          booleans and choices, and a `sessionId` or a `requestId`. Other types are not supported: the client cannot \
          show the form.",
    fix: "Ask for complex data in several fields of simple types.",
    fails: r#"client {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"$SESSION","prompt":[{"type":"text","text":"Ask me which color to use."}]}}
agent {"jsonrpc":"2.0","id":"e-1","method":"elicitation/create","params":{"sessionId":"$SESSION","mode":"form","message":"Which color?","requestedSchema":{"type":"object","properties":{"color":{"type":"object","properties":{}}}}}}
client {"jsonrpc":"2.0","id":"e-1","result":{"action":"accept"}}
agent {"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}"#,
    passes: r#"client {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"$SESSION","prompt":[{"type":"text","text":"Ask me which color to use."}]}}
agent {"jsonrpc":"2.0","id":"e-1","method":"elicitation/create","params":{"sessionId":"$SESSION","mode":"form","message":"Which color?","requestedSchema":{"type":"object","properties":{"color":{"type":"string","enum":["red","green"]}},"required":["color"]}}}
client {"jsonrpc":"2.0","id":"e-1","result":{"action":"accept"}}
agent {"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}"#,
    run: Run::Talk(Setup::Draft, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    let session = agent.open_session().await?;
    let asked = agent.asks(&session.id, "Ask me which color to use.").await?;
    match asked.iter().find_map(problem) {
        Some(problem) => Err(CheckFailure::Fail(format!("sends `elicitation/create` {problem}"))),
        None => Ok(()),
    }
}

/// What is wrong with a request, if anything.
fn problem(params: &Value) -> Option<String> {
    // The base of extensions: the client refuses their modes.
    if params["mode"].as_str().is_some_and(|mode| mode.starts_with('_')) {
        return None;
    }
    if params["mode"] != "form" {
        let mode = quote(params["mode"].as_str().unwrap_or_default());
        return Some(format!("with the mode {mode}, which the client has not advertised"));
    }
    if !params["message"].is_string() {
        return Some("without a `message`".to_owned());
    }
    if params["sessionId"].is_null() == params["requestId"].is_null() {
        return Some("without exactly one of `sessionId` and `requestId`".to_owned());
    }
    let schema = &params["requestedSchema"];
    let Some(properties) = schema["properties"].as_object().filter(|_| schema["type"] == "object") else {
        return Some("with a `requestedSchema` that is not an object with `properties`".to_owned());
    };
    let wrong = properties.iter().find(|(_, property)| !is_simple(property));
    wrong.map(|(name, _)| format!("with the field {}, which is of no simple type", quote(name)))
}

fn is_simple(property: &Value) -> bool {
    match property["type"].as_str() {
        Some("string" | "number" | "integer" | "boolean") => true,
        Some("array") => property["items"]["anyOf"].is_array() || property["items"]["enum"].is_array(),
        Some(extension) => extension.starts_with('_'),
        None => false,
    }
}
