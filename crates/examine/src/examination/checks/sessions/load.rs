use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, fail, quote};

pub(super) static CHECK: Check = Check {
    id: "sessions/load",
    force: Force::Must,
    spec: "protocol/v1/session-setup",
    summary: "loads a session",
    why: "The agent must replay the conversation in the session that is loaded, and then respond. The check loads a \
          session without messages: nothing is to be replayed, but a response has to come.",
    fix: "Answer `session/load` with an object, or `null`, after the updates, which carry the id of the loaded \
          session.",
    begins: r#"client {"jsonrpc":"2.0","id":2,"method":"session/load","params":{"sessionId":"$ID","cwd":"$WORK","mcpServers":[]}}"#,
    fails: r#"agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"another-session","update":{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"Hello"}}}}
agent {"jsonrpc":"2.0","id":2,"result":null}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":2,"result":null}"#,
    run: Run::Talk(Setup::Session, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    agent.needs("/loadSession")?;
    let session = agent.spare_session().await?;
    // Updates of the new session itself.
    agent.client.reset();
    let answer = agent.reopen("session/load", &session.id).await?;
    let result = answer.map_err(|error| session.refused_before_prompt("session/load", &error))?;
    let is_history = |kind: &str| matches!(kind, "user_message_chunk" | "tool_call");
    if let Some(other) =
        agent.client.updates.iter().find(|update| is_history(update.kind()) && update.session != session.id)
    {
        return fail(format!("replays messages in another session, {}, than it loads", quote(&other.session)));
    }
    if !result.is_object() && !result.is_null() {
        let result = quote(&result.to_string());
        return fail(format!("answers `session/load` with {result}, which is not an object"));
    }
    Ok(())
}
