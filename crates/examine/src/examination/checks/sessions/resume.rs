use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, fail, quote};

pub(super) static CHECK: Check = Check {
    id: "sessions/resume",
    force: Force::Must,
    spec: "protocol/v1/session-setup",
    summary: "resumes a session without replaying it",
    why: "The agent must not replay messages before it responds to `session/resume`: the client still has them, and \
          would show them twice.",
    fix: "Answer `session/resume` with an object, without `session/update` notifications of earlier messages.",
    begins: r#"client {"jsonrpc":"2.0","id":2,"method":"session/resume","params":{"sessionId":"$ID","cwd":"$WORK","mcpServers":[]}}"#,
    fails: r#"agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"Hello"}}}}
agent {"jsonrpc":"2.0","id":2,"result":{}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":2,"result":{}}"#,
    run: Run::Talk(Setup::Session, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    agent.needs("/sessionCapabilities/resume")?;
    let session = agent.spare_session().await?;
    // Updates of the new session itself.
    agent.client.reset();
    let answer = agent.reopen("session/resume", &session.id).await?;
    let result = answer.map_err(|error| session.refused_before_prompt("session/resume", &error))?;
    let mut updates = agent.client.session_updates(&session.id);
    if let Some(update) = updates.find(|update| matches!(update.kind(), "user_message_chunk" | "tool_call")) {
        return fail(format!("sends a {} before it answers `session/resume`", quote(update.kind())));
    }
    if !result.is_object() && !result.is_null() {
        let result = quote(&result.to_string());
        return fail(format!("answers `session/resume` with {result}, which is not an object"));
    }
    Ok(())
}
