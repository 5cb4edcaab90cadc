use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, is_reason, stop_reason};

pub(super) static CHECK: Check = Check {
    id: "turns/cancel-tool",
    force: Force::Must,
    spec: "protocol/v1/prompt-turn",
    summary: "ends a turn with `cancelled` when it is cancelled while a command runs",
    why: "On `session/cancel`, the agent must respond with the stop reason `cancelled` once all operations are \
          aborted, even if it waits for a tool. A person who stops an agent often does so because of a \
          command that never ends.",
    fix: "Abort the tools of the turn on `session/cancel`, and respond with `cancelled`.",
    begins: r#"client {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"$SESSION","prompt":[{"type":"text","text":"$PROMPT"}]}}
model calls shell running
agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"tool_call","toolCallId":"$CALL","title":"$TITLE","kind":"execute","status":"pending"}}}
agent {"jsonrpc":"2.0","id":9,"method":"session/request_permission","params":{"sessionId":"$SESSION","toolCall":{"toolCallId":"$CALL"},"options":[{"optionId":"allow","name":"Allow","kind":"allow_once"},{"optionId":"reject","name":"Reject","kind":"reject_once"}]}}
client {"jsonrpc":"2.0","id":9,"result":{"outcome":{"outcome":"selected","optionId":"allow"}}}
client {"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"$SESSION"}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":3,"result":{"stopReason":"cancelled"}}"#,
    run: Run::Talk(Setup::Session, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    let interrupted = agent.interrupted_command().await?;
    is_reason(&stop_reason(interrupted.ended?)?, "cancelled")
}
