use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, WATCHED, ensure, fail, json};

pub(super) static CHECK: Check = Check {
    id: "drafts/inject-revoke",
    force: Force::Must,
    spec: "rfds/v2/session-inject",
    summary: "drops a pending message that is revoked",
    why: "Support for `session/revoke_inject` is mandatory with `session/inject`. Before the delivery, which is the \
          `user_message`, revoking succeeds, and the message must not be delivered.",
    fix: "Remove the message from the pending ones, and answer with a result.",
    begins: r#"client {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"$SESSION","prompt":[{"type":"text","text":"Run the command `touch acp-registry-revoke` in a shell."}]}}
agent {"jsonrpc":"2.0","id":3,"result":{"messageId":"u-1"}}
agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"state_update","state":"running"}}}
agent {"jsonrpc":"2.0","id":"p-revoke","method":"session/request_permission","params":{"sessionId":"$SESSION","title":"Run a command?","toolCall":{"toolCallId":"call"},"options":[{"optionId":"yes","name":"Allow","kind":"allow_once"},{"optionId":"no","name":"Reject","kind":"reject_once"}]}}
client {"jsonrpc":"2.0","id":4,"method":"session/inject","params":{"sessionId":"$SESSION","mode":"queue","content":[{"type":"text","text":"Then say `revoked`."}]}}
agent {"jsonrpc":"2.0","id":4,"result":{"messageId":"revoked-1"}}
client {"jsonrpc":"2.0","id":5,"method":"session/revoke_inject","params":{"sessionId":"$SESSION","messageId":"revoked-1"}}
agent {"jsonrpc":"2.0","id":5,"result":{}}
client {"jsonrpc":"2.0","id":"p-revoke","result":{"outcome":{"outcome":"selected","optionId":"yes"}}}"#,
    fails: r#"agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"state_update","state":"idle","stopReason":"end_turn"}}}
agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"user_message","messageId":"revoked-1","content":[{"type":"text","text":"Then say `revoked`."}]}}}"#,
    passes: r#"agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"state_update","state":"idle","stopReason":"end_turn"}}}"#,
    run: Run::Talk(Setup::Next, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    agent.needs_inject("queue")?;
    let session = agent.hold_turn("revoke").await?.session;
    let message = agent.queued(&session, "Then say `revoked`.").await?;
    let params = json!({ "sessionId": session, "messageId": message });
    if let Err(error) = agent.ask("session/revoke_inject", &params).await? {
        return fail(format!("answers the revocation of a pending message with {error}"));
    }
    agent.allow().await;
    // A silent agent is noticed by other checks.
    let _ = agent.until(|agent| agent.is_idle(&session)).await;
    agent.read_for(WATCHED).await;
    ensure(agent.delivery(&session, &message).is_none(), "delivers a message that was revoked")
}
