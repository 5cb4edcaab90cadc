use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, ensure};

pub(super) static CHECK: Check = Check {
    id: "sessions/mcp-server",
    force: Force::Should,
    spec: "protocol/v1/session-setup",
    summary: "connects to the MCP servers of a session",
    why: "All agents must support the stdio transport, and should connect to all servers that the client specifies. \
          The check gives a server, and looks whether it was started and received `initialize`.",
    fix: "Start each server of `mcpServers` in `session/new`, and send it `initialize`.",
    begins: r#"client {"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"$WORK","mcpServers":[{"name":"acp-registry","command":"$PROGRAM","args":["__mcp","$RECORD"],"env":[{"name":"ACP_REGISTRY_MCP","value":"$VALUE"}]}]}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":2,"result":{"sessionId":"$NEW"}}"#,
    passes: r#"agent starts the MCP server
agent {"jsonrpc":"2.0","id":2,"result":{"sessionId":"$NEW"}}"#,
    run: Run::Talk(Setup::Session, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    let record = agent.mcp_session().await?;
    ensure(!record.started.is_empty(), "does not start the MCP server of a new session")?;
    ensure(record.has("initialize"), "starts the MCP server of a new session, but sends it no `initialize`")
}
