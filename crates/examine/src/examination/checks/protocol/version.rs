use acp_registry_protocol::handshake::initialize_params;

use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, fail};

pub(super) static CHECK: Check = Check {
    id: "protocol/version",
    force: Force::Must,
    spec: "protocol/v1/initialization",
    summary: "answers an unknown protocol version with the latest version that it supports",
    why: "An agent that does not support the client's version must answer with the latest version that it supports. An \
          agent that repeats the client's version claims to support a version that it does not implement.",
    fix: "Answer with the client's version only if the agent supports it; otherwise, answer with the latest version \
          that it supports.",
    begins: r#"client {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":65535}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":65535,"agentCapabilities":{"loadSession":true},"agentInfo":{"name":"agent","version":"1.0.0"},"authMethods":[{"id":"login","name":"Log in"}]}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentCapabilities":{"loadSession":true},"agentInfo":{"name":"agent","version":"1.0.0"},"authMethods":[{"id":"login","name":"Log in"}]}}"#,
    run: Run::Talk(Setup::Silent, |agent| Box::pin(run(agent))),
};

/// The largest version that the schema allows, which no agent supports.
const VERSION: u16 = u16::MAX;

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    match agent.ask("initialize", &initialize_params(VERSION)).await? {
        Err(error) => fail(format!("answers version {VERSION} of the protocol with {error}")),
        Ok(result) if result["protocolVersion"] == VERSION => {
            fail(format!("claims to support version {VERSION} of the protocol"))
        }
        // Version 1 is what it has agreed on in the handshake.
        Ok(result) if result["protocolVersion"] == 0 => {
            fail(format!("answers version {VERSION} of the protocol with version 0"))
        }
        Ok(_) => Ok(()),
    }
}
