use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, UNKNOWN, json, refused};

pub(super) static CHECK: Check = Check {
    id: "sessions/unknown-config-option",
    force: Force::Observed,
    spec: "protocol/v1/session-config-options",
    summary: "refuses an option that it does not have",
    why: "`configId` is the id of the option to change. A client that receives a success response shows a setting that \
          has no effect.",
    fix: "Answer `session/set_config_option` with error -32602 if there is no such option.",
    begins: r#"client {"jsonrpc":"2.0","id":2,"method":"session/set_config_option","params":{"sessionId":"$ID","configId":"acp-registry-unknown","value":"acp-registry-unknown"}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":2,"result":{"configOptions":[{"id":"mode","name":"Mode","category":"mode","type":"select","currentValue":"ask","options":[{"value":"ask","name":"Ask"},{"value":"code","name":"Code"}]},{"id":"model","name":"Model","category":"model","type":"select","currentValue":"small","options":[{"value":"small","name":"Small"},{"value":"large","name":"Large"}]}]}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"Invalid params: no such option"}}"#,
    run: Run::Talk(Setup::Session, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    let session = agent.any_session().await?;
    session.options()?;
    let params = json!({ "sessionId": session.id, "configId": UNKNOWN, "value": UNKNOWN });
    let answer = agent.ask("session/set_config_option", &params).await?;
    refused(&answer, "an unknown configuration option")
}
