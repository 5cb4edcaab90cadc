use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, fail, json, not_exercised};

pub(super) static CHECK: Check = Check {
    id: "turns/cancel-request",
    force: Force::Must,
    spec: "protocol/v1/cancellation",
    summary: "answers a prompt that `$/cancel_request` cancels, with a result or the error -32800",
    why: "Cancelling requests is optional. An agent that does it must still answer the original request: with a \
          valid result, or with an error of the code -32800. Another error is shown to the person.",
    fix: "Answer the request with the stop reason `cancelled`, or with the error -32800, or ignore the notification.",
    begins: r#"client {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"$SESSION","prompt":[{"type":"text","text":"$PROMPT"}]}}
model sends Waiting
agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"$CHUNK"}}}}
client {"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":3}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"Aborted"}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":3,"error":{"code":-32800,"message":"Request cancelled"}}"#,
    run: Run::Talk(Setup::Session, |agent| Box::pin(run(agent))),
};

/// The code of the error for a request that was cancelled.
const CANCELLED: i64 = -32_800;

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    let session = agent.shared_session().await?;
    let turn = agent.stalled_turn(&session).await?;
    agent.notify("$/cancel_request", &json!({ "requestId": turn.id })).await;
    let has_reacted = agent.shows(&turn, |agent| agent.other_ids().any(|id| *id == turn.id)).await?;
    if !has_reacted {
        agent.cancel(&turn).await;
    }
    let ended = agent.ended(&turn).await;
    if !matches!(ended, Ok(Ok(_))) {
        // The turn may go on.
        agent.session = None;
    }
    match ended? {
        _ if !has_reacted => not_exercised("the agent does not cancel requests on `$/cancel_request`"),
        Ok(_) => Ok(()),
        Err(error) if error.code == Some(CANCELLED) => Ok(()),
        Err(error) => fail(format!("answers a request that was cancelled with {error}")),
    }
}
