use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, Value, refused};

pub(super) static CHECK: Check = Check {
    id: "sessions/null-cwd",
    force: Force::Should,
    spec: "protocol/v1/session-setup",
    summary: "refuses a session without a `cwd`",
    why: "The `cwd` must be an absolute path. An agent that takes `null` works in a directory that the client has \
          not chosen.",
    fix: "Answer `session/new` with error -32602 if `cwd` is not a string.",
    begins: r#"client {"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":null,"mcpServers":[]}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":2,"result":{"sessionId":"$NEW"}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"Invalid params: cwd is missing"}}"#,
    run: Run::Talk(Setup::Session, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    agent.any_session().await?;
    let params = agent.session_params_with("cwd", Value::Null);
    let answer = agent.new_session(&params).await?;
    refused(&answer, "a session whose `cwd` is `null`")
}
