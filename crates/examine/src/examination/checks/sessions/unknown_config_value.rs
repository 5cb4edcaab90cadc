use super::{
    Check, CheckFailure, ConfigOption, Force, Run, Setup, StartedAgent, UNKNOWN, Value, json, not_exercised, quote,
    refused,
};

pub(super) static CHECK: Check = Check {
    id: "sessions/unknown-config-value",
    force: Force::Observed,
    spec: "protocol/v1/session-config-options",
    summary: "refuses a value that an option does not have",
    why: "The new value must be one of those in the option's `options`. A client that receives a success response \
          shows a setting that has no effect.",
    fix: "Answer `session/set_config_option` with error -32602 if the option has no such value.",
    begins: r#"client {"jsonrpc":"2.0","id":2,"method":"session/set_config_option","params":{"sessionId":"$ID","configId":"mode","value":"acp-registry-unknown"}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":2,"result":{"configOptions":[{"id":"mode","name":"Mode","category":"mode","type":"select","currentValue":"ask","options":[{"value":"ask","name":"Ask"},{"value":"code","name":"Code"}]},{"id":"model","name":"Model","category":"model","type":"select","currentValue":"small","options":[{"value":"small","name":"Small"},{"value":"large","name":"Large"}]}]}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"Invalid params: no such value"}}"#,
    run: Run::Talk(Setup::Session, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    // No later check uses this session: an agent that accepts the value may keep it.
    let session = agent.changing_session().await?;
    let options = session.options()?;
    let mut selects = options.iter().filter(|option| option.values.iter().any(Value::is_string));
    // Some agents pass names of models on to providers that have more of them than they list.
    let is_other = |option: &&ConfigOption| option.category.as_deref() != Some("model");
    let Some(option) = selects.clone().find(is_other).or_else(|| selects.next()) else {
        return not_exercised("the agent has no configuration option with a list of values");
    };
    let answer = agent.set_option(&session.id, option, &json!(UNKNOWN)).await?;
    refused(&answer, &format!("an unknown value of its option {}", quote(&option.id)))
}
