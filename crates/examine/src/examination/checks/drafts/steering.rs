use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, fail, quote};

pub(super) static CHECK: Check = Check {
    id: "drafts/steering",
    force: Force::Observed,
    spec: "rfds/v2/session-inject",
    summary: "answers `_session/steering` without a running turn as adapters do",
    why: "The proposal does not mention this method, which two adapters have instead. They announce \
          `steering.supported` in the `_meta` of the result of `initialize`, and answer `_session/steering` with an \
          `outcome`. Without a running turn, a client that asks for `promptRequired` gets this outcome, and no turn \
          starts.",
    fix: "Answer with the outcome `promptRequired` if no turn is running and the client asks for it.",
    begins: r#"client {"jsonrpc":"2.0","id":4,"method":"_session/steering","params":{"sessionId":"$SESSION","prompt":[{"type":"text","text":"Use the file `d` instead."}],"_meta":{"steering":{"idleBehavior":"promptRequired"}}}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":4,"result":{}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":4,"result":{"outcome":"promptRequired","reason":"noRunningTurn"}}"#,
    run: Run::Talk(Setup::Draft, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    agent.needs_steering()?;
    let session = agent.open_session().await?;
    match agent.steer(&session.id, "Use the file `d` instead.").await?.as_str() {
        "promptRequired" => Ok(()),
        outcome => {
            let outcome = quote(outcome);
            fail(format!("answers `_session/steering` without a running turn with the outcome {outcome}"))
        }
    }
}
