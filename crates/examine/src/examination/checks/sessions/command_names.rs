use std::collections::BTreeSet;

use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, ensure, fail, quote};

pub(super) static CHECK: Check = Check {
    id: "sessions/command-names",
    force: Force::Observed,
    spec: "protocol/v1/slash-commands",
    summary: "gives each command a name of its own, without a slash",
    why: "Users call a command by a slash and its name, such as `/web`. With a name that begins with a slash, clients \
          show two of them, and the second of two commands with the same name cannot be called.",
    fix: "Send the name without the slash that users type, and each name once.",
    begins: r#"client {"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"$WORK","mcpServers":[]}}
agent {"jsonrpc":"2.0","id":2,"result":{"sessionId":"$NEW"}}"#,
    fails: r#"agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$LAST","update":{"sessionUpdate":"available_commands_update","availableCommands":[{"name":"/test","description":"Run the tests"}]}}}"#,
    passes: r#"agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$LAST","update":{"sessionUpdate":"available_commands_update","availableCommands":[{"name":"test","description":"Run the tests"}]}}}"#,
    run: Run::Talk(Setup::Session, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    let commands = agent.commands().await?;
    let mut seen = BTreeSet::new();
    for name in commands.as_array().into_iter().flatten().filter_map(|command| command["name"].as_str()) {
        if name.is_empty() || name.starts_with('/') {
            return fail(format!("sends a command with the name {}", quote(name)));
        }
        ensure(seen.insert(name), format!("sends two commands with the name {}", quote(name)))?;
    }
    Ok(())
}
