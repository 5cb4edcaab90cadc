use super::{Check, CheckFailure, Force, PRECONDITION, Run, Setup, StartedAgent, error_of_code};

pub(super) static CHECK: Check = Check {
    id: "drafts/inject-idle",
    force: Force::Must,
    spec: "rfds/v2/session-inject",
    summary: "refuses to steer a session without a running turn",
    why: "Steering an idle session is an error, with the code -32010 and the reason `no_running_turn`: clients use \
          `session/prompt` for input that starts a turn. A message that is accepted is lost, or starts a turn that the \
          client did not ask for.",
    fix: "Answer with the error -32010 if no turn is running.",
    begins: r#"client {"jsonrpc":"2.0","id":4,"method":"session/inject","params":{"sessionId":"$SESSION","mode":"steer","content":[{"type":"text","text":"Use the file `c` instead."}]}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":4,"result":{"messageId":"idle-1"}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":4,"error":{"code":-32010,"message":"Inject precondition failed","data":{"reason":"no_running_turn"}}}"#,
    run: Run::Talk(Setup::Next, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    agent.needs_inject("steer")?;
    let session = agent.open_session().await?;
    let answer = agent.inject(&session.id, "steer", "Use the file `c` instead.").await?;
    error_of_code(&answer, PRECONDITION, "a steering message without a running turn")
}
