use serde_json::json;

use crate::examination::agent::StartedAgent;
use crate::examination::check::{Check, Force, Level, Run, Setup};
use crate::examination::failure::CheckFailure;
use crate::mcp::{ECHO, TOOL};
use crate::model::{Script, Step, ToolCall};

pub(super) static CHECK: Check = Check {
    id: "turns/mcp-tools",
    level: Level::Turns,
    force: Force::Observed,
    spec: "protocol/v1/session-setup",
    summary: "calls a tool of an MCP server of the session",
    why: "MCP servers give agents access to tools and data. The agent offers their tools to the model, calls them, and \
          passes the results to the model.",
    fix: "Send `tools/call` to the server that has the tool, and add the result to the next request to the model.",
    fails: r#"client {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"$SESSION","prompt":[{"type":"text","text":"$PROMPT"}]}}
model calls acp_registry_echo Echo
agent {"jsonrpc":"2.0","id":9,"method":"session/request_permission","params":{"sessionId":"$SESSION","toolCall":{"toolCallId":"$CALL"},"options":[{"optionId":"reject","name":"Allow","kind":"allow_once"},{"optionId":"allow","name":"Reject","kind":"reject_once"}]}}"#,
    passes: r#"client {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"$SESSION","prompt":[{"type":"text","text":"$PROMPT"}]}}
model calls acp_registry_echo Echo
agent {"jsonrpc":"2.0","id":9,"method":"session/request_permission","params":{"sessionId":"$SESSION","toolCall":{"toolCallId":"$CALL"},"options":[{"optionId":"allow","name":"Allow","kind":"allow_once"},{"optionId":"reject","name":"Reject","kind":"reject_once"}]}}
client {"jsonrpc":"2.0","id":9,"result":{"outcome":{"outcome":"selected","optionId":"allow"}}}
agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"tool_call_update","toolCallId":"$CALL","status":"in_progress"}}}"#,
    run: Run::Talk(Setup::Session, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    let server = agent.mcp_server("turns")?;
    let mut params = agent.session_params();
    params["mcpServers"] = json!([server.params]);
    let session = agent.open_session_with(&params).await?;
    if !agent.connected(&server, |record| record.has("tools/list")).await.has("tools/list") {
        let reason = "the agent does not ask an MCP server for its tools when it opens a session";
        return Err(CheckFailure::NotExercised(reason.to_owned()));
    }
    let call = ToolCall::Named { name: TOOL.to_owned(), arguments: json!({ "text": "Echo" }) };
    let turn = agent.play(&session, Script::new(vec![Step::Call(vec![call]), Step::say("Called")])).await?;
    agent.end_with_tools(&turn).await?;
    if !agent.recorded(&server).has("tools/call") {
        return Err(CheckFailure::Fail("does not call a tool of an MCP server that the model calls".to_owned()));
    }
    let requests = turn.requests();
    if requests.iter().flat_map(|request| &request.results).any(|result| result.contains(&format!("{ECHO}Echo"))) {
        agent.kept.spare.push(session);
        return Ok(());
    }
    Err(CheckFailure::Fail("does not pass the result of an MCP server's tool to the model".to_owned()))
}
