use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, fail};

pub(super) static CHECK: Check = Check {
    id: "turns/cancel-updates",
    force: Force::Must,
    spec: "protocol/v1/prompt-turn",
    summary: "sends no update of a cancelled turn after its response",
    why: "After `session/cancel`, the agent may send further updates, but must do so before it responds to \
          `session/prompt`. A client that has received the response shows later text as part of another turn.",
    fix: "Send pending updates first, and the response with `cancelled` last.",
    begins: r#"client {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"$SESSION","prompt":[{"type":"text","text":"$PROMPT"}]}}
model sends Waiting
agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"$CHUNK"}}}}
client {"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"$SESSION"}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":3,"result":{"stopReason":"cancelled"}}
agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Stopped"}}}}"#,
    passes: r#"agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Stopped"}}}}
agent {"jsonrpc":"2.0","id":3,"result":{"stopReason":"cancelled"}}"#,
    run: Run::Talk(Setup::Session, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    let cancelled = agent.cancelled_turn().await?;
    cancelled.needs_end()?;
    match cancelled.late {
        None => Ok(()),
        Some(kind) => fail(format!("sends an update of the kind {kind} after it ended the turn as cancelled")),
    }
}
