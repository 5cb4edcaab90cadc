use super::{Check, CheckFailure, Force, Run, Script, Setup, StartedAgent, Step, fail};

pub(super) static CHECK: Check = Check {
    id: "turns/history",
    force: Force::Should,
    spec: "protocol/v1/prompt-turn",
    summary: "tells the model what was said earlier in the session",
    why: "A further prompt continues the conversation, on the context of the turns before it. An agent that sends \
          the model only the last prompt does not know what a person refers to.",
    fix: "Send the model the messages of all turns of the session, or a summary of long ones.",
    begins: r#"client {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"$SESSION","prompt":[{"type":"text","text":"$PROMPT"}]}}"#,
    fails: "agent forgets the turns before\nmodel sends History",
    passes: r#"model sends History
agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"$CHUNK"}}}}
agent {"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}"#,
    run: Run::Talk(Setup::Session, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    let conversation = agent.conversation("Noted").await?;
    let turn = agent.play(&conversation.session, Script::new(vec![Step::say("History")])).await?;
    agent.stop_reason(&turn).await?;
    let is_answer_told = turn.requests().iter().any(|request| request.answers > 0);
    let who = match turn.recalls(&conversation) {
        true if is_answer_told => return Ok(()),
        true => "the model itself said",
        false => "was said",
    };
    fail(format!("does not tell the model what {who} earlier in the session"))
}
