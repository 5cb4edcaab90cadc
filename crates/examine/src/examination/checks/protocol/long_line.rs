use super::{Check, CheckFailure, Force, PING, Run, Setup, StartedAgent, json, silent};

pub(super) static CHECK: Check = Check {
    id: "protocol/long-line",
    force: Force::Observed,
    spec: "protocol/v1/transports",
    summary: "reads a line of 1 MiB",
    why: "A message is one line, and the protocol does not limit its length: a prompt with an embedded file can be \
          long.",
    fix: "Read lines of any length, or answer lines that are too long with an error.",
    begins: r#"client {"jsonrpc":"2.0","id":2,"method":"_acp-registry/ping","params":{"text":"$LONG"}}"#,
    fails: "agent ends",
    passes: r#"agent {"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"Method not found"}}"#,
    run: Run::Talk(Setup::Shared, |agent| Box::pin(run(agent))),
};

/// Length of the line in bytes, with the line end.
const LENGTH: usize = 1 << 20;

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    let id = json!("long-line");
    let empty = agent.request_line(&id, PING, &json!({ "text": "" })).len();
    let line = agent.request_line(&id, PING, &json!({ "text": "x".repeat(LENGTH - empty) }));
    agent.write(&line).await;
    match agent.answer(&id).await {
        Ok(_) => Ok(()),
        Err(silence) => Err(match silent(silence, PING) {
            CheckFailure::Silent(_) => CheckFailure::Silent("does not answer a request of 1 MiB".to_owned()),
            CheckFailure::Fail(text) => CheckFailure::Fail(format!("{text}, which was sent in a line of 1 MiB")),
            other => other,
        }),
    }
}
