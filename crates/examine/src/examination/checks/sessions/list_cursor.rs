use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, UNKNOWN, json, refused};

pub(super) static CHECK: Check = Check {
    id: "sessions/list-cursor",
    force: Force::Should,
    spec: "protocol/v1/session-list",
    summary: "refuses an invalid cursor",
    why: "Agents should return an error if a cursor is invalid. A client that receives the first page instead lists \
          sessions twice.",
    fix: "Answer `session/list` with error -32602 if the cursor was not issued by the agent.",
    begins: r#"client {"jsonrpc":"2.0","id":2,"method":"session/list","params":{"cursor":"acp-registry-unknown"}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":2,"result":{"sessions":[]}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"Invalid params: unknown cursor"}}"#,
    run: Run::Talk(Setup::Session, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    agent.needs("/sessionCapabilities/list")?;
    agent.any_session().await?;
    let answer = agent.ask("session/list", &json!({ "cursor": UNKNOWN })).await?;
    refused(&answer, "an invalid cursor")
}
