use super::{
    Check, CheckFailure, ConfigOption, Force, Run, Setup, StartedAgent, Value, fail, quote, read_options, shown,
};
use crate::examination::access::OpenSession;
use crate::examination::session_options::TRIED;

pub(super) static CHECK: Check = Check {
    id: "sessions/set-config-values",
    force: Force::Observed,
    spec: "protocol/v1/session-config-options",
    summary: "accepts the values of its options, and reports the one that was set",
    why: "Clients offer all values that the agent lists. After one is set, they show the value in the response.",
    fix: "Accept every listed value, and return it as `currentValue` of the option.",
    begins: r#"client {"jsonrpc":"2.0","id":2,"method":"session/set_config_option","params":{"sessionId":"$ID","configId":"mode","value":"code"}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":2,"result":{"configOptions":[{"id":"mode","name":"Mode","category":"mode","type":"select","currentValue":"ask","options":[{"value":"ask","name":"Ask"},{"value":"code","name":"Code"}]},{"id":"model","name":"Model","category":"model","type":"select","currentValue":"small","options":[{"value":"small","name":"Small"},{"value":"large","name":"Large"}]}]}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":2,"result":{"configOptions":[{"id":"mode","name":"Mode","category":"mode","type":"select","currentValue":"code","options":[{"value":"ask","name":"Ask"},{"value":"code","name":"Code"}]},{"id":"model","name":"Model","category":"model","type":"select","currentValue":"small","options":[{"value":"small","name":"Small"},{"value":"large","name":"Large"}]}]}}"#,
    run: Run::Talk(Setup::Session, |agent| Box::pin(run(agent))),
};

/// Number of values of one option to set.
const VALUES: usize = 2;

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    let session = agent.changing_session().await?;
    let mut options = session.options()?;
    let ids: Vec<String> = options.iter().map(|option| option.id.clone()).take(TRIED).collect();
    for id in ids {
        // Another option may have removed this one, or changed its values.
        let Some(option) = options.iter().find(|option| option.id == id).cloned() else { continue };
        let others = option.values.iter().filter(|value| **value != option.current).take(VALUES);
        let first = option.values.iter().filter(|value| **value == option.current);
        for value in others.chain(first) {
            options = set(agent, &session, &option, value).await?;
        }
    }
    Ok(())
}

/// Sets an option to one of its values, and returns all options.
async fn set(
    agent: &mut StartedAgent,
    session: &OpenSession,
    option: &ConfigOption,
    value: &Value,
) -> Result<Vec<ConfigOption>, CheckFailure> {
    let (id, set) = (quote(&option.id), shown(value));
    let result = agent
        .set_option(&session.id, option, value)
        .await?
        .map_err(|error| CheckFailure::Fail(format!("does not set its option {id} to {set}: {error}")))?;
    let options = read_options(&result);
    match options.iter().find(|found| found.id == option.id) {
        Some(found) if found.current != *value => {
            let found = shown(&found.current);
            fail(format!("reports {found} after its option {id} was set to {set}"))
        }
        _ => Ok(options),
    }
}
