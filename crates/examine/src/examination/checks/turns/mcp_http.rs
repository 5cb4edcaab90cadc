use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, fail, quote};
use crate::examination::failure::{IGNORES_HTTP_SERVER, WITH_HTTP_SERVER};
use crate::examination::server::VALUE;

pub(super) static CHECK: Check = Check {
    id: "turns/mcp-http",
    force: Force::Should,
    spec: "protocol/v1/session-setup",
    summary: "calls a tool of an MCP server over HTTP, if it advertises that it can",
    why: "An agent that advertises `mcpCapabilities.http` gets servers with a `url` from clients, and should connect to all \
          of them. It sends the `headers` with each request, in which clients pass keys.",
    fix: "Send `initialize` and `tools/list` as POST requests to the `url` of the server with its `headers`, offer its tools to \
          the model, and call them; or do not advertise `mcpCapabilities.http`.",
    begins: r#"client {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"$SESSION","prompt":[{"type":"text","text":"$PROMPT"}]}}
model calls acp_registry_echo Http"#,
    fails: r#"agent {"jsonrpc":"2.0","id":9,"method":"session/request_permission","params":{"sessionId":"$SESSION","toolCall":{"toolCallId":"$CALL"},"options":[{"optionId":"reject","name":"Allow","kind":"allow_once"},{"optionId":"allow","name":"Reject","kind":"reject_once"}]}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":9,"method":"session/request_permission","params":{"sessionId":"$SESSION","toolCall":{"toolCallId":"$CALL"},"options":[{"optionId":"allow","name":"Allow","kind":"allow_once"},{"optionId":"reject","name":"Reject","kind":"reject_once"}]}}
client {"jsonrpc":"2.0","id":9,"result":{"outcome":{"outcome":"selected","optionId":"allow"}}}
agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"tool_call_update","toolCallId":"$CALL","status":"in_progress"}}}"#,
    run: Run::Talk(Setup::Session, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    agent.needs("/mcpCapabilities/http")?;
    let server = agent.http_mcp_server()?;
    agent.any_session().await?;
    // A session without it can be opened.
    let (session, _) = agent.session_with(&server).await.map_err(|failure| match failure {
        CheckFailure::NotExercised(text) => {
            let text = text.strip_prefix("the agent ").unwrap_or(&text);
            CheckFailure::Fail(format!("{text} {WITH_HTTP_SERVER}"))
        }
        other => other,
    })?;
    let turn = agent.play_echo(&session, "Http").await?;
    let ended = agent.end_with_tools(&turn).await;
    let record = agent.recorded(&server);
    let Some(started) = record.started.first() else {
        return fail(format!("advertises `mcpCapabilities.http`, but {IGNORES_HTTP_SERVER}"));
    };
    match started.variable.as_deref() {
        Some(VALUE) => {}
        Some(other) => {
            let (other, value) = (quote(other), quote(VALUE));
            let text = format!("sends {other} instead of {value} in the `headers` of an HTTP MCP server");
            return fail(text);
        }
        None => return fail("does not send the `headers` of an HTTP MCP server"),
    }
    ended?;
    agent.has_echoed(&server, &turn, "Http")?;
    agent.kept.spare.push(session);
    Ok(())
}
