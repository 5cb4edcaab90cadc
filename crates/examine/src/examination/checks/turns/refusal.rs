use super::{Check, CheckFailure, Force, Run, Script, Setup, StartedAgent, Step, fail, not_exercised, quote};

pub(super) static CHECK: Check = Check {
    id: "turns/refusal",
    force: Force::Observed,
    spec: "protocol/v1/prompt-turn",
    summary: "stops with `refusal` if the model refuses",
    why: "The stop reason `refusal` tells the client that the turn ended because of a refusal. With `end_turn`, it \
          looks as if the request had been carried out.",
    fix: "Map the refusal of the model to the stop reason `refusal`.",
    begins: r#"client {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"$SESSION","prompt":[{"type":"text","text":"$PROMPT"}]}}
model refuses
agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"$CHUNK"}}}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":3,"result":{"stopReason":"refusal"}}"#,
    run: Run::Talk(Setup::Session, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    let session = agent.shared_session().await?;
    let turn = agent.play(&session, Script::new(vec![Step::Refuse.once("Recovered")])).await?;
    match agent.ended(&turn).await? {
        _ if turn.requests().len() > 1 => not_exercised("the agent repeats a request that the model has refused"),
        Ok(result) if result["stopReason"] == "refusal" => Ok(()),
        Ok(result) => {
            let reason = quote(result["stopReason"].as_str().unwrap_or_default());
            fail(format!("stops with {reason} although the model has refused"))
        }
        Err(error) => fail(format!("answers `session/prompt` with {error} to a refusal")),
    }
}
