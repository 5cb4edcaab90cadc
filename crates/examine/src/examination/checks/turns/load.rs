use std::time::Duration;

use super::{Check, CheckFailure, Force, Run, SessionUpdate, Setup, StartedAgent, fail, plain};

pub(super) static CHECK: Check = Check {
    id: "turns/load",
    force: Force::Must,
    spec: "protocol/v1/session-setup",
    summary: "replays the conversation of a session that is loaded, responds, and goes on from there",
    why: "The agent must replay the entire conversation in `session/update` notifications, and respond to \
          `session/load` when all of it was sent. A client that loads a session shows nothing else than these, \
          and sends prompts as if the session was never interrupted.",
    fix: "Send each message of the person and of the model again, in order, and answer `session/load` last. Send \
          the model these messages with the next prompt.",
    begins: r#"client {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"$SESSION","prompt":[{"type":"text","text":"$PROMPT"}]}}
model sends Remembered
agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"$CHUNK"}}}}
agent {"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}
client {"jsonrpc":"2.0","id":4,"method":"session/load","params":{"sessionId":"$SESSION","cwd":"$WORK","mcpServers":[]}}
agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"$PROMPT"}}}}"#,
    fails: r#"agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Something else"}}}}
agent {"jsonrpc":"2.0","id":4,"result":{}}"#,
    passes: r#"agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"$CHUNK"}}}}
agent {"jsonrpc":"2.0","id":4,"result":{}}"#,
    run: Run::Talk(Setup::Session, |agent| Box::pin(run(agent))),
};

/// How long the conversation may arrive after the response, for the message.
const LATE: Duration = Duration::from_millis(500);

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    agent.needs("/loadSession")?;
    let conversation = agent.conversation("Remembered").await?;
    // The updates of the turn.
    agent.client.reset();
    agent.reopen_after_turn("session/load", &conversation).await?;
    let missing = |agent: &StartedAgent| {
        let text = |kind: &str| {
            let updates = agent.client.session_updates(&conversation.session.id).filter(|update| update.kind() == kind);
            plain(&updates.map(SessionUpdate::text).collect::<String>())
        };
        if !text("user_message_chunk").contains(&plain(&conversation.prompt)) {
            return Some("the message of the person");
        }
        (!text("agent_message_chunk").contains(&plain(conversation.answer))).then_some("the message of the agent")
    };
    let Some(what) = missing(agent) else {
        let first = |kind: &str, whole: &str| {
            let is_part = |text: String| !text.is_empty() && (text.contains(whole) || whole.contains(&text));
            let mut updates = agent.client.session_updates(&conversation.session.id);
            updates.position(|update| update.kind() == kind && is_part(plain(update.text())))
        };
        let prompt = first("user_message_chunk", &plain(&conversation.prompt));
        if first("agent_message_chunk", conversation.answer) < prompt {
            return fail("replays the message of the agent before that of the person, which it answers");
        }
        return agent.goes_on_from(&conversation, "session/load", "Loaded").await;
    };
    agent.read_for(LATE).await;
    fail(match missing(agent) {
        None => format!("answers `session/load` before it replays {what}"),
        Some(_) => format!("does not replay {what} when it loads a session"),
    })
}
