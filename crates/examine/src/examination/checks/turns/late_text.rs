use super::{Check, CheckFailure, Force, Run, Script, Setup, StartedAgent, Step, ensure, not_exercised, plain};

pub(super) static CHECK: Check = Check {
    id: "turns/late-text",
    force: Force::Observed,
    spec: "protocol/v1/prompt-turn",
    summary: "sends all text of a turn before the response that ends it",
    why: "The response to `session/prompt` ends the turn. Clients that show the turn as finished drop what follows, \
          or show it as part of the next one.",
    fix: "Write pending updates first, and the response last, through one queue.",
    begins: r#"client {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"$SESSION","prompt":[{"type":"text","text":"$PROMPT"}]}}
model sends Late"#,
    fails: r#"agent answers before its updates
agent {"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}
agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"$CHUNK"}}}}"#,
    passes: r#"agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"$CHUNK"}}}}
agent {"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}"#,
    run: Run::Talk(Setup::Session, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    let text = "Late text";
    let session = agent.shared_session().await?;
    let turn = agent.play(&session, Script::new(vec![Step::say(text)])).await?;
    agent.stop_reason(&turn).await?;
    if agent.text(&turn).contains(&plain(text)) {
        return Ok(());
    }
    ensure(!agent.has_text(&turn, text).await, "sends text after the response that ends the turn")?;
    // That text is sent at all is the matter of another check.
    not_exercised("the agent does not send the text of the model")
}
