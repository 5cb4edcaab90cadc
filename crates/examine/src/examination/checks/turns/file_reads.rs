use super::{Check, CheckFailure, Force, Run, Script, Setup, StartedAgent, ToolCall, fail, needs, quote};

pub(super) static CHECK: Check = Check {
    id: "turns/file-reads",
    force: Force::Observed,
    spec: "protocol/v1/file-system",
    summary: "reads the unsaved text of a file through the client",
    why: "Clients that offer `fs/read_text_file` let the agent read the content of a file with changes that are not \
          saved yet. An agent that reads the file itself works with an older text than the person sees.",
    fix: "If the client advertises `fs.readTextFile`, read text files with it, and pass its content to the model.",
    begins: r#"client {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"$SESSION","prompt":[{"type":"text","text":"$PROMPT"}]}}
model calls read unsaved"#,
    fails: r#"agent {"jsonrpc":"2.0","id":9,"method":"fs/read_text_file","params":{"sessionId":"$SESSION","path":"/etc/hostname"}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":9,"method":"fs/read_text_file","params":{"sessionId":"$SESSION","path":"$PATH"}}"#,
    run: Run::Talk(Setup::Editor, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    let session = agent.shared_session().await?;
    let path = agent.file("unsaved.txt", "acp-registry-saved\n")?.display().to_string();
    agent.client.texts.insert(path.clone(), "acp-registry-unsaved\n".to_owned());
    let turn = agent.play(&session, Script::calling(ToolCall::Read { path }, "Read")).await?;
    agent.end_with_tools(&turn).await?;
    needs(!agent.calls(&turn, "fs/read_text_file").is_empty(), "the agent reads files itself")?;
    agent.names_session(&turn, "fs/read_text_file")?;
    let requests = turn.requests();
    let results = || requests.iter().flat_map(|request| &request.results);
    if results().any(|result| result.contains("acp-registry-unsaved")) {
        return Ok(());
    }
    let result =
        quote(&results().next_back().map(String::as_str).unwrap_or_default().chars().take(300).collect::<String>());
    fail(format!("asks the client for a file, but does not pass its text to the model, which gets {result}"))
}
