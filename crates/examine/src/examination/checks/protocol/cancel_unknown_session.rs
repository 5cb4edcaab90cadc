use super::{Check, CheckFailure, Force, NO_SESSION, Run, Setup, StartedAgent, fail, json};

pub(super) static CHECK: Check = Check {
    id: "protocol/cancel-unknown-session",
    force: Force::Must,
    spec: "protocol/v1/overview",
    summary: "ignores `session/cancel` for an unknown session, and keeps running",
    why: "Notifications never receive responses, and a client may cancel a session that has just ended. An agent that \
          exits at that point also ends its other sessions.",
    fix: "Ignore `session/cancel` for sessions that do not exist.",
    begins: r#"client {"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"acp-registry-no-such-session"}}"#,
    fails: "agent ends",
    passes: r#"client {"jsonrpc":"2.0","id":2,"method":"_acp-registry/ping","params":{}}
agent {"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"Method not found"}}"#,
    run: Run::Talk(Setup::Shared, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    agent.notify("session/cancel", &json!({ "sessionId": NO_SESSION })).await;
    agent.is_alive("`session/cancel` for an unknown session").await?;
    match agent.nameless_answer() {
        Some(_) => fail("answers `session/cancel`, which is a notification"),
        None => Ok(()),
    }
}
