use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, fail, quote};

pub(super) static CHECK: Check = Check {
    id: "sessions/commands",
    force: Force::Must,
    spec: "protocol/v1/slash-commands",
    summary: "describes its commands in the form of the schema",
    why: "The schema requires a name and a description of each command in `available_commands_update`. One command \
          that clients cannot parse makes all of them unavailable.",
    fix: "Send `availableCommands` as an array of objects with `name` and `description`, and `input`, if any, with \
          `hint`.",
    begins: r#"client {"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"$WORK","mcpServers":[]}}
agent {"jsonrpc":"2.0","id":2,"result":{"sessionId":"$NEW"}}"#,
    fails: r#"agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$LAST","update":{"sessionUpdate":"available_commands_update","availableCommands":[{"name":"test"}]}}}"#,
    passes: r#"agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$LAST","update":{"sessionUpdate":"available_commands_update","availableCommands":[{"name":"test","description":"Run the tests"}]}}}"#,
    run: Run::Talk(Setup::Session, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    let commands = agent.commands().await?;
    let Some(commands) = commands.as_array() else {
        return fail("sends commands without an array `availableCommands`");
    };
    for command in commands {
        let Some(name) = command["name"].as_str() else {
            return fail("sends a command without a `name`");
        };
        if !command["description"].is_string() {
            return fail(format!("sends the command {} without a `description`", quote(name)));
        }
        let input = &command["input"];
        if !input.is_null() && !input["hint"].is_string() {
            return fail(format!("sends the command {} with an `input` without a `hint`", quote(name)));
        }
    }
    Ok(())
}
