use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, json};

pub(super) static CHECK: Check = Check {
    id: "sessions/list",
    force: Force::Must,
    spec: "protocol/v1/session-list",
    summary: "lists its sessions",
    why: "The agent must answer `session/list` with a list of sessions. The id of each is required, and its `cwd` is \
          always an absolute path.",
    fix: "Answer `session/list` with `sessions`: an array, empty if there are none, of objects with `sessionId` and \
          `cwd`.",
    begins: r#"client {"jsonrpc":"2.0","id":2,"method":"session/list","params":{}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":2,"result":{"sessions":[{"sessionId":"$LAST","cwd":"project"}]}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":2,"result":{"sessions":[{"sessionId":"$LAST","cwd":"$CWD"}]}}"#,
    run: Run::Talk(Setup::Session, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    agent.needs("/sessionCapabilities/list")?;
    agent.any_session().await?;
    agent.page(&json!({})).await?.map(|_| ()).map_err(CheckFailure::Fail)
}
