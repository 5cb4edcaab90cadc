use std::future::ready;

use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, fail};
use crate::examination::schema;

pub(super) static CHECK: Check = Check {
    id: "protocol/initialize",
    force: Force::Must,
    spec: "protocol/v1/schema",
    summary: "answers `initialize` with a result that matches the schema",
    why: "The schema defines the types of the members of the result. Clients that parse the result into typed \
          structures reject a wrong type, or treat the member as absent.",
    fix: "Write the member with the type that the schema defines. Data that the schema does not define belongs in \
          `_meta`.",
    begins: r#"client {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":true,"writeTextFile":true},"terminal":true}}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentCapabilities":{"loadSession":"yes"},"agentInfo":{"name":"agent","version":"1.0.0"},"authMethods":[{"id":"login","name":"Log in"}]}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentCapabilities":{"loadSession":true},"agentInfo":{"name":"agent","version":"1.0.0"},"authMethods":[{"id":"login","name":"Log in"}]}}"#,
    run: Run::Talk(Setup::Shared, |agent| Box::pin(ready(run(agent)))),
};

fn run(agent: &StartedAgent) -> Result<(), CheckFailure> {
    match schema::initialize(agent.result()) {
        Some(problem) => fail(format!("answers `initialize` with a result that does not match the schema: {problem}")),
        None => Ok(()),
    }
}
