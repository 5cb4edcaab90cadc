use super::{Check, CheckFailure, Force, PING, Run, Setup, StartedAgent, fail, json, quote, silent};

pub(super) static CHECK: Check = Check {
    id: "protocol/split-line",
    force: Force::Must,
    spec: "protocol/v1/transports",
    summary: "reads a line that arrives one byte at a time",
    why: "Messages are delimited by line ends, not by the chunks that a pipe delivers. A chunk can even end inside a \
          multi-byte character.",
    fix: "Collect bytes up to the line end, then decode them as UTF-8 and parse them as JSON.",
    begins: r#"client {"jsonrpc":"2.0","id":"zwölf 🦀","method":"_acp-registry/ping","params":{}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":"zwölf 🦀","error":{"code":-32601,"message":"Method not found"}}"#,
    run: Run::Talk(Setup::Shared, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    let id = json!("zwölf 🦀");
    let line = agent.request_line(&id, PING, &json!({}));
    agent.write_bytewise(&line).await;
    let Err(silence) = agent.answer(&id).await else { return Ok(()) };
    if let Some(other) = agent.other_ids().next() {
        let (sent, other) = (quote(&id.to_string()), quote(&other.to_string()));
        return fail(format!("answers the id {sent}, sent one byte at a time, with the id {other}"));
    }
    Err(match silent(silence, PING) {
        CheckFailure::Silent(_) => {
            CheckFailure::Silent("does not answer a request that was sent one byte at a time".to_owned())
        }
        CheckFailure::Fail(text) => CheckFailure::Fail(format!("{text}, which was sent one byte at a time")),
        other => other,
    })
}
