use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, UNKNOWN, refused};

pub(super) static CHECK: Check = Check {
    id: "sessions/unknown-mode",
    force: Force::Observed,
    spec: "protocol/v1/session-modes",
    summary: "refuses a mode that it does not have",
    why: "The mode must be one of those in `availableModes`. A client that receives a success response shows a mode \
          that has no effect.",
    fix: "Answer `session/set_mode` with error -32602 if the mode is not in `availableModes`.",
    begins: r#"client {"jsonrpc":"2.0","id":2,"method":"session/set_mode","params":{"sessionId":"$ID","modeId":"acp-registry-unknown"}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":2,"result":{}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"Invalid params: no such mode"}}"#,
    run: Run::Talk(Setup::Session, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    let session = agent.any_session().await?;
    session.modes()?;
    let answer = agent.set_mode(&session.id, UNKNOWN).await?;
    refused(&answer, "an unknown mode")
}
