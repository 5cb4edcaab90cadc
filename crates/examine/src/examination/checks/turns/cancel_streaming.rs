use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, is_reason, stop_reason};

pub(super) static CHECK: Check = Check {
    id: "turns/cancel-streaming",
    force: Force::Must,
    spec: "protocol/v1/prompt-turn",
    summary: "ends a turn with `cancelled` when it is cancelled while text arrives",
    why: "After `session/cancel`, the agent should stop all requests to the model as soon as possible, and must \
          respond to `session/prompt` with the stop reason `cancelled`, not with an error.",
    fix: "Abort the request to the model on `session/cancel`, catch the error that this causes, and respond with \
          `cancelled`.",
    begins: r#"client {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"$SESSION","prompt":[{"type":"text","text":"$PROMPT"}]}}
model sends Waiting
agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"$CHUNK"}}}}
client {"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"$SESSION"}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"The operation was aborted"}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":3,"result":{"stopReason":"cancelled"}}"#,
    run: Run::Talk(Setup::Session, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    let cancelled = agent.cancelled_turn().await?;
    is_reason(&stop_reason(cancelled.ended?)?, "cancelled")
}
