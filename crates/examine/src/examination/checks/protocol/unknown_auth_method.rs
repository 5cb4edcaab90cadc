use serde_json::{Value, json};

use crate::examination::agent::{Agent, Trouble};
use crate::examination::check::{Check, Force, Run, Setup};
use crate::examination::level::Level;

pub(super) static CHECK: Check = Check {
    id: "protocol/unknown-auth-method",
    level: Level::Protocol,
    force: Force::Observed,
    spec: "protocol/v1/authentication",
    summary: "refuses a way to sign in that it does not have",
    why: "The id that a client passes to `authenticate` is one of those that the agent has advertised. One that accepts another tells the client that a person has signed in.",
    fix: "Answer `authenticate` with an unknown `methodId` with an error, such as -32602.",
    fails: r#"client {"jsonrpc":"2.0","id":2,"method":"authenticate","params":{"methodId":"acp-registry-no-such-method"}}
agent {"jsonrpc":"2.0","id":2,"result":{}}"#,
    passes: r#"client {"jsonrpc":"2.0","id":2,"method":"authenticate","params":{"methodId":"acp-registry-no-such-method"}}
agent {"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"Invalid params"}}"#,
    run: Run::Talk(Setup::Shared, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut Agent) -> Result<(), Trouble> {
    if agent.result().get("authMethods").and_then(Value::as_array).is_none_or(Vec::is_empty) {
        return Err(Trouble::NotExercised("no `authMethods` are advertised".to_owned()));
    }
    match agent.ask("authenticate", &json!({ "methodId": "acp-registry-no-such-method" })).await? {
        Ok(_) => Err(Trouble::Fail("accepts a `methodId` that it has not advertised".to_owned())),
        Err(_) => Ok(()),
    }
}
