use std::path::Path;

use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, Value, ensure, fail, json, quote};

pub(super) static CHECK: Check = Check {
    id: "sessions/list-filter",
    force: Force::Must,
    spec: "protocol/v1/session-list",
    summary: "lists the sessions of the directory that the client asks for, and only these",
    why: "With `cwd`, only sessions with a matching one are returned. When there are none, the agent must return an \
          empty array.",
    fix: "Compare the `cwd` of the request with that of each session, and return an empty `sessions` array if none \
          matches.",
    begins: r#"client {"jsonrpc":"2.0","id":2,"method":"session/list","params":{"cwd":"$PROJECT"}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":2,"result":{"sessions":[{"sessionId":"s1","cwd":"/home/user/another-project"}]}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":2,"result":{"sessions":[]}}"#,
    run: Run::Talk(Setup::Session, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    agent.needs("/sessionCapabilities/list")?;
    agent.any_session().await?;
    let all = agent.sessions().await?;
    // No check opens a session in it.
    let project = agent.project("second")?;
    let filter = json!({ "cwd": project.to_string_lossy() });
    let page = agent.page(&filter).await?.map_err(|text| CheckFailure::Fail(format!("{text}, for one `cwd`")))?;
    let Some(other) = page.sessions.first() else {
        // That it lists a session with its own directory is the matter of another check.
        let is_here = |session: &&Value| Path::new(session["cwd"].as_str().unwrap_or_default()) == agent.work();
        let Some(listed) = all.iter().find(is_here) else { return Ok(()) };
        let filter = json!({ "cwd": listed["cwd"] });
        let page = agent.page(&filter).await?.map_err(|text| CheckFailure::Fail(format!("{text}, for one `cwd`")))?;
        ensure(!page.sessions.is_empty(), "lists no session when asked for those of a directory in which it has one")?;
        return Ok(());
    };
    let other = quote(other["cwd"].as_str().unwrap_or_default());
    fail(format!("lists a session of {other} when asked for those of another directory"))
}
