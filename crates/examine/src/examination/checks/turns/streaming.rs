use std::time::Duration;

use tokio::time::Instant;

use crate::examination::agent::StartedAgent;
use crate::examination::check::{Check, Force, Level, Run, Setup};
use crate::examination::failure::CheckFailure;
use crate::model::{Script, Step};

pub(super) static CHECK: Check = Check {
    id: "turns/streaming",
    level: Level::Turns,
    force: Force::Observed,
    spec: "protocol/v1/prompt-turn",
    summary: "sends text while the model is still writing",
    why: "The agent reports output in `session/update` notifications during the turn. A person who waits sees the \
          text at once instead of at the end.",
    fix: "Forward each piece of text as it arrives from the model.",
    fails: r#"client {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"$SESSION","prompt":[{"type":"text","text":"$PROMPT"}]}}
model sends Stream
agent waits
agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"$CHUNK"}}}}
agent {"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}"#,
    passes: r#"client {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"$SESSION","prompt":[{"type":"text","text":"$PROMPT"}]}}
model sends Stream
agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"$CHUNK"}}}}
agent {"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}"#,
    run: Run::Talk(Setup::Session, |agent| Box::pin(run(agent))),
};

/// The pause of the model after a piece of text.
const PAUSE: Duration = Duration::from_millis(200);

/// Number of pieces.
const PIECES: u32 = 6;

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    let chunks: Vec<String> = (0..PIECES).map(|number| format!("Stream line {number}.\n\n")).collect();
    let session = agent.shared_session().await?;
    let turn = agent.play(&session, Script::new(vec![Step::Say { chunks, pause: PAUSE }])).await?;
    agent.stop_reason(&turn).await?;
    let ended = Instant::now();
    if !turn.requests().iter().any(|request| request.is_streamed) {
        return Err(CheckFailure::NotExercised("the agent does not ask the model to stream".to_owned()));
    }
    let updates = agent.updates(&turn);
    let first = updates.iter().find(|update| !update.text().trim().is_empty());
    // Half of the time that the model takes.
    match first {
        Some(update) if ended.duration_since(update.at) >= PAUSE * PIECES / 2 => Ok(()),
        Some(_) => Err(CheckFailure::Fail("sends text only when the model has finished".to_owned())),
        None => Err(CheckFailure::Fail("sends no text".to_owned())),
    }
}
