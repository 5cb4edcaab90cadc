use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, fail, json};

pub(super) static CHECK: Check = Check {
    id: "sessions/close",
    force: Force::Must,
    spec: "protocol/v1/session-setup",
    summary: "closes a session that is open, and no other",
    why: "The agent must cancel the work of a session that is closed, and free its resources. It may return an error \
          only if the session does not exist or is not active.",
    fix: "Answer `session/close` with an empty object, and keep other sessions open.",
    begins: r#"client {"jsonrpc":"2.0","id":2,"method":"session/close","params":{"sessionId":"$ID"}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"Internal error"}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":2,"result":{}}"#,
    run: Run::Talk(Setup::Session, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    agent.needs("/sessionCapabilities/close")?;
    let (first, second) = (agent.open_session().await?, agent.open_session().await?);
    let two = [(&first, "an open session"), (&second, "an open session, after another was closed")];
    // Sessions with the same id are another violation.
    for (session, which) in two.into_iter().take(if first.id == second.id { 1 } else { 2 }) {
        if let Err(error) = agent.ask("session/close", &json!({ "sessionId": session.id })).await? {
            return fail(format!("answers `session/close` for {which} with {error}"));
        }
    }
    Ok(())
}
