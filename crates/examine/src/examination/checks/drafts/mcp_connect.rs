use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, fail, quote};

pub(super) static CHECK: Check = Check {
    id: "drafts/mcp-connect",
    force: Force::Must,
    spec: "rfds/mcp-over-acp",
    summary: "connects to an MCP server of the client by its id",
    why: "The `acpId` in `mcp/connect` matches the `id` with which the client has declared the server in \
          `session/new`, and each `mcp/message` names the `connectionId` from the response. By other ids, the client \
          cannot find the server.",
    fix: "Send `mcp/connect` with the `id` of the server, and use the `connectionId` from its response.",
    begins: r#"client {"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"$WORK","mcpServers":[{"type":"acp","name":"acp-registry","id":"server-connect"}]}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":2,"result":{"sessionId":"$NEW"}}
agent {"jsonrpc":"2.0","id":"m-1","method":"mcp/connect","params":{"acpId":"acp-registry"}}
client {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"$SESSION","prompt":[{"type":"text","text":"Call the tool `acp_registry_color`."}]}}
agent {"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":2,"result":{"sessionId":"session-mcp"}}
agent {"jsonrpc":"2.0","id":"m-1","method":"mcp/connect","params":{"acpId":"server-connect"}}
client {"jsonrpc":"2.0","id":"m-1","result":{"connectionId":"$ANY"}}
agent {"jsonrpc":"2.0","id":"m-2","method":"mcp/message","params":{"connectionId":"$CONNECTION","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"agent","version":"1.0.0"}}}}
client {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"session-mcp","prompt":[{"type":"text","text":"Call the tool `acp_registry_color`."}]}}
agent {"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}"#,
    run: Run::Talk(Setup::Draft, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    let calls = agent.calls_to_server("server-connect").await?;
    if let Some(call) =
        calls.iter().find(|call| call.method == "mcp/connect" && call.params["acpId"] != "server-connect")
    {
        let id = quote(&call.params["acpId"].to_string());
        return fail(format!("sends `mcp/connect` with the id {id} instead of that of the server"));
    }
    let messages: Vec<_> = calls.iter().filter(|call| call.method == "mcp/message").collect();
    if messages.iter().any(|call| !call.params["method"].is_string()) {
        return fail("sends `mcp/message` without the `method` of the inner message");
    }
    // Calls of tools are judged by a check of their own.
    let first = messages.iter().find(|call| call.params["method"] != "tools/call");
    match first {
        Some(call) if !agent.client.drafts.is_connected(&call.params["connectionId"]) => {
            let id = quote(&call.params["connectionId"].to_string());
            fail(format!("sends `mcp/message` with the id {id}, which is not that of a connection"))
        }
        _ => Ok(()),
    }
}
