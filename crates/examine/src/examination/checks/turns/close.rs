use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, fail, is_reason, json, stop_reason};

pub(super) static CHECK: Check = Check {
    id: "turns/close",
    force: Force::Must,
    spec: "protocol/v1/session-setup",
    summary: "cancels the turn of a session that is closed, and of no other",
    why: "On `session/close`, the agent must cancel the work of the session as if `session/cancel` had been called. \
          Otherwise the prompt gets no response, and the agent continues to work without a client.",
    fix: "Cancel the turn first, respond to its prompt with the stop reason `cancelled`, and then close the \
          session.",
    begins: r#"client {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"$SESSION","prompt":[{"type":"text","text":"$PROMPT"}]}}
model sends Waiting
agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"$CHUNK"}}}}
client {"jsonrpc":"2.0","id":4,"method":"session/close","params":{"sessionId":"$SESSION"}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"The session is closed"}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":3,"result":{"stopReason":"cancelled"}}"#,
    run: Run::Talk(Setup::Session, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    agent.needs("/sessionCapabilities/close")?;
    let other = agent.shared_session().await?;
    let session = agent.open_session().await?;
    let turn = agent.stalled_turn(&session).await?;
    let closed = agent.ask("session/close", &json!({ "sessionId": session.id })).await?;
    let ended = agent.ended(&turn).await.map_err(|failure| failure.with("after `session/close`"))?;
    if let Err(error) = closed {
        return fail(format!("answers `session/close` in a turn with {error}"));
    }
    is_reason(&stop_reason(ended)?, "cancelled").map_err(|failure| failure.with("after `session/close`"))?;
    agent.goes_on(&other, "`session/close` of another session", "After-close").await
}
