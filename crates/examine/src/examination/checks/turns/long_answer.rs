use std::time::Duration;

use super::{Check, CheckFailure, Force, Run, Script, Setup, StartedAgent, Step, fail, plain, quote};

pub(super) static CHECK: Check = Check {
    id: "turns/long-answer",
    force: Force::Observed,
    spec: "protocol/v1/prompt-turn",
    summary: "sends an answer of 1 MB",
    why: "The text of the model has no maximum length. The agent reports all of it, in order, in `session/update`.",
    fix: "Send long texts in several updates, as they arrive.",
    begins: r#"client {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"$SESSION","prompt":[{"type":"text","text":"$PROMPT"}]}}
model sends Answer"#,
    fails: r#"agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"The answer is too long."}}}}
agent {"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}"#,
    passes: r#"agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"$CHUNK"}}}}
agent {"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}"#,
    run: Run::Talk(Setup::Session, |agent| Box::pin(run(agent))),
};

/// Number of the model's chunks, and of the lines in each, which have 31 bytes.
const CHUNKS: usize = 64;
const LINES: usize = 528;

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    // A session of its own: the answer stays in the history.
    let session = agent.open_session().await?;
    // No line is repeated: agents stop models that repeat themselves.
    let line = |number: usize| format!("Answer {number}: {:x}\n", number.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let of_chunk = |chunk: usize| (chunk * LINES..(chunk + 1) * LINES).map(line).collect::<String>();
    let chunks: Vec<String> = (0..CHUNKS).map(of_chunk).collect();
    let all = CHUNKS * LINES;
    let whole = chunks.concat();
    let turn = agent.play(&session, Script::new(vec![Step::Say { chunks, pause: Duration::ZERO }])).await?;
    agent.stop_reason(&turn).await?;
    if agent.has_text(&turn, &whole).await {
        return Ok(());
    }
    let text = agent.text(&turn);
    let mut rest = text.as_str();
    // Something may stand between two lines.
    let Some(missing) = (0..all).find(|number| {
        let found = rest.split_once(&plain(&line(*number)));
        rest = found.map_or(rest, |(_, after)| after);
        found.is_none()
    }) else {
        return Ok(());
    };
    let length = whole.len();
    fail(format!(
        "sends {missing} of {all} lines of an answer of {length} bytes, which the model has sent in {CHUNKS} pieces: line \
         {missing}, {}, is missing or not in its place in the {} bytes that have arrived, without white space; send each piece as an \
         `agent_message_chunk` when it arrives, however long the answer becomes",
        quote(line(missing).trim_end()),
        text.len()
    ))
}
