use super::{Check, CheckFailure, Force, Run, Script, Setup, StartedAgent, Step, fail};

pub(super) static CHECK: Check = Check {
    id: "turns/long-prompt",
    force: Force::Observed,
    spec: "protocol/v1/prompt-turn",
    summary: "passes a prompt of 200 kB to the model",
    why: "A prompt has no maximum length: clients include long files and logs in it.",
    fix: "Read messages of any length, and pass the whole text to the model.",
    begins: r#"client {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"$SESSION","prompt":[{"type":"text","text":"$PROMPT"}]}}
model sends Long"#,
    fails: r#"agent {"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"The prompt is too long"}}"#,
    passes: r#"agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"$CHUNK"}}}}
agent {"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}"#,
    run: Run::Talk(Setup::Session, |agent| Box::pin(run(agent))),
};

/// Length of the prompt, in bytes.
const LENGTH: usize = 200_000;

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    // A session of its own: the prompt stays in the history.
    let session = agent.open_session().await?;
    let line = "acp-registry-long-prompt\n";
    let text = format!("{}acp-registry-end-of-prompt", line.repeat(LENGTH / line.len()));
    let turn = agent.play_with(&session, Script::new(vec![Step::say("Long")]), &text, &[]).await?;
    agent.stop_reason(&turn).await?;
    let requests = turn.requests();
    let texts = || requests.iter().flat_map(|request| &request.texts);
    let received = texts().map(|text| text.matches(line.trim()).count()).max().unwrap_or_default();
    if received < LENGTH / line.len() || !texts().any(|text| text.contains("acp-registry-end-of-prompt")) {
        return fail(format!("passes {} of {LENGTH} bytes of a prompt to the model", received * line.len()));
    }
    Ok(())
}
