use super::{Check, CheckFailure, Force, PRECONDITION, Run, Setup, StartedAgent, error_of_code, json, not_exercised};

pub(super) static CHECK: Check = Check {
    id: "drafts/inject-delivered",
    force: Force::Must,
    spec: "rfds/v2/session-inject",
    summary: "refuses to revoke a message that was delivered",
    why: "At or after the `user_message`, revoking must return the error -32010 with the reason `already_delivered`. \
          With a result, the client removes a message that the model has read.",
    fix: "Remember the ids of delivered messages, and answer their revocation with the error -32010.",
    begins: r#"client {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"$SESSION","prompt":[{"type":"text","text":"Run the command `touch acp-registry-delivered` in a shell."}]}}
agent {"jsonrpc":"2.0","id":3,"result":{"messageId":"u-1"}}
agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"state_update","state":"running"}}}
agent {"jsonrpc":"2.0","id":"p-delivered","method":"session/request_permission","params":{"sessionId":"$SESSION","title":"Run a command?","toolCall":{"toolCallId":"call"},"options":[{"optionId":"yes","name":"Allow","kind":"allow_once"},{"optionId":"no","name":"Reject","kind":"reject_once"}]}}
client {"jsonrpc":"2.0","id":4,"method":"session/inject","params":{"sessionId":"$SESSION","mode":"queue","content":[{"type":"text","text":"Then say `delivered`."}]}}
agent {"jsonrpc":"2.0","id":4,"result":{"messageId":"delivered-1"}}
client {"jsonrpc":"2.0","id":"p-delivered","result":{"outcome":{"outcome":"selected","optionId":"yes"}}}
agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"state_update","state":"idle","stopReason":"end_turn"}}}
agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"user_message","messageId":"delivered-1","content":[{"type":"text","text":"Then say `delivered`."}]}}}
client {"jsonrpc":"2.0","id":5,"method":"session/revoke_inject","params":{"sessionId":"$SESSION","messageId":"delivered-1"}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":5,"result":{}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":5,"error":{"code":-32010,"message":"Inject precondition failed","data":{"reason":"already_delivered"}}}"#,
    run: Run::Talk(Setup::Next, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    agent.needs_inject("queue")?;
    let session = agent.hold_turn("delivered").await?.session;
    let message = agent.queued(&session, "Then say `delivered`.").await?;
    agent.allow().await;
    if agent.until(|agent| agent.delivery(&session, &message).is_some()).await.is_err() {
        return not_exercised("the agent does not deliver the message of this check");
    }
    let params = json!({ "sessionId": session, "messageId": message });
    let answer = agent.ask("session/revoke_inject", &params).await?;
    error_of_code(&answer, PRECONDITION, "the revocation of a delivered message")
}
