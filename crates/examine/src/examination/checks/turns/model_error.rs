use super::{Check, CheckFailure, Force, Run, Script, Setup, StartedAgent, Step};

pub(super) static CHECK: Check = Check {
    id: "turns/model-error",
    force: Force::Must,
    spec: "protocol/v1/prompt-turn",
    summary: "ends a turn although the model answers with the status 500, and carries out the next one",
    why: "The agent must respond to `session/prompt` when the turn ends, whatever ended it. Models answer with 500 \
          when they fail. A session without a response cannot be used any more.",
    fix: "Repeat the request to the model, or respond with an error, and keep the session usable.",
    begins: r#"client {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"$SESSION","prompt":[{"type":"text","text":"$PROMPT"}]}}
model fails with 500"#,
    fails: r#"agent {"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"The model failed"}}
model sends After-500
agent {"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"The session has failed"}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"The model failed"}}"#,
    run: Run::Talk(Setup::Session, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    let session = agent.shared_session().await?;
    let script = Script::new(vec![Step::Fail(500).once("Recovered")]);
    agent.survives(&session, script, "the model answered with the status 500", "After-500").await
}
