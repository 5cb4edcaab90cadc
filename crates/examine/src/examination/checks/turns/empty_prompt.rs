use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, json};
use crate::examination::agent::silent;

pub(super) static CHECK: Check = Check {
    id: "turns/empty-prompt",
    force: Force::Observed,
    spec: "protocol/v1/prompt-turn",
    summary: "answers an empty prompt, and carries out the next one",
    why: "Clients send a prompt without content blocks when a person submits nothing. The agent may refuse it, but \
          must answer, and the session must stay usable.",
    fix: "Answer a prompt without content blocks with the error -32602, or end the turn.",
    begins: r#"client {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"$SESSION","prompt":[]}}
agent {"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"The prompt is empty"}}
client {"jsonrpc":"2.0","id":4,"method":"session/prompt","params":{"sessionId":"$SESSION","prompt":[{"type":"text","text":"$PROMPT"}]}}
model sends After-empty"#,
    fails: r#"agent {"jsonrpc":"2.0","id":4,"error":{"code":-32603,"message":"The session has failed"}}"#,
    passes: r#"agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"$CHUNK"}}}}
agent {"jsonrpc":"2.0","id":4,"result":{"stopReason":"end_turn"}}"#,
    run: Run::Talk(Setup::Session, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    let session = agent.shared_session().await?;
    let id = agent.begin_prompt(&session.id, &json!([])).await;
    if let Err(silence) = agent.end_of_turn(&id).await {
        // The turn may go on.
        agent.session = None;
        return Err(silent(silence, "session/prompt").with("without content blocks"));
    }
    agent.goes_on(&session, "an empty prompt", "After-empty").await
}
