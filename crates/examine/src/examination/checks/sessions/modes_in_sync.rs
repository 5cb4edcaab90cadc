use std::time::Duration;

use super::{
    Check, CheckFailure, ConfigOption, Force, Run, Setup, StartedAgent, Value, fail, not_exercised, quote,
    read_options, shown,
};
use crate::examination::access::OpenSession;

pub(super) static CHECK: Check = Check {
    id: "sessions/modes-in-sync",
    force: Force::Should,
    spec: "protocol/v1/session-config-options",
    summary: "keeps its modes and the option for modes in sync",
    why: "Agents that have both should keep them in sync, so that it makes no difference which of them a client uses.",
    fix: "Change the option with the category `mode` with `session/set_mode`, and the current mode with \
          `session/set_config_option`.",
    begins: r#"client {"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"$WORK","mcpServers":[]}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":2,"result":{"sessionId":"$NEW","modes":{"currentModeId":"ask","availableModes":[{"id":"ask","name":"Ask"},{"id":"code","name":"Code"}]},"configOptions":[{"id":"mode","name":"Mode","category":"mode","type":"select","currentValue":"code","options":[{"value":"ask","name":"Ask"},{"value":"code","name":"Code"}]}]}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":2,"result":{"sessionId":"$NEW","modes":{"currentModeId":"ask","availableModes":[{"id":"ask","name":"Ask"},{"id":"code","name":"Code"}]},"configOptions":[{"id":"mode","name":"Mode","category":"mode","type":"select","currentValue":"ask","options":[{"value":"ask","name":"Ask"},{"value":"code","name":"Code"}]}]}}"#,
    run: Run::Talk(Setup::Session, |agent| Box::pin(run(agent))),
};

/// Time for an update after the response.
const LATE: Duration = Duration::from_millis(300);

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    let session = agent.changing_session().await?;
    let (ids, mode) = session.modes()?;
    let options = session.options()?;
    let is_mode = |option: &&ConfigOption| option.category.as_deref() == Some("mode") && option.current.is_string();
    let Some(option) = options.iter().find(is_mode) else {
        return not_exercised("the agent has no configuration option for modes");
    };
    if option.current != mode.as_str() {
        let (value, mode) = (shown(&option.current), quote(&mode));
        return fail(format!("opens a session with the mode {mode} and the option {value}"));
    }
    let is_in_both = |id: &&String| **id != mode && option.values.iter().any(|value| value == id.as_str());
    let Some(other) = ids.iter().find(is_in_both) else { return Ok(()) };
    // Whether the mode can be set is another check.
    if agent.set_mode(&session.id, other).await?.is_err() {
        return Ok(());
    }
    let value = now(agent, &session, option, &options).await?;
    // Other checks use the session too.
    let _ = agent.set_mode(&session.id, &mode).await?;
    if let Some(value) = value
        && value != other.as_str()
    {
        let (value, other) = (shown(&value), quote(other));
        return fail(format!("keeps the option {value} after the mode was set to {other}"));
    }
    Ok(())
}

/// The current value of an option: from the response to setting another one to the value that it has, or else from an
/// update.
async fn now(
    agent: &mut StartedAgent,
    session: &OpenSession,
    option: &ConfigOption,
    options: &[ConfigOption],
) -> Result<Option<Value>, CheckFailure> {
    let value_in =
        |state: &Value| read_options(state).into_iter().find(|found| found.id == option.id).map(|found| found.current);
    if let Some(other) = options.iter().find(|other| other.id != option.id && other.current.is_string()) {
        let answer = agent.set_option(&session.id, other, &other.current).await?;
        return Ok(answer.ok().as_ref().and_then(value_in));
    }
    agent.read_for(LATE).await;
    let updates = agent.client.session_updates(&session.id).filter(|update| update.kind() == "config_option_update");
    Ok(updates.last().and_then(|update| value_in(&update.body)))
}
