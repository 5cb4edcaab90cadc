use std::time::Duration;

use super::{Check, CheckFailure, Force, Permission, Run, Setup, StartedAgent, ensure};

pub(super) static CHECK: Check = Check {
    id: "turns/rejection",
    force: Force::Must,
    spec: "protocol/v1/tool-calls",
    summary: "does not run a tool that was rejected",
    why: "The agent may request permission before it executes a tool call, and the client responds with the decision. \
          A tool that runs although the person has rejected it makes the request meaningless.",
    fix: "Run the tool only if the response selects an option that allows it.",
    begins: r#"client {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"$SESSION","prompt":[{"type":"text","text":"$PROMPT"}]}}
model calls shell rejected"#,
    fails: r#"agent {"jsonrpc":"2.0","id":9,"method":"session/request_permission","params":{"sessionId":"$SESSION","toolCall":{"toolCallId":"$CALL"},"options":[{"optionId":"reject","name":"Allow","kind":"allow_once"},{"optionId":"allow","name":"Reject","kind":"reject_once"}]}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":9,"method":"session/request_permission","params":{"sessionId":"$SESSION","toolCall":{"toolCallId":"$CALL"},"options":[{"optionId":"allow","name":"Allow","kind":"allow_once"},{"optionId":"reject","name":"Reject","kind":"reject_once"}]}}
client {"jsonrpc":"2.0","id":9,"result":{"outcome":{"outcome":"selected","optionId":"reject"}}}
agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"tool_call_update","toolCallId":"$CALL","status":"failed"}}}"#,
    run: Run::Talk(Setup::Session, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    let session = agent.shared_session().await?;
    agent.client.permission = Permission::Reject;
    let (turn, file) = agent.play_command(&session, "rejected.txt", "Rejected").await?;
    let ended = agent.end_with_tools(&turn).await;
    if agent.permissions(&turn).is_empty() {
        ended?;
        return agent.needs_permission(&turn);
    }
    agent.read_for(SETTLES).await;
    ensure(!file.exists(), "runs a command after the permission was rejected")?;
    ended
}

/// How long a command that was started anyway may take to write its file.
pub(super) const SETTLES: Duration = Duration::from_secs(1);
