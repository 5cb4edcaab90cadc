use serde_json::Value;

use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, fail, json, not_exercised};

pub(super) static CHECK: Check = Check {
    id: "protocol/unknown-auth-method",
    force: Force::Observed,
    spec: "protocol/v1/authentication",
    summary: "refuses an unknown authentication method",
    why: "The `methodId` that a client passes to `authenticate` must be one that the agent has advertised. If the \
          agent accepts another one, the client assumes that the user has signed in.",
    fix: "Answer `authenticate` with an error, such as -32602, if the `methodId` is unknown.",
    begins: r#"client {"jsonrpc":"2.0","id":2,"method":"authenticate","params":{"methodId":"acp-registry-no-such-method"}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":2,"result":{}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"Invalid params"}}"#,
    run: Run::Talk(Setup::Shared, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    if agent.result().get("authMethods").and_then(Value::as_array).is_none_or(Vec::is_empty) {
        return not_exercised("the agent advertises no `authMethods`");
    }
    match agent.ask("authenticate", &json!({ "methodId": "acp-registry-no-such-method" })).await? {
        Ok(_) => fail("accepts a `methodId` that it has not advertised"),
        Err(_) => Ok(()),
    }
}
