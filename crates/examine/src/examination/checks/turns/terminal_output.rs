use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, ensure, needs};
use crate::examination::client::TERMINAL_OUTPUT;

pub(super) static CHECK: Check = Check {
    id: "turns/terminal-output",
    force: Force::Observed,
    spec: "protocol/v1/terminals",
    summary: "passes the output of a terminal to the model",
    why: "The agent gets the output of a command that runs in a terminal of the client by `terminal/output`. A \
          model that does not see it goes on with a guess.",
    fix: "Read the output after the command has ended, and send it to the model as the result of the tool.",
    begins: r#"client {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"$SESSION","prompt":[{"type":"text","text":"$PROMPT"}]}}
model calls shell output"#,
    fails: "agent drops the output of terminals",
    passes: r#"agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"tool_call","toolCallId":"$CALL","title":"$TITLE","kind":"execute","status":"pending"}}}"#,
    run: Run::Talk(Setup::Editor, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    let session = agent.shared_session().await?;
    let (turn, _) = agent.play_command(&session, "output.txt", "Output").await?;
    agent.end_with_tools(&turn).await?;
    needs(!agent.calls(&turn, "terminal/create").is_empty(), "the agent runs commands itself")?;
    let has_output = turn.any_result(|result| result.contains(TERMINAL_OUTPUT));
    ensure(has_output, "does not pass the output of a terminal to the model")
}
