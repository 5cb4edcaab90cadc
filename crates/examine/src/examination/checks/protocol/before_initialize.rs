use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, fail};

pub(super) static CHECK: Check = Check {
    id: "protocol/before-initialize",
    force: Force::Observed,
    spec: "protocol/v1/initialization",
    summary: "refuses a session before `initialize`",
    why: "A connection begins with `initialize`, in which both sides agree on a protocol version and on capabilities. \
          An agent that opens a session earlier knows neither.",
    fix: "Until `initialize` has been called, answer every other request with an error.",
    begins: r#"agent starts
client {"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"$WORK","mcpServers":[]}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":1,"result":{"sessionId":"s1"}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"initialize comes first"}}"#,
    run: Run::Talk(Setup::Silent, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    let params = agent.session_params();
    match agent.ask("session/new", &params).await? {
        Ok(_) => fail("opens a session before `initialize`"),
        Err(_) => Ok(()),
    }
}
