use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, error_of_code, json, not_exercised};
use crate::examination::agent::needs_sign_in;
use crate::examination::messages::RpcError;

pub(super) static CHECK: Check = Check {
    id: "protocol/wrong-params",
    force: Force::Must,
    spec: "protocol/v1/overview",
    summary: "answers invalid parameters with the code -32602",
    why: "All methods follow the error handling of JSON-RPC 2.0, which defines a code for invalid parameters. It shows \
          developers of clients where their mistake is.",
    fix: "Check the types of parameters, and answer invalid ones with the code -32602.",
    begins: r#"client {"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":7}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":2,"result":{"sessionId":"s1"}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"Invalid params"}}"#,
    run: Run::Talk(Setup::Shared, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    // An agent that does not know a method does not look at its parameters.
    let is_unknown = |error: &RpcError| error.code == Some(-32_601);
    let mut answer = agent.ask("session/new", &json!({ "cwd": 7 })).await?;
    if matches!(&answer, Err(error) if error.asks_for_sign_in() || is_unknown(error)) {
        answer = agent.ask("session/prompt", &json!({ "sessionId": 7, "prompt": 7 })).await?;
    }
    match &answer {
        Err(error) if error.asks_for_sign_in() => not_exercised(needs_sign_in(error)),
        Err(error) if is_unknown(error) => {
            not_exercised(format!("the agent knows neither `session/new` nor `session/prompt`: {error}"))
        }
        _ => error_of_code(&answer, -32_602, "parameters of the wrong type"),
    }
}
