use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, fail, json, not_exercised};
use crate::examination::drafts::connection;

pub(super) static CHECK: Check = Check {
    id: "drafts/mcp-callback",
    force: Force::Must,
    spec: "rfds/mcp-over-acp",
    summary: "answers requests of the client's MCP server",
    why: "Once connected, `mcp/message` is bidirectional: the server can send requests and notifications to the agent, \
          such as `ping`, which every MCP client answers. A server that gets no answer takes the connection for \
          broken.",
    fix: "Pass each `mcp/message` to the MCP client of the connection, and answer with its result.",
    begins: r#"client {"jsonrpc":"2.0","id":4,"method":"mcp/message","params":{"connectionId":"$CONNECTION","method":"ping"}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":4,"error":{"code":-32601,"message":"Method not found"}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":4,"result":{}}"#,
    run: Run::Talk(Setup::Draft, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    let calls = agent.calls_to_server("server-callback").await?;
    let is_closed = calls.iter().any(|call| call.method == "mcp/disconnect");
    if is_closed || !agent.client.drafts.is_connected(&connection(1).into()) {
        return not_exercised("the agent has not opened, or has closed the connection to the server");
    }
    let params = json!({ "connectionId": connection(1), "method": "ping" });
    match agent.ask("mcp/message", &params).await? {
        Ok(result) if result.is_object() => Ok(()),
        Ok(_) => fail("answers `ping` of the MCP server with a result that is not an object"),
        Err(error) => fail(format!("answers `ping` of the MCP server with {error}")),
    }
}
