use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, ensure, fail, not_exercised, quote, read_options};

pub(super) static CHECK: Check = Check {
    id: "sessions/set-config-option",
    force: Force::Must,
    spec: "protocol/v1/session-config-options",
    summary: "answers the change of an option with all options",
    why: "The agent must answer `session/set_config_option` with the complete list of all options and their current \
          values, because one change may cause others. The check sets an option to the value that it has.",
    fix: "Return `configOptions` with every option, also those that have not changed.",
    begins: r#"client {"jsonrpc":"2.0","id":2,"method":"session/set_config_option","params":{"sessionId":"$ID","configId":"mode","value":"ask"}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":2,"result":{"configOptions":[{"id":"mode","name":"Mode","category":"mode","type":"select","currentValue":"ask","options":[{"value":"ask","name":"Ask"},{"value":"code","name":"Code"}]}]}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":2,"result":{"configOptions":[{"id":"mode","name":"Mode","category":"mode","type":"select","currentValue":"ask","options":[{"value":"ask","name":"Ask"},{"value":"code","name":"Code"}]},{"id":"model","name":"Model","category":"model","type":"select","currentValue":"small","options":[{"value":"small","name":"Small"},{"value":"large","name":"Large"}]}]}}"#,
    run: Run::Talk(Setup::Session, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    let session = agent.changing_session().await?;
    let options = session.options()?;
    let Some(option) = options.iter().find(|option| option.values.contains(&option.current)) else {
        return not_exercised("the agent has no configuration option with a known value");
    };
    let answer = agent.set_option(&session.id, option, &option.current).await?;
    let result = answer.map_err(|error| {
        let id = quote(&option.id);
        CheckFailure::NotExercised(format!("the agent answers the current value of its option {id} with {error}"))
    })?;
    ensure(result["configOptions"].is_array(), "answers `session/set_config_option` without an array `configOptions`")?;
    let found = read_options(&result);
    match options.iter().find(|option| !found.iter().any(|other| other.id == option.id)) {
        None => Ok(()),
        Some(missing) => {
            let missing = quote(&missing.id);
            fail(format!("answers `session/set_config_option` without its option {missing}"))
        }
    }
}
