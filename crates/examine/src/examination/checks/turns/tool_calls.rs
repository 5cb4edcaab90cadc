use std::collections::BTreeMap;

use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, ensure, fail, quote};

pub(super) static CHECK: Check = Check {
    id: "turns/tool-calls",
    force: Force::Should,
    spec: "protocol/v1/tool-calls",
    summary: "reports each tool call with its outcome",
    why: "When the model requests a tool, the agent should report it with `tool_call`, and later updates refer to it \
          by its id. When the tool has run, the agent sends the final status: `completed` or `failed`.",
    fix: "Send a `tool_call` when the model requests a tool, and a `tool_call_update` with the final status before \
          the next request to the model.",
    begins: r#"client {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"$SESSION","prompt":[{"type":"text","text":"$PROMPT"}]}}
model calls shell reported
agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"tool_call","toolCallId":"$CALL","title":"$TITLE","kind":"execute","status":"pending"}}}
agent {"jsonrpc":"2.0","id":9,"method":"session/request_permission","params":{"sessionId":"$SESSION","toolCall":{"toolCallId":"$CALL"},"options":[{"optionId":"allow","name":"Allow","kind":"allow_once"},{"optionId":"reject","name":"Reject","kind":"reject_once"}]}}
client {"jsonrpc":"2.0","id":9,"result":{"outcome":{"outcome":"selected","optionId":"allow"}}}
agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"tool_call_update","toolCallId":"$CALL","status":"in_progress"}}}"#,
    fails: r#"agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"tool_call_update","toolCallId":"$CALL","status":"in_progress"}}}"#,
    passes: r#"agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"tool_call_update","toolCallId":"$CALL","status":"completed"}}}"#,
    run: Run::Talk(Setup::Session, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    let session = agent.shared_session().await?;
    let (turn, _) = agent.play_command(&session, "reported.txt", "Reported").await?;
    agent.end_with_tools(&turn).await?;
    agent.has_text(&turn, "Reported").await;
    let mut open = BTreeMap::new();
    for update in agent.updates(&turn) {
        if update.kind().starts_with("tool_call") {
            let is_new = !update.body["toolCallId"].as_str().is_some_and(|id| open.contains_key(id));
            if is_new && update.kind() == "tool_call_update" {
                let id = quote(update.body["toolCallId"].as_str().unwrap_or_default());
                return fail(format!("updates the tool call {id}, which it has not reported"));
            }
            let id = update.body["toolCallId"].as_str().unwrap_or_default().to_owned();
            let status = update.body["status"].as_str().map(str::to_owned);
            let known: &mut Option<String> = open.entry(id).or_default();
            *known = status.or_else(|| known.take());
        }
    }
    ensure(!open.is_empty(), "does not report a tool call of the model")?;
    match open.iter().find(|(_, status)| !matches!(status.as_deref(), Some("completed" | "failed"))) {
        None => Ok(()),
        Some((id, status)) => fail(format!(
            "leaves the tool call {} with the status {} at the end of the turn",
            quote(id),
            quote(status.as_deref().unwrap_or("pending"))
        )),
    }
}
