use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, error_of_code, json};

pub(super) static CHECK: Check = Check {
    id: "drafts/inject-unknown",
    force: Force::Must,
    spec: "rfds/v2/session-inject",
    summary: "refuses to revoke an unknown message",
    why: "The error for an unknown id is -32002, with the reason `unknown_message_id`. With a result, a client removes \
          a message that is still pending under another id.",
    fix: "Answer with the error -32002 if no pending or delivered message has the id.",
    begins: r#"client {"jsonrpc":"2.0","id":4,"method":"session/revoke_inject","params":{"sessionId":"$SESSION","messageId":"acp-registry-no-such-message"}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":4,"result":{}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":4,"error":{"code":-32002,"message":"Resource not found","data":{"reason":"unknown_message_id"}}}"#,
    run: Run::Talk(Setup::Next, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    agent.needs_version_2()?;
    agent.needs("/session/inject")?;
    let session = agent.open_session().await?;
    let params = json!({ "sessionId": session.id, "messageId": "acp-registry-no-such-message" });
    let answer = agent.ask("session/revoke_inject", &params).await?;
    error_of_code(&answer, -32_002, "the revocation of an unknown message")
}
