use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, fail};

pub(super) static CHECK: Check = Check {
    id: "sessions/fork",
    force: Force::Observed,
    spec: "rfds/session-fork",
    summary: "gives a fork of a session an id of its own",
    why: "A fork is a new session based on an existing one, so that further messages do not change the original. \
          Agents may refuse to fork a session.",
    fix: "Answer `session/fork` with a new `sessionId`.",
    begins: r#"client {"jsonrpc":"2.0","id":2,"method":"session/fork","params":{"sessionId":"$ID","cwd":"$WORK","mcpServers":[]}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":2,"result":{"sessionId":"$SESSION"}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":2,"result":{"sessionId":"$NEW"}}"#,
    run: Run::Talk(Setup::Session, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    agent.needs("/sessionCapabilities/fork")?;
    let session = agent.any_session().await?;
    let answer = agent.reopen("session/fork", &session.id).await?;
    let result = answer.map_err(|error| session.refused_before_prompt("session/fork", &error))?;
    match result["sessionId"].as_str() {
        None | Some("") => fail("answers `session/fork` without a `sessionId`"),
        Some(id) if id == session.id => fail("gives a fork the id of its original"),
        Some(_) => Ok(()),
    }
}
