use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, ensure, quote};

pub(super) static CHECK: Check = Check {
    id: "sessions/distinct-ids",
    force: Force::Must,
    spec: "protocol/v1/session-setup",
    summary: "gives each session an id of its own",
    why: "The response to `session/new` must include a unique session id, with which the client identifies the \
          conversation in all later messages. With the same id twice, two conversations become one.",
    fix: "Create a new id, such as a UUID, for each `session/new`.",
    begins: r#"client {"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"$WORK","mcpServers":[]}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":2,"result":{"sessionId":"default"}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":2,"result":{"sessionId":"$NEW"}}"#,
    run: Run::Talk(Setup::Session, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    let first = agent.any_session().await?;
    let second = agent.open_session().await?;
    ensure(first.id != second.id, format!("opens two sessions with the same id {}", quote(&first.id)))?;
    agent.kept.spare.push(second);
    Ok(())
}
