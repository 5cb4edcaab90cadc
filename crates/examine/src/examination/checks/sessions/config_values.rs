use std::collections::BTreeSet;

use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, ensure, fail, quote, shown};

pub(super) static CHECK: Check = Check {
    id: "sessions/config-values",
    force: Force::Observed,
    spec: "protocol/v1/session-config-options",
    summary: "lists each option and each value once, and the current value among them",
    why: "Options and values are identified by their ids, and clients show the current value as the selected one of \
          the list. They cannot if it is missing, and an id that appears twice has two meanings.",
    fix: "Give each option an id of its own and each of its values too, and list the current value.",
    begins: r#"client {"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"$WORK","mcpServers":[]}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":2,"result":{"sessionId":"$NEW","configOptions":[{"id":"mode","name":"Mode","category":"mode","type":"select","currentValue":"plan","options":[{"value":"ask","name":"Ask"},{"value":"code","name":"Code"}]}]}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":2,"result":{"sessionId":"$NEW","configOptions":[{"id":"mode","name":"Mode","category":"mode","type":"select","currentValue":"ask","options":[{"value":"ask","name":"Ask"},{"value":"code","name":"Code"}]}]}}"#,
    run: Run::Talk(Setup::Session, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    let options = agent.any_session().await?.options()?;
    let mut ids = BTreeSet::new();
    for option in &options {
        let id = quote(&option.id);
        ensure(ids.insert(&option.id), format!("lists the option {id} twice"))?;
        let is_missing = !option.current.is_null() && !option.values.contains(&option.current);
        if is_missing && !option.values.is_empty() {
            let value = shown(&option.current);
            return fail(format!("does not list the current value {value} of its option {id}"));
        }
        let mut values = BTreeSet::new();
        if let Some(value) = option.values.iter().find(|value| !values.insert(value.to_string())) {
            return fail(format!("lists the value {} of its option {id} twice", shown(value)));
        }
    }
    Ok(())
}
