use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, fail, json};
use crate::examination::access::METHOD_NOT_FOUND;

pub(super) static CHECK: Check = Check {
    id: "drafts/v2-session-methods",
    force: Force::Must,
    spec: "rfds/v2/required-session-methods",
    summary: "has all session methods of version 2",
    why: "An agent that includes `capabilities.session` must support `session/new`, `session/list`, `session/resume`, \
          `session/close`, `session/prompt` and `session/cancel`. Clients rely on them without looking for further \
          capabilities.",
    fix: "Implement the missing method, or leave out `capabilities.session`.",
    begins: r#"client {"jsonrpc":"2.0","id":2,"method":"session/list","params":{}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"Method not found"}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":2,"result":{"sessions":[]}}"#,
    run: Run::Talk(Setup::Next, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    agent.needs_version_2()?;
    agent.needs("/session")?;
    let session = agent.open_session().await?;
    let resumed = agent.session_params_with("sessionId", session.id.clone());
    let closed = json!({ "sessionId": session.id });
    for (method, params) in [("session/list", json!({})), ("session/close", closed), ("session/resume", resumed)] {
        if let Err(error) = agent.ask_within(method, &params, agent.turn_limit()).await?
            && error.code == Some(METHOD_NOT_FOUND)
        {
            return fail(format!("answers `{method}` in version 2 with {error}"));
        }
    }
    Ok(())
}
