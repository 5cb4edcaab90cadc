use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, fail, not_exercised, quote};
use crate::examination::server::VALUE;

pub(super) static CHECK: Check = Check {
    id: "sessions/mcp-env",
    force: Force::Observed,
    spec: "protocol/v1/session-setup",
    summary: "sets the environment variables of an MCP server",
    why: "`env` has the variables to set when a server is launched. Clients pass keys and addresses in them, without \
          which most servers do not work.",
    fix: "Add the `env` of each server to its environment, with values unchanged.",
    begins: r#"client {"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"$WORK","mcpServers":[{"name":"acp-registry","command":"$PROGRAM","args":["__mcp","$RECORD"],"env":[{"name":"ACP_REGISTRY_MCP","value":"$VALUE"}]}]}}"#,
    fails: r#"agent starts the MCP server without env
agent {"jsonrpc":"2.0","id":2,"result":{"sessionId":"$NEW"}}"#,
    passes: r#"agent starts the MCP server
agent {"jsonrpc":"2.0","id":2,"result":{"sessionId":"$NEW"}}"#,
    run: Run::Talk(Setup::Session, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    let record = agent.mcp_session().await?;
    let Some(started) = record.started.first() else {
        return not_exercised("the agent does not start the MCP server of a new session");
    };
    match &started.variable {
        Some(value) if value == VALUE => Ok(()),
        Some(value) => {
            let (set, value) = (quote(VALUE), quote(value));
            fail(format!("sets a variable of an MCP server to {value} instead of {set}"))
        }
        None => fail("does not set the variables in `env` of an MCP server"),
    }
}
