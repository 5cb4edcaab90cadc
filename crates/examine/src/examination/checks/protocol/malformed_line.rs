use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent};

pub(super) static CHECK: Check = Check {
    id: "protocol/malformed-line",
    force: Force::Observed,
    spec: "protocol/v1/transports",
    summary: "keeps running after lines that are not JSON",
    why: "Clients must not write such a line. If a client does so because of a bug or an interrupted write, only that \
          message should be lost, not every session.",
    fix: "Ignore the line, or answer it with the code -32700 and the id `null`, and continue reading.",
    begins: r#"client {"jsonrpc":"2.0","id":2,"method":"#,
    fails: "agent ends",
    passes: r#"agent {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}"#,
    run: Run::Talk(Setup::Shared, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    for line in ["{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":", "acp-registry", ""] {
        agent.write(&format!("{line}\n")).await;
        agent.is_alive(if line.is_empty() { "an empty line" } else { "a line that is not JSON" }).await?;
    }
    Ok(())
}
