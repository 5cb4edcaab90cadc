use std::path::Path;

use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, fail, quote};

pub(super) static CHECK: Check = Check {
    id: "sessions/cwd",
    force: Force::Must,
    spec: "protocol/v1/session-setup",
    summary: "uses the working directory that the client gives",
    why: "The `cwd` of a session must be used regardless of where the agent was started. The check opens a session in \
          another directory, and looks it up in `session/list`.",
    fix: "Store the `cwd` of `session/new` with the session, and never fall back to the directory of the process.",
    begins: r#"client {"jsonrpc":"2.0","id":2,"method":"session/list","params":{}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":2,"result":{"sessions":[{"sessionId":"$LAST","cwd":"/"}]}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":2,"result":{"sessions":[{"sessionId":"$LAST","cwd":"$CWD"}]}}"#,
    run: Run::Talk(Setup::Session, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    agent.needs("/sessionCapabilities/list")?;
    agent.needs_listed()?;
    let project = agent.project("first")?;
    let params = agent.session_params_with("cwd", project.to_string_lossy());
    let session = agent.open_session_with(&params).await?;
    let listed = agent.listed_or_unable(&session.id).await?;
    let directory = listed["cwd"].as_str().unwrap_or_default();
    if Path::new(directory) == project || Path::new(directory).canonicalize().ok() == project.canonicalize().ok() {
        return Ok(());
    }
    let (directory, project) = (quote(directory), quote(&project.to_string_lossy()));
    fail(format!("lists a session with the `cwd` {directory} that was opened with {project}"))
}
