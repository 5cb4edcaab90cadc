use super::{Check, CheckFailure, Force, Run, Script, Setup, StartedAgent, Step, ToolCall, fail, needs};
use crate::examination::client::TERMINAL_OUTPUT;

pub(super) static CHECK: Check = Check {
    id: "turns/terminal-output",
    force: Force::Observed,
    spec: "protocol/v1/terminals",
    summary: "passes the output of a terminal to the model",
    why: "The agent gets the output of a command that runs in a terminal of the client by `terminal/output`. A \
          model that does not see it goes on with a guess.",
    fix: "Read the output after the command has ended, and send it to the model as the result of the tool.",
    fails: r#"client {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"$SESSION","prompt":[{"type":"text","text":"$PROMPT"}]}}
model calls shell output
agent drops the output of terminals"#,
    passes: r#"client {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"$SESSION","prompt":[{"type":"text","text":"$PROMPT"}]}}
model calls shell output
agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"tool_call","toolCallId":"$CALL","title":"$TITLE","kind":"execute","status":"pending"}}}"#,
    run: Run::Talk(Setup::Editor, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    let session = agent.shared_session().await?;
    let file = agent.work().join("output.txt");
    let command = format!("echo acp-registry > '{}'", file.display());
    let script = Script::new(vec![Step::Call(vec![ToolCall::Shell { command }]), Step::say("Output")]);
    let turn = agent.play(&session, script).await?;
    agent.end_with_tools(&turn).await?;
    needs(!agent.calls(&turn, "terminal/create").is_empty(), "the agent runs commands itself")?;
    let requests = turn.requests();
    let mut results = requests.iter().flat_map(|request| &request.results);
    if results.any(|result| result.contains(TERMINAL_OUTPUT)) {
        return Ok(());
    }
    fail("does not pass the output of a terminal to the model")
}
