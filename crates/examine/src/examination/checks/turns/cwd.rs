use super::{Check, CheckFailure, Force, Run, Script, Setup, StartedAgent, ToolCall, fail, not_exercised};

pub(super) static CHECK: Check = Check {
    id: "turns/cwd",
    force: Force::Must,
    spec: "protocol/v1/session-setup",
    summary: "runs commands in the working directory of the session",
    why: "The `cwd` of a session must be used regardless of where the agent was started. Clients start one process \
          for several projects: a command that runs in the wrong one changes the wrong files.",
    fix: "Start commands in the `cwd` of `session/new`, not in the directory of the process.",
    begins: r#"client {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"$SESSION","prompt":[{"type":"text","text":"$PROMPT"}]}}
model calls shell directory"#,
    fails: "agent runs commands where it was started",
    passes: r#"agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"tool_call","toolCallId":"$CALL","title":"$TITLE","kind":"execute","status":"pending"}}}
agent {"jsonrpc":"2.0","id":9,"method":"session/request_permission","params":{"sessionId":"$SESSION","toolCall":{"toolCallId":"$CALL"},"options":[{"optionId":"allow","name":"Allow","kind":"allow_once"},{"optionId":"reject","name":"Reject","kind":"reject_once"}]}}"#,
    run: Run::Talk(Setup::Session, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    let project = agent.project("first")?;
    let params = agent.session_params_with("cwd", project.to_string_lossy());
    let session = agent.open_session_with(&params).await?;
    let command = "echo acp-registry > directory.txt".to_owned();
    let turn = agent.play(&session, Script::calling(ToolCall::Shell { command }, "Directory")).await?;
    agent.end_with_tools(&turn).await?;
    if project.join("directory.txt").exists() {
        return Ok(());
    }
    if [&agent.work(), agent.directory()].iter().any(|directory| directory.join("directory.txt").exists()) {
        return fail("runs a command where the process was started, not in the `cwd` of the session");
    }
    not_exercised("the command of the model was not run")
}
