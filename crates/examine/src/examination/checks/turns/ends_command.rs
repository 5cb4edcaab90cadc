use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, fail};

pub(super) static CHECK: Check = Check {
    id: "turns/ends-command",
    force: Force::Should,
    spec: "protocol/v1/prompt-turn",
    summary: "ends the command of a turn that is cancelled",
    why: "On `session/cancel`, the agent should stop all tool calls as soon as possible, and responds when all \
          operations are aborted. A command that runs on changes files although the person has stopped the agent.",
    fix: "End the processes that the tools of the turn have started, with their children, before the response \
          `cancelled`.",
    begins: r#"client {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"$SESSION","prompt":[{"type":"text","text":"$PROMPT"}]}}
model calls shell running
agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"tool_call","toolCallId":"$CALL","title":"$TITLE","kind":"execute","status":"pending"}}}
agent {"jsonrpc":"2.0","id":9,"method":"session/request_permission","params":{"sessionId":"$SESSION","toolCall":{"toolCallId":"$CALL"},"options":[{"optionId":"allow","name":"Allow","kind":"allow_once"},{"optionId":"reject","name":"Reject","kind":"reject_once"}]}}
client {"jsonrpc":"2.0","id":9,"result":{"outcome":{"outcome":"selected","optionId":"allow"}}}
client {"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"$SESSION"}}"#,
    fails: r#"agent lets the command run on
agent {"jsonrpc":"2.0","id":3,"result":{"stopReason":"cancelled"}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":3,"result":{"stopReason":"cancelled"}}"#,
    run: Run::Talk(Setup::Session, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    let interrupted = agent.interrupted_command().await?;
    match interrupted.ended {
        Ok(_) if interrupted.runs_on => fail("lets a command run on after the turn was cancelled"),
        Ok(_) => Ok(()),
        Err(failure) => Err(failure.with("after `session/cancel`").into_obstacle()),
    }
}
