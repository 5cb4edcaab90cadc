use std::collections::BTreeMap;

use super::{Check, CheckFailure, Force, Run, SessionUpdate, Setup, StartedAgent, fail, needs, quote};

pub(super) static CHECK: Check = Check {
    id: "turns/tool-call-status",
    force: Force::Should,
    spec: "protocol/v1/tool-calls",
    summary: "moves the status of a tool call only forward",
    why: "A tool call is pending until it runs, then in progress, and at last completed or failed. Its id is unique \
          within the session. Clients show the status and keep what a finished call has produced.",
    fix: "Use a new id for each tool call, and send no status of an earlier stage.",
    begins: r#"client {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"$SESSION","prompt":[{"type":"text","text":"$PROMPT"}]}}
model calls shell status
agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"tool_call","toolCallId":"$CALL","title":"$TITLE","kind":"execute","status":"pending"}}}
agent {"jsonrpc":"2.0","id":9,"method":"session/request_permission","params":{"sessionId":"$SESSION","toolCall":{"toolCallId":"$CALL"},"options":[{"optionId":"allow","name":"Allow","kind":"allow_once"},{"optionId":"reject","name":"Reject","kind":"reject_once"}]}}
client {"jsonrpc":"2.0","id":9,"result":{"outcome":{"outcome":"selected","optionId":"allow"}}}"#,
    fails: r#"agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"tool_call_update","toolCallId":"$CALL","status":"completed"}}}
agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"tool_call_update","toolCallId":"$CALL","status":"in_progress"}}}"#,
    passes: r#"agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"tool_call_update","toolCallId":"$CALL","status":"in_progress"}}}
agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"tool_call_update","toolCallId":"$CALL","status":"completed"}}}"#,
    run: Run::Talk(Setup::Session, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    let session = agent.shared_session().await?;
    let mut stages = BTreeMap::new();
    // The ids of one turn must not appear again in the next.
    for _ in 0..2 {
        let (turn, _) = agent.play_command(&session, "status.txt", "Status").await?;
        agent.end_with_tools(&turn).await?;
        agent.has_text(&turn, "Status").await;
        advance(&mut stages, &agent.updates(&turn))?;
    }
    needs(!stages.is_empty(), "the agent reports no tool call")
}

/// Follows the stages of tool calls, by their ids.
fn advance(stages: &mut BTreeMap<String, usize>, updates: &[&SessionUpdate]) -> Result<(), CheckFailure> {
    for update in updates {
        let is_new = update.kind() == "tool_call";
        if !is_new && update.kind() != "tool_call_update" {
            continue;
        }
        let id = update.body["toolCallId"].as_str().unwrap_or_default();
        let status = update.body["status"].as_str();
        let Some(stage) = status.or(is_new.then_some("pending")).and_then(stage) else { continue };
        let before = stages.insert(id.to_owned(), stage).unwrap_or_default();
        if stage < before {
            let (id, status) = (quote(id), quote(status.unwrap_or("pending")));
            return fail(format!("sets the tool call {id} back to the status {status}"));
        }
    }
    Ok(())
}

/// The stage of a status. Unknown ones are a matter of the schema.
fn stage(status: &str) -> Option<usize> {
    match status {
        "pending" => Some(0),
        "in_progress" => Some(1),
        "completed" | "failed" => Some(2),
        _ => None,
    }
}
