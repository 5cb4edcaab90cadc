use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, fail, not_exercised};

pub(super) static CHECK: Check = Check {
    id: "protocol/auth-required",
    force: Force::Observed,
    spec: "protocol/v1/schema",
    summary: "requests authentication with the code -32000",
    why: "The schema reserves a code for requests that need authentication first. Clients that receive it offer the \
          agent's authentication methods; any other code is shown as an error.",
    fix: "Answer `session/new` with the code -32000 until the user has signed in.",
    begins: r#"client {"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"$WORK","mcpServers":[]}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"You are not logged in"}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":2,"error":{"code":-32000,"message":"Authentication required"}}"#,
    run: Run::Talk(Setup::Shared, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    let params = agent.session_params();
    match agent.ask("session/new", &params).await? {
        Ok(_) => not_exercised("the agent opens a session without a sign-in"),
        Err(error) if error.asks_for_sign_in() => Ok(()),
        Err(error) if error.is_about_sign_in() => fail(format!("requests authentication with {error}")),
        Err(error) => not_exercised(format!("the agent refuses a session for another reason: {error}")),
    }
}
