use super::{Check, CheckFailure, Force, Run, Script, Setup, StartedAgent, Step, fail, needs, quote};

pub(super) static CHECK: Check = Check {
    id: "turns/token-limit",
    force: Force::Should,
    spec: "protocol/v1/prompt-turn",
    summary: "stops with `max_tokens` if the model reaches its token limit",
    why: "When an agent stops a turn, it must specify the corresponding stop reason: `max_tokens` if the maximum \
          token limit is reached. With `end_turn`, the text looks complete.",
    fix: "Map the model's reason to stop at its limit to `max_tokens`, unless the agent lets the model go on.",
    begins: r#"client {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"$SESSION","prompt":[{"type":"text","text":"$PROMPT"}]}}
model reaches its limit
agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"$CHUNK"}}}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":3,"result":{"stopReason":"max_tokens"}}"#,
    run: Run::Talk(Setup::Session, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    let session = agent.shared_session().await?;
    let turn = agent.play(&session, Script::repeating(vec![Step::CutOff("Cut".to_owned())])).await?;
    let ended = agent.ended(&turn).await?;
    needs(turn.requests().len() <= 1, "the agent lets the model go on after its token limit")?;
    match ended {
        Ok(result) if result["stopReason"] == "max_tokens" => Ok(()),
        Ok(result) => {
            let reason = quote(result["stopReason"].as_str().unwrap_or_default());
            fail(format!("stops with {reason} although the model has reached its token limit"))
        }
        Err(error) => fail(format!("answers `session/prompt` with {error} if the model reaches its token limit")),
    }
}
