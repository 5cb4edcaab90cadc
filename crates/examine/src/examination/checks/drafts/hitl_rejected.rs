use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, ensure, fail, json, needs};

pub(super) static CHECK: Check = Check {
    id: "drafts/hitl-rejected",
    force: Force::Observed,
    spec: "rfds/hitl-editing",
    summary: "continues the turn without the file if the user rejects it",
    why: "The `action` of the response to `fs/write_text_file` can be `reject`, with a `feedback`. An agent that \
          treats every response as a success reports a file that does not exist; one that fails ends the conversation \
          that the user wanted to continue.",
    fix: "Tell the model that the file was not written, with the feedback, and continue the turn.",
    begins: r#"client {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"$SESSION","prompt":[{"type":"text","text":"Write the line `one` to `acp-registry-rejected.txt`."}]}}
agent {"jsonrpc":"2.0","id":"w-3","method":"fs/write_text_file","params":{"sessionId":"$SESSION","path":"/project/acp-registry-rejected.txt","content":"one\n"}}
client {"jsonrpc":"2.0","id":"w-3","result":{"action":"reject","feedback":"Leave it."}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"Cannot write"}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}"#,
    run: Run::Talk(Setup::Draft, |agent| Box::pin(run(agent))),
};

const PROMPT: &str = "Write the line `one` to `acp-registry-rejected.txt`.";

const NAME: &str = "acp-registry-rejected.txt";

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    agent.needs("/fs/hitlEditing")?;
    let session = agent.open_session().await?;
    agent.client.drafts.review = Some(json!({ "action": "reject", "feedback": "Leave it." }));
    let answer = agent.possible_turn(&session.id, PROMPT).await?;
    needs(agent.written(NAME).next().is_some(), "the agent writes no file through the client")?;
    if let Err(error) = answer {
        return fail(format!("ends the turn with {error} after the user has rejected a file"));
    }
    let file = agent.work().join(NAME);
    ensure(file.symlink_metadata().is_err(), "writes a file by itself that the user has rejected")
}
