use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, needs};

pub(super) static CHECK: Check = Check {
    id: "turns/mcp-tools",
    force: Force::Observed,
    spec: "protocol/v1/session-setup",
    summary: "calls a tool of an MCP server of the session",
    why: "MCP servers give agents access to tools and data. The agent offers their tools to the model, calls them, and \
          passes the results to the model.",
    fix: "Send `tools/call` to the server that has the tool, and add the result to the next request to the model.",
    begins: r#"client {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"$SESSION","prompt":[{"type":"text","text":"$PROMPT"}]}}
model calls acp_registry_echo Echo"#,
    fails: r#"agent {"jsonrpc":"2.0","id":9,"method":"session/request_permission","params":{"sessionId":"$SESSION","toolCall":{"toolCallId":"$CALL"},"options":[{"optionId":"reject","name":"Allow","kind":"allow_once"},{"optionId":"allow","name":"Reject","kind":"reject_once"}]}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":9,"method":"session/request_permission","params":{"sessionId":"$SESSION","toolCall":{"toolCallId":"$CALL"},"options":[{"optionId":"allow","name":"Allow","kind":"allow_once"},{"optionId":"reject","name":"Reject","kind":"reject_once"}]}}
client {"jsonrpc":"2.0","id":9,"result":{"outcome":{"outcome":"selected","optionId":"allow"}}}
agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"tool_call_update","toolCallId":"$CALL","status":"in_progress"}}}"#,
    run: Run::Talk(Setup::Session, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    let server = agent.mcp_server("turns")?;
    let (session, record) = agent.session_with(&server).await?;
    needs(record.has("tools/list"), "the agent does not ask an MCP server for its tools when it opens a session")?;
    let turn = agent.play_echo(&session, "Echo").await?;
    agent.end_with_tools(&turn).await?;
    agent.has_echoed(&server, &turn, "Echo")?;
    agent.kept.spare.push(session);
    Ok(())
}
