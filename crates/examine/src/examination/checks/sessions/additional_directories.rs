use std::path::Path;

use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, Value, fail, json};

pub(super) static CHECK: Check = Check {
    id: "sessions/additional-directories",
    force: Force::Observed,
    spec: "protocol/v1/session-setup",
    summary: "opens a session with an additional directory",
    why: "An agent with this capability lets clients extend the directories of a session. If `session/list` reports \
          them, it must report the complete list.",
    fix: "Accept `additionalDirectories` in `session/new`, and report it unchanged.",
    begins: r#"client {"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"$WORK","mcpServers":[],"additionalDirectories":["$PROJECT"]}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"Invalid params"}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":2,"result":{"sessionId":"$NEW"}}"#,
    run: Run::Talk(Setup::Session, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    agent.needs("/sessionCapabilities/additionalDirectories")?;
    agent.any_session().await?;
    let project = agent.project("second")?;
    let params = agent.session_params_with("additionalDirectories", json!([project.to_string_lossy()]));
    let result = agent.new_session(&params).await?.map_err(|error| {
        CheckFailure::Fail(format!("answers `session/new` with `additionalDirectories` with {error}"))
    })?;
    if !agent.advertises("/sessionCapabilities/list") {
        return Ok(());
    }
    let listed = agent.listed_now(result["sessionId"].as_str().unwrap_or_default()).await?;
    let reported = listed.map(|session| session["additionalDirectories"].clone()).unwrap_or_default();
    let Some(reported) = reported.as_array().filter(|reported| !reported.is_empty()) else { return Ok(()) };
    let is_project = |path: &Value| {
        let path = Path::new(path.as_str().unwrap_or_default());
        path == project || path.canonicalize().ok() == project.canonicalize().ok()
    };
    if reported.len() == 1 && is_project(&reported[0]) {
        return Ok(());
    }
    fail("lists other additional directories than those of the session")
}
