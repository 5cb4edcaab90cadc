use std::time::Duration;

use crate::examination::agent::StartedAgent;
use crate::examination::check::{Check, Force, Level, Run, Setup};
use crate::examination::failure::CheckFailure;
use crate::examination::turn::plain;
use crate::model::{Script, Step};

pub(super) static CHECK: Check = Check {
    id: "turns/long-answer",
    level: Level::Turns,
    force: Force::Observed,
    spec: "protocol/v1/prompt-turn",
    summary: "sends an answer of 1 MB",
    why: "The text of the model has no maximum length. The agent reports all of it in `session/update`.",
    fix: "Send long texts in several updates, as they arrive.",
    fails: r#"client {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"$SESSION","prompt":[{"type":"text","text":"$PROMPT"}]}}
model sends Answer
agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"The answer is too long."}}}}
agent {"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}"#,
    passes: r#"client {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"$SESSION","prompt":[{"type":"text","text":"$PROMPT"}]}}
model sends Answer
agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"$CHUNK"}}}}
agent {"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}"#,
    run: Run::Talk(Setup::Session, |agent| Box::pin(run(agent))),
};

/// Number and length of the chunks of the model.
const CHUNKS: usize = 64;
const CHUNK: usize = 32 << 10;

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    // A session of its own: the answer stays in the history.
    let session = agent.open_session().await?;
    // No line is repeated: agents stop models that repeat themselves.
    let line = |number: usize| format!("Answer {number}: {:x}\n", number.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let lines = CHUNK / line(0).len() / 2;
    let of_chunk = |chunk: usize| (chunk * lines..(chunk + 1) * lines).map(line).collect::<String>();
    let chunks: Vec<String> = (0..CHUNKS).map(of_chunk).collect();
    let last = line(CHUNKS * lines - 1);
    let length = plain(&chunks.concat()).len();
    let turn = agent.play(&session, Script::new(vec![Step::Say { chunks, pause: Duration::ZERO }])).await?;
    agent.stop_reason(&turn).await?;
    agent.has_text(&turn, &last).await;
    let text = agent.text(&turn);
    if text.len() < length {
        return Err(CheckFailure::Fail(format!("sends {} of {length} characters of an answer", text.len())));
    }
    if !text.contains(&plain(&last)) {
        return Err(CheckFailure::Fail(format!("sends an answer of {length} characters without its last line")));
    }
    Ok(())
}
