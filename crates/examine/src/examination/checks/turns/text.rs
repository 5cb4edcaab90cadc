use std::time::Duration;

use super::{Check, CheckFailure, Force, Run, Script, SessionUpdate, Setup, StartedAgent, Step, fail, plain, quote};
use crate::examination::schema::defines_update;

pub(super) static CHECK: Check = Check {
    id: "turns/text",
    force: Force::Must,
    spec: "protocol/v1/prompt-turn",
    summary: "sends the whole text of the model in order and once, and stops with `end_turn`",
    why: "The agent reports the text of the model in `session/update`. When the model finishes without requesting \
          more tools, the turn ends, and the agent must respond to `session/prompt` with the stop reason `end_turn`.",
    fix: "Send each piece of text as an `agent_message_chunk` in the order of arrival, and then the response.",
    begins: r#"client {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"$SESSION","prompt":[{"type":"text","text":"$PROMPT"}]}}
model sends Text"#,
    fails: r#"agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Hello"}}}}
agent {"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}"#,
    passes: r#"agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"$CHUNK"}}}}
agent {"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}"#,
    run: Run::Talk(Setup::Session, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    let chunks: Vec<String> = (0..20).map(|number| format!("Text part {number} of 20. ")).collect();
    let whole = chunks.concat();
    let session = agent.shared_session().await?;
    let turn = agent.play(&session, Script::new(vec![Step::Say { chunks, pause: Duration::from_millis(2) }])).await?;
    agent.stops_with(&turn, "end_turn").await?;
    if agent.has_text(&turn, &whole).await {
        return match agent.text(&turn).matches(&plain("Text part 0 of 20.")).count() {
            1 => Ok(()),
            times => fail(format!("sends the text of the model {times} times")),
        };
    }
    let received = agent.text(&turn).chars().take(200).collect::<String>();
    let strange = agent.client.session_updates(&session.id).map(SessionUpdate::kind).find(|kind| !defines_update(kind));
    let strange = strange.map_or_else(String::new, |kind| {
        format!("; it sends updates of the kind {}, which the protocol does not define", quote(kind))
    });
    fail(format!("does not send the text of the model in order, but {}{strange}", quote(&received)))
}
