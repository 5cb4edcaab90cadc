use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent};

pub(super) static CHECK: Check = Check {
    id: "turns/after-cancel",
    force: Force::Must,
    spec: "protocol/v1/prompt-turn",
    summary: "carries out a prompt after a cancelled one",
    why: "A client may send the next prompt when a turn has ended, whatever ended it. It is a turn of its own, and \
          must end with the stop reason that applies to it.",
    fix: "Forget that a turn was cancelled when its response was sent.",
    begins: r#"client {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"$SESSION","prompt":[{"type":"text","text":"$PROMPT"}]}}
model sends Waiting
agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"$CHUNK"}}}}
client {"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"$SESSION"}}
agent {"jsonrpc":"2.0","id":3,"result":{"stopReason":"cancelled"}}
client {"jsonrpc":"2.0","id":4,"method":"session/prompt","params":{"sessionId":"$SESSION","prompt":[{"type":"text","text":"$PROMPT"}]}}
model sends After-cancel"#,
    fails: r#"agent {"jsonrpc":"2.0","id":4,"result":{"stopReason":"cancelled"}}"#,
    passes: r#"agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"$CHUNK"}}}}
agent {"jsonrpc":"2.0","id":4,"result":{"stopReason":"end_turn"}}"#,
    run: Run::Talk(Setup::Session, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    let cancelled = agent.cancelled_turn().await?;
    cancelled.needs_end()?;
    agent.goes_on(&cancelled.session, "a cancelled one", "After-cancel").await
}
