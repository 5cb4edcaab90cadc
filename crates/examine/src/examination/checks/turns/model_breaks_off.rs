use super::{Check, CheckFailure, Force, Run, Script, Setup, StartedAgent, Step};

pub(super) static CHECK: Check = Check {
    id: "turns/model-breaks-off",
    force: Force::Must,
    spec: "protocol/v1/prompt-turn",
    summary: "ends a turn although the answer of the model breaks off, and carries out the next one",
    why: "The agent must respond to `session/prompt` when the turn ends, whatever ended it. The connection to a model \
          can close in the middle of an answer. A session without a response cannot be used any more.",
    fix: "Repeat the request to the model, or respond with an error, and keep the session usable.",
    begins: r#"client {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"$SESSION","prompt":[{"type":"text","text":"$PROMPT"}]}}
model breaks off"#,
    fails: r#"agent {"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"The model failed"}}
model sends After-break
agent {"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"The session has failed"}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"The model failed"}}"#,
    run: Run::Talk(Setup::Session, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    let session = agent.shared_session().await?;
    let script = Script::new(vec![Step::Break("Broken off".to_owned()).once("Recovered")]);
    agent.survives(&session, script, "the model broke off", "After-break").await
}
