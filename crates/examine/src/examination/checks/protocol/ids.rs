use super::{Check, CheckFailure, Force, PING, Run, Setup, StartedAgent, fail, json, quote, silent};

pub(super) static CHECK: Check = Check {
    id: "protocol/ids",
    force: Force::Must,
    spec: "protocol/v1/schema",
    summary: "returns the id of a request unchanged",
    why: "A response has the id of its request, with the same type and value; clients match responses to requests by \
          it. Ids in use include strings, 0, and integers up to 2^53-1.",
    fix: "Store the id as it was received, and write it back unchanged.",
    begins: r#"client {"jsonrpc":"2.0","id":"acp-registry","method":"_acp-registry/ping","params":{}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"Method not found"}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":"acp-registry","error":{"code":-32601,"message":"Method not found"}}"#,
    run: Run::Talk(Setup::Shared, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    // Ids as clients use them. The last is the largest integer that every JSON parser represents exactly.
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
        // A response with another id belongs to no earlier request, because all of those are answered.
        if let Some(other) = agent.other_ids().next() {
            return fail(format!("answers the id {shown} with the id {}", quote(&other.to_string())));
        }
        return Err(silent(silence, PING).with(&format!("with the id {shown}")));
    }
    Ok(())
}
