use std::future::ready;

use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, fail};

pub(super) static CHECK: Check = Check {
    id: "protocol/agent-info",
    force: Force::Should,
    spec: "protocol/v1/initialization",
    summary: "states its name and version in `agentInfo`",
    why: "The name and version in the answer to `initialize` appear in clients' logs and in bug reports. The page \
          recommends them, and a later version of the protocol will require them.",
    fix: "Add `agentInfo` with `name` and `version` to the result of `initialize`.",
    begins: r#"client {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":true,"writeTextFile":true},"terminal":true}}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentCapabilities":{"loadSession":true},"authMethods":[{"id":"login","name":"Log in"}]}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentCapabilities":{"loadSession":true},"agentInfo":{"name":"agent","version":"1.0.0"},"authMethods":[{"id":"login","name":"Log in"}]}}"#,
    run: Run::Talk(Setup::Shared, |agent| Box::pin(ready(run(agent)))),
};

fn run(agent: &StartedAgent) -> Result<(), CheckFailure> {
    match agent.result().get("agentInfo") {
        Some(info) if ["name", "version"].iter().any(|name| info[*name] == "") => {
            fail("states an empty name or version")
        }
        Some(info) if info.is_object() => Ok(()),
        _ => fail("states neither its name nor its version"),
    }
}
