use super::{Check, CheckFailure, Force, NO_SESSION, Run, Setup, StartedAgent, json, not_exercised};
use crate::examination::agent::refused;

pub(super) static CHECK: Check = Check {
    id: "protocol/load-unknown-session",
    force: Force::Observed,
    spec: "protocol/v1/schema",
    summary: "refuses to load an unknown session",
    why: "The schema defines a code for resources that are not found. A client that receives a success response shows \
          an empty conversation instead of reporting that the session is lost.",
    fix: "Answer `session/load` for an unknown session with an error, such as -32002.",
    begins: r#"client {"jsonrpc":"2.0","id":2,"method":"session/load","params":{"sessionId":"acp-registry-no-such-session","cwd":"$WORK","mcpServers":[]}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":2,"result":null}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":2,"error":{"code":-32002,"message":"Resource not found"}}"#,
    run: Run::Talk(Setup::Shared, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    if agent.result().pointer("/agentCapabilities/loadSession") != Some(&json!(true)) {
        return not_exercised("the agent does not advertise `loadSession`");
    }
    let params = agent.session_params_with("sessionId", NO_SESSION);
    let answer = agent.ask("session/load", &params).await?;
    refused(&answer, "`session/load` for an unknown session")
}
