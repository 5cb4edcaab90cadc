use std::future::ready;

use crate::examination::agent::{Agent, Trouble};
use crate::examination::check::{Check, Force, Run, Setup};
use crate::examination::level::Level;
use crate::examination::shape;

pub(super) static CHECK: Check = Check {
    id: "protocol/initialize",
    level: Level::Protocol,
    force: Force::Must,
    spec: "protocol/v1/schema",
    summary: "answers `initialize` as the schema says",
    why: "The result of `initialize` has members of fixed types. Clients with typed readers refuse others, or take them for absent.",
    fix: "Write the member with the type of the schema; what the schema does not have belongs below `_meta`.",
    fails: r#"client {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":true,"writeTextFile":true},"terminal":true}}}
agent {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentCapabilities":{"loadSession":"yes"},"agentInfo":{"name":"agent","version":"1.0.0"},"authMethods":[{"id":"login","name":"Log in"}]}}"#,
    passes: r#"client {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":true,"writeTextFile":true},"terminal":true}}}
agent {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentCapabilities":{"loadSession":true},"agentInfo":{"name":"agent","version":"1.0.0"},"authMethods":[{"id":"login","name":"Log in"}]}}"#,
    run: Run::Talk(Setup::Shared, |agent| Box::pin(ready(run(agent)))),
};

fn run(agent: &Agent) -> Result<(), Trouble> {
    match shape::initialize(agent.result()) {
        Some(problem) => {
            Err(Trouble::Fail(format!("answers `initialize` with a result that is not of the schema: {problem}")))
        }
        None => Ok(()),
    }
}
