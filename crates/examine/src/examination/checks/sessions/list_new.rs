use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent};

pub(super) static CHECK: Check = Check {
    id: "sessions/list-new",
    force: Force::Observed,
    spec: "protocol/v1/session-list",
    summary: "lists a session as soon as it is open",
    why: "`session/list` lets clients discover the sessions that the agent knows. Many agents store a session at its \
          first prompt; until then, a client that restarts cannot find it.",
    fix: "Store a session when it is created.",
    begins: r#"client {"jsonrpc":"2.0","id":2,"method":"session/list","params":{}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":2,"result":{"sessions":[]}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":2,"result":{"sessions":[{"sessionId":"$LAST","cwd":"$CWD"}]}}"#,
    run: Run::Talk(Setup::Session, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    agent.needs("/sessionCapabilities/list")?;
    let unlisted = || CheckFailure::Fail("does not list a session before its first prompt".to_owned());
    agent.needs_listed().map_err(|_| unlisted())?;
    let session = agent.open_session().await?;
    agent.listed(&session.id).await?.ok_or_else(unlisted)?;
    agent.kept.spare.push(session);
    Ok(())
}
