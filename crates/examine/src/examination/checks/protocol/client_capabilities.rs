use std::future::ready;

use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, fail};

pub(super) static CHECK: Check = Check {
    id: "protocol/client-capabilities",
    force: Force::Should,
    spec: "protocol/v1/initialization",
    summary: "accepts a client without capabilities",
    why: "All capabilities of a client are optional, and agents should support every combination: some clients offer \
          no file system and no terminal.",
    fix: "Work without the missing capabilities, or answer with an error only when one of them is needed.",
    begins: r#"client {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{}}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"fs is required"}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentCapabilities":{"loadSession":true},"agentInfo":{"name":"agent","version":"1.0.0"},"authMethods":[{"id":"login","name":"Log in"}]}}"#,
    run: Run::Talk(Setup::Bare, |agent| Box::pin(ready(run(agent)))),
};

fn run(agent: &StartedAgent) -> Result<(), CheckFailure> {
    match &agent.initialized {
        Ok(_) => Ok(()),
        Err(text) => fail(format!("{text} if the client has no capabilities")),
    }
}
