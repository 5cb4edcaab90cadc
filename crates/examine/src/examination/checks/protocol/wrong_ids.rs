use super::{Check, CheckFailure, Force, PING, Run, Setup, StartedAgent, json};

pub(super) static CHECK: Check = Check {
    id: "protocol/wrong-ids",
    force: Force::Observed,
    spec: "protocol/v1/overview",
    summary: "stays usable after a request whose id has a wrong type",
    why: "The id of a request is a string, a number or `null` in JSON-RPC 2.0. A client with a fault may send \
          another one; it must not end the sessions that the agent has.",
    fix: "Answer such a request with the error -32600 and the id `null`, or ignore it.",
    begins: r#"client {"jsonrpc":"2.0","id":{},"method":"_acp-registry/ping","params":{}}"#,
    fails: "agent ends",
    passes: r#"agent {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid request"}}"#,
    run: Run::Talk(Setup::Shared, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    for id in [json!({}), json!([1]), json!(true)] {
        agent.request_as(&id, PING, &json!({})).await;
        agent.is_alive(&format!("a request with the id `{id}`")).await?;
        // An answer without the id is right.
        let _ = agent.nameless_answer();
    }
    Ok(())
}
