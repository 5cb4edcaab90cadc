use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, ensure, fail, not_exercised, quote};
use crate::examination::client::AgentCall;
use crate::examination::drafts::TOOL;

pub(super) static CHECK: Check = Check {
    id: "drafts/mcp-call",
    force: Force::Must,
    spec: "rfds/mcp-over-acp",
    summary: "calls a tool of the client's MCP server over the connection",
    why: "A tool is called by an `mcp/message` on an established connection, whose `method` and `params` are those of \
          the inner message. With another name or connection, the server cannot find the tool.",
    fix: "Send `tools/call` with the name that `tools/list` has returned, and the `connectionId` of the server.",
    begins: r#"client {"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"$WORK","mcpServers":[{"type":"acp","name":"acp-registry","id":"server-call"}]}}
agent {"jsonrpc":"2.0","id":2,"result":{"sessionId":"session-mcp-call"}}
client {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"session-mcp-call","prompt":[{"type":"text","text":"Call the tool `acp_registry_color`."}]}}
agent {"jsonrpc":"2.0","id":"m-3","method":"mcp/connect","params":{"acpId":"server-call"}}
client {"jsonrpc":"2.0","id":"m-3","result":{"connectionId":"$ANY"}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":"m-4","method":"mcp/message","params":{"connectionId":"$CONNECTION","method":"tools/call","params":{"name":"acp-registry__acp_registry_color"}}}
client {"jsonrpc":"2.0","id":"m-4","error":{}}
agent {"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":"m-4","method":"mcp/message","params":{"connectionId":"$CONNECTION","method":"tools/call","params":{"name":"acp_registry_color"}}}
client {"jsonrpc":"2.0","id":"m-4","result":{"isError":false}}
agent {"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}"#,
    run: Run::Talk(Setup::Draft, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    let calls = agent.calls_to_server("server-call").await?;
    let is_call = |call: &&AgentCall| call.method == "mcp/message" && call.params["method"] == "tools/call";
    let Some(call) = calls.iter().find(is_call) else {
        return not_exercised("the agent calls no tool in the turn of this check");
    };
    let (connection, name) = (&call.params["connectionId"], &call.params["params"]["name"]);
    if !agent.client.drafts.is_connected(connection) {
        let id = quote(&connection.to_string());
        return fail(format!("calls a tool with the id {id}, which is not that of a connection"));
    }
    ensure(name == TOOL, format!("calls the tool {}, which the server does not have", quote(&name.to_string())))
}
