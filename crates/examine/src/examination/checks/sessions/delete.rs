use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, fail, json, needs};

pub(super) static CHECK: Check = Check {
    id: "sessions/delete",
    force: Force::Observed,
    spec: "protocol/v1/session-delete",
    summary: "no longer lists a session that was deleted, but all others",
    why: "Deleted sessions no longer appear in the results of `session/list`. How an agent deletes a session that is \
          active is left to it, so the check closes the session first, if the agent can.",
    fix: "Remove the session from the list before answering `session/delete`.",
    begins: r#"client {"jsonrpc":"2.0","id":2,"method":"session/delete","params":{"sessionId":"$ID"}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":2,"result":{}}
client {"jsonrpc":"2.0","id":2,"method":"session/list","params":{}}
agent {"jsonrpc":"2.0","id":2,"result":{"sessions":[{"sessionId":"$LAST","cwd":"$CWD"}]}}"#,
    passes: r#"agent deletes the session
agent {"jsonrpc":"2.0","id":2,"result":{}}"#,
    run: Run::Talk(Setup::Session, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    agent.needs("/sessionCapabilities/delete")?;
    agent.needs_listed()?;
    let other = agent.any_session().await?;
    let session = agent.open_session().await?;
    needs(session.id != other.id, "the agent opens two sessions with the same id")?;
    agent.listed_or_unable(&session.id).await?;
    let is_other_listed = agent.listed_now(&other.id).await?.is_some();
    let params = json!({ "sessionId": session.id });
    let is_closed =
        agent.advertises("/sessionCapabilities/close") && agent.ask("session/close", &params).await?.is_ok();
    if let Err(error) = agent.ask("session/delete", &params).await? {
        let text = format!("answers `session/delete` with {error}");
        return Err(if is_closed {
            CheckFailure::Fail(text)
        } else {
            CheckFailure::NotExercised(format!("the agent {text}, for a session that is active"))
        });
    }
    match agent.listed_now(&session.id).await? {
        None if is_other_listed && agent.listed_now(&other.id).await?.is_none() => {
            fail("no longer lists another session than the one that was deleted")
        }
        None => Ok(()),
        Some(_) => fail("lists a session after `session/delete`"),
    }
}
