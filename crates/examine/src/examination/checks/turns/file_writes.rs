use super::{Check, CheckFailure, Force, Run, Script, Setup, StartedAgent, ToolCall, fail, needs, quote};

pub(super) static CHECK: Check = Check {
    id: "turns/file-writes",
    force: Force::Observed,
    spec: "protocol/v1/file-system",
    summary: "writes a file through the client",
    why: "Clients that offer `fs/write_text_file` let the agent write text files in the editor, where the person sees \
          the change and can undo it.",
    fix: "If the client advertises `fs.writeTextFile`, write text files with it, with the exact new content.",
    begins: r#"client {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"$SESSION","prompt":[{"type":"text","text":"$PROMPT"}]}}
model calls write written
agent {"jsonrpc":"2.0","id":9,"method":"session/request_permission","params":{"sessionId":"$SESSION","toolCall":{"toolCallId":"$CALL"},"options":[{"optionId":"allow","name":"Allow","kind":"allow_once"},{"optionId":"reject","name":"Reject","kind":"reject_once"}]}}
client {"jsonrpc":"2.0","id":9,"result":{"outcome":{"outcome":"selected","optionId":"allow"}}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":9,"method":"fs/write_text_file","params":{"sessionId":"$SESSION","path":"$PATH","content":"Hello"}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":9,"method":"fs/write_text_file","params":{"sessionId":"$SESSION","path":"$PATH","content":"$TEXT"}}"#,
    run: Run::Talk(Setup::Editor, |agent| Box::pin(run(agent))),
};

const TEXT: &str = "acp-registry writes\ntwo lines\n";

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    let session = agent.shared_session().await?;
    let path = agent.work().join("written.txt").display().to_string();
    let write = ToolCall::Write { path: path.clone(), before: None, text: TEXT.to_owned() };
    let turn = agent.play(&session, Script::calling(write, "Written")).await?;
    agent.end_with_tools(&turn).await?;
    needs(!agent.calls(&turn, "fs/write_text_file").is_empty(), "the agent writes files itself, or not this one")?;
    agent.names_session(&turn, "fs/write_text_file")?;
    match agent.client.texts.get(&path) {
        Some(text) if text.trim_end() == TEXT.trim_end() => Ok(()),
        Some(text) => {
            let text = quote(&text.chars().take(300).collect::<String>());
            fail(format!("writes {text} instead of the text of the model"))
        }
        None => fail("writes another file than the model wants"),
    }
}
