use super::rejection::SETTLES;
use super::{Check, CheckFailure, Force, Permission, Run, Setup, StartedAgent, ensure};

pub(super) static CHECK: Check = Check {
    id: "turns/cancel-permission",
    force: Force::Must,
    spec: "protocol/v1/prompt-turn",
    summary: "ends a turn with `cancelled` when it is cancelled while a permission is open",
    why: "On `session/cancel`, the client responds to pending requests for permission with the outcome `cancelled`. \
          The agent must then respond to `session/prompt` with the stop reason `cancelled`, and the tool must not \
          run.",
    fix: "Treat the outcome `cancelled` as the end of the turn: run nothing, and respond with `cancelled`.",
    begins: r#"client {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"$SESSION","prompt":[{"type":"text","text":"$PROMPT"}]}}
model calls shell cancelled
agent {"jsonrpc":"2.0","id":9,"method":"session/request_permission","params":{"sessionId":"$SESSION","toolCall":{"toolCallId":"$CALL"},"options":[{"optionId":"allow","name":"Allow","kind":"allow_once"},{"optionId":"reject","name":"Reject","kind":"reject_once"}]}}
client {"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"$SESSION"}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"Permission denied"}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":3,"result":{"stopReason":"cancelled"}}"#,
    run: Run::Talk(Setup::Session, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    let session = agent.shared_session().await?;
    agent.client.permission = Permission::Hold;
    let (turn, file) = agent.play_command(&session, "cancelled.txt", "Not cancelled").await?;
    if !agent.until_within(&turn, agent.turn_limit(), |agent| agent.client.held() > 0).await {
        agent.end_with_tools(&turn).await?;
        return agent.needs_permission(&turn);
    }
    agent.cancel(&turn).await;
    agent.client.permission = Permission::Reject;
    agent.release_permissions(false).await;
    agent.stops_with(&turn, "cancelled").await?;
    agent.read_for(SETTLES).await;
    ensure(!file.exists(), "runs a command after the turn was cancelled")
}
