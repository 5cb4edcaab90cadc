use acp_registry_protocol::handshake::initialize_params;

use crate::examination::agent::{Agent, Trouble};
use crate::examination::check::{Check, Force, Run, Setup};
use crate::examination::level::Level;

pub(super) static CHECK: Check = Check {
    id: "protocol/version",
    level: Level::Protocol,
    force: Force::Must,
    spec: "protocol/v1/initialization",
    summary: "answers an unknown version of the protocol with the latest one that it has",
    why: "An agent that does not support the version of the client must answer with the latest that it supports. One that repeats the version of the client promises what it cannot keep.",
    fix: "Answer with the version of the client only if it is supported, and else with your latest.",
    fails: r#"client {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":65535}}
agent {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":65535,"agentCapabilities":{"loadSession":true},"agentInfo":{"name":"agent","version":"1.0.0"},"authMethods":[{"id":"login","name":"Log in"}]}}"#,
    passes: r#"client {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":65535}}
agent {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentCapabilities":{"loadSession":true},"agentInfo":{"name":"agent","version":"1.0.0"},"authMethods":[{"id":"login","name":"Log in"}]}}"#,
    run: Run::Talk(Setup::Silent, |agent| Box::pin(run(agent))),
};

/// A version that there will not be for a long time; the largest that the schema allows.
const VERSION: u16 = u16::MAX;

async fn run(agent: &mut Agent) -> Result<(), Trouble> {
    match agent.ask("initialize", &initialize_params(VERSION)).await? {
        Err(error) => {
            Err(Trouble::Fail(format!("answers version {VERSION} of the protocol with {}", error.describe())))
        }
        Ok(result) if result["protocolVersion"] == VERSION => {
            Err(Trouble::Fail(format!("claims to support version {VERSION} of the protocol")))
        }
        Ok(_) => Ok(()),
    }
}
