use serde_json::json;

use crate::examination::agent::{Agent, PING, Trouble, silent};
use crate::examination::check::{Check, Force, Run, Setup};
use crate::examination::level::Level;

pub(super) static CHECK: Check = Check {
    id: "protocol/long-line",
    level: Level::Protocol,
    force: Force::Observed,
    spec: "protocol/v1/transports",
    summary: "reads a line of 1 MiB",
    why: "Messages are lines, and the protocol sets no limit to them: a prompt with an embedded file is long.",
    fix: "Read lines of any length, or answer those that are too long with an error.",
    fails: r#"client {"jsonrpc":"2.0","id":2,"method":"_acp-registry/ping","params":{"text":"$LONG"}}
agent ends"#,
    passes: r#"client {"jsonrpc":"2.0","id":2,"method":"_acp-registry/ping","params":{"text":"$LONG"}}
agent {"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"Method not found"}}"#,
    run: Run::Talk(Setup::Shared, |agent| Box::pin(run(agent))),
};

/// How long the line is, with its end, in bytes.
const LENGTH: usize = 1 << 20;

async fn run(agent: &mut Agent) -> Result<(), Trouble> {
    let id = json!("long-line");
    let empty = agent.line_of(&id, PING, &json!({ "text": "" })).len();
    let line = agent.line_of(&id, PING, &json!({ "text": "x".repeat(LENGTH - empty) }));
    agent.write(&line).await;
    match agent.answer(&id).await {
        Ok(_) => Ok(()),
        Err(silence) => Err(match silent(silence, PING) {
            Trouble::Silent(_) => Trouble::Silent("does not answer a request of 1 MiB".to_owned()),
            Trouble::Fail(text) => Trouble::Fail(format!("{text} in a line of 1 MiB")),
            other @ Trouble::NotExercised(_) => other,
        }),
    }
}
