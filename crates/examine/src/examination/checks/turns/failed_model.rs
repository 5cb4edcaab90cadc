use super::{Check, CheckFailure, Force, Run, Script, Setup, StartedAgent, Step, fail, not_exercised};

pub(super) static CHECK: Check = Check {
    id: "turns/failed-model",
    force: Force::Observed,
    spec: "protocol/v1/prompt-turn",
    summary: "does not end a turn with `end_turn` if the model has failed",
    why: "The stop reason `end_turn` says that the model has finished its answer. A person who gets it after a \
          failure of the model takes silence, or half an answer, for the whole.",
    fix: "Repeat the request to the model, or answer `session/prompt` with an error that says what failed.",
    begins: r#"client {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"$SESSION","prompt":[{"type":"text","text":"$PROMPT"}]}}
model fails with 500"#,
    fails: r#"agent {"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"The model failed"}}"#,
    run: Run::Talk(Setup::Session, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    let session = agent.shared_session().await?;
    let turn = agent.play(&session, Script::new(vec![Step::Fail(500).once("Recovered")])).await?;
    let ended = agent.ended(&turn).await;
    if !matches!(ended, Ok(Ok(_))) {
        // The turn may go on.
        agent.session = None;
    }
    match ended {
        Ok(Ok(result)) if turn.requests().len() == 1 && result["stopReason"] == "end_turn" => {
            fail("ends the turn with `end_turn` although the model has answered with the status 500")
        }
        // That it ends at all is the matter of another check.
        Ok(_) => Ok(()),
        Err(CheckFailure::Silent(_)) => {
            agent.cancel(&turn).await;
            not_exercised("the agent waits long before it repeats a request")
        }
        Err(other) => Err(other.into_obstacle()),
    }
}
