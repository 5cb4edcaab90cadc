use serde_json::Value;

use super::{Check, CheckFailure, Force, PING, Run, Setup, StartedAgent, json, silent};

pub(super) static CHECK: Check = Check {
    id: "protocol/pipelined-requests",
    force: Force::Must,
    spec: "protocol/v1/extensibility",
    summary: "answers all requests that arrive at once",
    why: "A client may send the next request before the previous one is answered, and every request must be answered \
          with its own id.",
    fix: "Split the input into lines, even if several arrive in one read, and answer each request.",
    begins: r#"client {"jsonrpc":"2.0","id":2,"method":"_acp-registry/ping","params":{"number":1}}
agent {"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"Method not found"}}"#,
    fails: r#"client {"jsonrpc":"2.0","id":3,"method":"_acp-registry/ping","params":{"number":2}}"#,
    passes: r#"client {"jsonrpc":"2.0","id":3,"method":"_acp-registry/ping","params":{"number":2}}
agent {"jsonrpc":"2.0","id":3,"error":{"code":-32601,"message":"Method not found"}}"#,
    run: Run::Talk(Setup::Shared, |agent| Box::pin(run(agent))),
};

/// Number of requests that are sent at once.
const REQUESTS: usize = 20;

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    let ids: Vec<Value> = (1..=REQUESTS).map(|number| json!(format!("pipelined-{number}"))).collect();
    let lines: Vec<String> =
        ids.iter().zip(1..).map(|(id, number)| agent.request_line(id, PING, &json!({ "number": number }))).collect();
    agent.write(&lines.concat()).await;
    for (answered, id) in ids.iter().enumerate() {
        let Err(silence) = agent.answer(id).await else { continue };
        return Err(match silent(silence, PING) {
            CheckFailure::Silent(_) if answered > 0 => {
                CheckFailure::Fail(format!("does not answer all of {REQUESTS} requests that arrive at once"))
            }
            other => other,
        });
    }
    Ok(())
}
