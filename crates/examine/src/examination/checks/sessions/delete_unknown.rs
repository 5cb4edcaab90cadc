use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, fail, json};
use crate::examination::agent::NO_SESSION;

pub(super) static CHECK: Check = Check {
    id: "sessions/delete-unknown",
    force: Force::Should,
    spec: "protocol/v1/session-delete",
    summary: "accepts the deletion of a session that does not exist",
    why: "Deleting a session that was deleted already, or that never existed, should succeed silently, so that a \
          client can repeat a request without knowing whether it arrived.",
    fix: "Answer `session/delete` with an empty object if there is no such session.",
    begins: r#"client {"jsonrpc":"2.0","id":2,"method":"session/delete","params":{"sessionId":"acp-registry-no-such-session"}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":2,"error":{"code":-32002,"message":"Resource not found"}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":2,"result":{}}"#,
    run: Run::Talk(Setup::Session, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    agent.needs("/sessionCapabilities/delete")?;
    agent.any_session().await?;
    match agent.ask("session/delete", &json!({ "sessionId": NO_SESSION })).await? {
        Ok(_) => Ok(()),
        Err(error) => fail(format!("answers `session/delete` for an unknown session with {error}")),
    }
}
