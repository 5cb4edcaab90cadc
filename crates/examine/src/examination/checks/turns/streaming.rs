use super::{Check, CheckFailure, Force, Run, Script, Setup, StartedAgent, Step, fail, needs, not_exercised};

pub(super) static CHECK: Check = Check {
    id: "turns/streaming",
    force: Force::Observed,
    spec: "protocol/v1/prompt-turn",
    summary: "sends text while the model is still writing",
    why: "The agent reports output in `session/update` notifications during the turn. A person who waits sees the \
          text at once instead of at the end.",
    fix: "Forward each piece of text as it arrives from the model, or what has arrived in a fraction of a second.",
    begins: r#"client {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"$SESSION","prompt":[{"type":"text","text":"$PROMPT"}]}}
model sends Stream"#,
    fails: r#"agent waits
agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"$CHUNK"}}}}
agent {"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}"#,
    passes: r#"agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"$CHUNK"}}}}
agent {"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}"#,
    run: Run::Talk(Setup::Session, |agent| Box::pin(run(agent))),
};

/// Number of updates with text that the agent is to send before the model ends: more than one, so that an agent is noticed
/// which sends the first piece and then nothing until the end.
const PIECES: usize = 2;

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    let session = agent.shared_session().await?;
    let turn = agent.play(&session, Script::new(vec![Step::Hold])).await?;
    // The model ends its answer only then, however long the machine takes.
    let shows = agent.shows(&turn, |agent| agent.pieces(&turn) >= PIECES).await;
    let pieces = agent.pieces(&turn);
    agent.release(&turn);
    let ended = agent.stop_reason(&turn).await;
    let shows = shows?;
    ended?;
    needs(turn.requests().iter().any(|request| request.is_streamed), "the agent does not ask the model to stream")?;
    if shows {
        return Ok(());
    }
    if agent.text(&turn).is_empty() {
        // That text is sent at all is the matter of another check.
        return not_exercised("the agent does not send the text of the model");
    }
    let (after, what) = (agent.patience().as_secs(), if pieces == 0 { "text" } else { "further text" });
    fail(format!("sends {what} only when the model has finished: the model had been writing for {after} s by then"))
}
