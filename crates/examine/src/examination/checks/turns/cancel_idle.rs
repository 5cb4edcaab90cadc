use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, ensure, json};

pub(super) static CHECK: Check = Check {
    id: "turns/cancel-idle",
    force: Force::Must,
    spec: "protocol/v1/prompt-turn",
    summary: "ignores `session/cancel` between two turns",
    why: "Notifications never receive responses, and a client may cancel a turn at the moment in which it ends. The \
          next prompt is a turn of its own.",
    fix: "Ignore `session/cancel` for a session without a turn, and remember nothing of it.",
    begins: r#"client {"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"$SESSION"}}
client {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"$SESSION","prompt":[{"type":"text","text":"$PROMPT"}]}}
model sends Idle"#,
    fails: r#"agent {"jsonrpc":"2.0","id":3,"result":{"stopReason":"cancelled"}}"#,
    passes: r#"agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"$CHUNK"}}}}
agent {"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}"#,
    run: Run::Talk(Setup::Session, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    let session = agent.shared_session().await?;
    agent.notify("session/cancel", &json!({ "sessionId": session.id })).await;
    agent.is_alive("`session/cancel` between two turns").await?;
    ensure(agent.nameless_answer().is_none(), "answers `session/cancel`, which is a notification")?;
    agent.goes_on(&session, "`session/cancel` between two turns", "Idle").await
}
