use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, ensure, json};

pub(super) static CHECK: Check = Check {
    id: "protocol/unknown-notification",
    force: Force::Should,
    spec: "protocol/v1/extensibility",
    summary: "ignores unknown notifications",
    why: "Implementations should ignore notifications that they do not recognize, and notifications never receive \
          responses: newer clients send notifications that older agents do not know.",
    fix: "Ignore notifications with an unknown method.",
    begins: r#"client {"jsonrpc":"2.0","method":"_acp-registry/note","params":{}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"Method not found"}}"#,
    passes: r#"client {"jsonrpc":"2.0","id":2,"method":"_acp-registry/ping","params":{}}
agent {"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"Method not found"}}"#,
    run: Run::Talk(Setup::Shared, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    for method in ["_acp-registry/note", "$/acp-registry"] {
        agent.notify(method, &json!({})).await;
        agent.is_alive("an unknown notification").await?;
        ensure(agent.nameless_answer().is_none(), "answers an unknown notification")?;
    }
    Ok(())
}
