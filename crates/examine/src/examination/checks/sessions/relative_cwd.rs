use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, refused};

pub(super) static CHECK: Check = Check {
    id: "sessions/relative-cwd",
    force: Force::Observed,
    spec: "protocol/v1/session-setup",
    summary: "refuses a relative `cwd`",
    why: "The `cwd` must be an absolute path. An agent that accepts another one resolves it against the directory of \
          its own process, which the client does not know.",
    fix: "Answer `session/new` with error -32602 if `cwd` is not an absolute path.",
    begins: r#"client {"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":".","mcpServers":[]}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":2,"result":{"sessionId":"$NEW"}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"Invalid params: cwd must be absolute"}}"#,
    run: Run::Talk(Setup::Session, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    agent.any_session().await?;
    let params = agent.session_params_with("cwd", ".");
    let answer = agent.new_session(&params).await?;
    refused(&answer, "the relative `cwd` `.`")
}
