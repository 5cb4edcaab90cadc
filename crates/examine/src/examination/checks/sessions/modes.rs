use std::collections::BTreeSet;

use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, fail, quote};

pub(super) static CHECK: Check = Check {
    id: "sessions/modes",
    force: Force::Observed,
    spec: "protocol/v1/session-modes",
    summary: "names the current mode and the available ones",
    why: "Clients show the available modes with the current one selected, and identify each by its id. If the current \
          mode is not among them, or an id appears twice, they show a wrong choice.",
    fix: "List every mode once in `availableModes`, and put the id of one of them into `currentModeId`.",
    begins: r#"client {"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"$WORK","mcpServers":[]}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":2,"result":{"sessionId":"$NEW","modes":{"currentModeId":"plan","availableModes":[{"id":"ask","name":"Ask"},{"id":"code","name":"Code"}]}}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":2,"result":{"sessionId":"$NEW","modes":{"currentModeId":"ask","availableModes":[{"id":"ask","name":"Ask"},{"id":"code","name":"Code"}]}}}"#,
    run: Run::Talk(Setup::Session, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    let (ids, current) = agent.any_session().await?.modes()?;
    if !ids.contains(&current) {
        let current = quote(&current);
        return fail(format!("names {current} as the current mode, which is not in `availableModes`"));
    }
    let mut seen = BTreeSet::new();
    match ids.iter().find(|id| !seen.insert(*id)) {
        Some(id) => fail(format!("lists the mode {} twice", quote(id))),
        None => Ok(()),
    }
}
