use acp_registry_core::text::quote;
use serde_json::json;

use crate::examination::agent::{Agent, PING, Trouble, silent};
use crate::examination::check::{Check, Force, Run, Setup};
use crate::examination::level::Level;

pub(super) static CHECK: Check = Check {
    id: "protocol/ids",
    level: Level::Protocol,
    force: Force::Must,
    spec: "protocol/v1/schema",
    summary: "echoes the id of a request as it was sent",
    why: "An answer has the id of its request, of the same type and value; clients find the request by it. Strings, 0 and integers up to 2^53-1 are in use.",
    fix: "Keep the id as it was read, and write it unchanged.",
    fails: r#"client {"jsonrpc":"2.0","id":"acp-registry","method":"_acp-registry/ping","params":{}}
agent {"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"Method not found"}}"#,
    passes: r#"client {"jsonrpc":"2.0","id":"acp-registry","method":"_acp-registry/ping","params":{}}
agent {"jsonrpc":"2.0","id":"acp-registry","error":{"code":-32601,"message":"Method not found"}}"#,
    run: Run::Talk(Setup::Shared, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut Agent) -> Result<(), Trouble> {
    // Each as many clients have it; the last is the largest integer that every reader of JSON knows exactly.
    for id in [
        json!("acp-registry"),
        json!("7"),
        json!("0b7e5d0c-2f4d-4f0e-9a55-5f2f8f3c9d01"),
        json!(0),
        json!((1_u64 << 53) - 1),
    ] {
        agent.request_as(&id, PING, &json!({})).await;
        let Err(silence) = agent.answer(&id).await else { continue };
        let shown = quote(&id.to_string());
        // What came instead belongs to no request of this check.
        if let Some(other) = agent.other_ids().next() {
            return Err(Trouble::Fail(format!("answers the id {shown} with the id {}", quote(&other.to_string()))));
        }
        return Err(match silent(silence, PING) {
            Trouble::Silent(text) => Trouble::Silent(format!("{text} with the id {shown}")),
            Trouble::Fail(text) => Trouble::Fail(format!("{text} with the id {shown}")),
            other @ Trouble::NotExercised(_) => other,
        });
    }
    Ok(())
}
