use super::{Check, CheckFailure, Force, NO_SESSION, Run, Setup, StartedAgent, json};
use crate::examination::agent::refused;

pub(super) static CHECK: Check = Check {
    id: "protocol/prompt-unknown-session",
    force: Force::Observed,
    spec: "protocol/v1/schema",
    summary: "refuses a prompt for an unknown session",
    why: "The schema defines a code for resources that are not found. A client that receives the end of a turn assumes \
          that the prompt was processed.",
    fix: "Answer `session/prompt` for an unknown session with an error, such as -32002, or end the turn with the stop \
          reason `refusal`.",
    begins: r#"client {"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"acp-registry-no-such-session","prompt":[{"type":"text","text":"Hello"}]}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn"}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":2,"error":{"code":-32002,"message":"Resource not found"}}"#,
    run: Run::Talk(Setup::Shared, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    let params = json!({ "sessionId": NO_SESSION, "prompt": [{ "type": "text", "text": "Hello" }] });
    let answer = agent.ask("session/prompt", &params).await?;
    // A turn that ends with a refusal also informs the client.
    if matches!(&answer, Ok(result) if result["stopReason"] == "refusal") {
        return Ok(());
    }
    refused(&answer, "`session/prompt` for an unknown session")
}
