use super::{Check, CheckFailure, Force, Run, SessionUpdate, Setup, StartedAgent, fail, plain, quote};

pub(super) static CHECK: Check = Check {
    id: "turns/resume",
    force: Force::Must,
    spec: "protocol/v1/session-setup",
    summary: "resumes a session that had a turn, without replaying it, and goes on from there",
    why: "An agent that advertises `sessionCapabilities.resume` restores the context of the session, and returns \
          once it can go on. It must not replay the conversation before it responds: the client still has it.",
    fix: "Answer `session/resume` with an object, without the earlier messages, and carry out the next prompt with the \
          messages before it as context.",
    begins: r#"client {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"$SESSION","prompt":[{"type":"text","text":"$PROMPT"}]}}
model sends Kept
agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"$CHUNK"}}}}
agent {"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}
client {"jsonrpc":"2.0","id":4,"method":"session/resume","params":{"sessionId":"$SESSION","cwd":"$WORK","mcpServers":[]}}"#,
    fails: r#"agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Hello"}}}}
agent {"jsonrpc":"2.0","id":4,"result":{}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":4,"result":{}}"#,
    run: Run::Talk(Setup::Session, |agent| Box::pin(run(agent))),
};

/// What is sent again when a conversation is replayed.
const REPLAYED: &[&str] = &["user_message_chunk", "agent_message_chunk", "tool_call"];

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    agent.needs("/sessionCapabilities/resume")?;
    let conversation = agent.conversation("Kept").await?;
    // The updates of the turn.
    agent.client.reset();
    agent.reopen_after_turn("session/resume", &conversation).await?;
    let updates = agent.client.session_updates(&conversation.session.id);
    if let Some(kind) = updates.map(SessionUpdate::kind).find(|kind| REPLAYED.contains(kind)) {
        return fail(format!("sends a {} before it answers `session/resume`", quote(kind)));
    }
    agent.goes_on_from(&conversation, "session/resume", "Resumed").await?;
    // The prompt of the turn after has another number.
    let said = plain(&conversation.prompt);
    let mut updates = agent.client.session_updates(&conversation.session.id);
    if updates.any(|update| REPLAYED.contains(&update.kind()) && plain(update.text()).contains(&said)) {
        return fail("replays messages after it answers `session/resume`");
    }
    Ok(())
}
