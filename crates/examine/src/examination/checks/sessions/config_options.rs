use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, fail, quote};

pub(super) static CHECK: Check = Check {
    id: "sessions/config-options",
    force: Force::Must,
    spec: "protocol/v1/session-config-options",
    summary: "has a value for each configuration option",
    why: "Agents must always provide a default value for every option, since clients may show no option, or set none.",
    fix: "Set `currentValue` in every element of `configOptions`.",
    begins: r#"client {"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"$WORK","mcpServers":[]}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":2,"result":{"sessionId":"$NEW","configOptions":[{"id":"mode","name":"Mode","category":"mode","type":"select","options":[{"value":"ask","name":"Ask"},{"value":"code","name":"Code"}]}]}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":2,"result":{"sessionId":"$NEW","configOptions":[{"id":"mode","name":"Mode","category":"mode","type":"select","currentValue":"ask","options":[{"value":"ask","name":"Ask"},{"value":"code","name":"Code"}]}]}}"#,
    run: Run::Talk(Setup::Session, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    let options = agent.any_session().await?.options()?;
    match options.iter().find(|option| option.current.is_null()) {
        Some(option) => fail(format!("has no value for its option {}", quote(&option.id))),
        None => Ok(()),
    }
}
