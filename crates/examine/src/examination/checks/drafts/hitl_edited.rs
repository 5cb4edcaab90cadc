use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, fail, json, needs, not_exercised, quote};

pub(super) static CHECK: Check = Check {
    id: "drafts/hitl-edited",
    force: Force::Observed,
    spec: "rfds/hitl-editing",
    summary: "continues from the content that the user has edited",
    why: "The response to `fs/write_text_file` can have a `userModification` with the `finalContent` of the file. The \
          proposal is for agents that learn what was changed. An agent that continues from its own text works from an \
          outdated understanding of the file, and removes what the user has written.",
    fix: "Take `finalContent` as the new text of the file, and show the model the `diff` and the `feedback`.",
    begins: r#"client {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"$SESSION","prompt":[{"type":"text","text":"Write the line `one` to `acp-registry-edited.txt`, then add the line `two` to it."}]}}
agent {"jsonrpc":"2.0","id":"w-1","method":"fs/write_text_file","params":{"sessionId":"$SESSION","path":"/project/acp-registry-edited.txt","content":"one\n"}}
client {"jsonrpc":"2.0","id":"w-1","result":{"action":"accept","userModification":{"diff":{"format":"full","oldText":"one\n","newText":"uno\n"},"finalContent":"uno\n"},"feedback":"In Spanish, please."}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":"w-2","method":"fs/write_text_file","params":{"sessionId":"$SESSION","path":"/project/acp-registry-edited.txt","content":"one\ntwo\n"}}
client {"jsonrpc":"2.0","id":"w-2","result":{"action":"accept","userModification":{"diff":{"format":"full","oldText":"one\n","newText":"uno\n"},"finalContent":"uno\n"},"feedback":"In Spanish, please."}}
agent {"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":"w-2","method":"fs/write_text_file","params":{"sessionId":"$SESSION","path":"/project/acp-registry-edited.txt","content":"uno\ntwo\n"}}
client {"jsonrpc":"2.0","id":"w-2","result":{"action":"accept","userModification":{"diff":{"format":"full","oldText":"one\n","newText":"uno\n"},"finalContent":"uno\n"},"feedback":"In Spanish, please."}}
agent {"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}"#,
    run: Run::Talk(Setup::Draft, |agent| Box::pin(run(agent))),
};

const PROMPT: &str = "Write the line `one` to `acp-registry-edited.txt`, then add the line `two` to it.";

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    agent.needs("/fs/hitlEditing")?;
    let session = agent.open_session().await?;
    agent.client.drafts.review = Some(json!({
        "action": "accept",
        "userModification": {
            "diff": { "format": "full", "oldText": "one\n", "newText": "uno\n" }, "finalContent": "uno\n",
        },
        "feedback": "In Spanish, please.",
    }));
    let answer = agent.possible_turn(&session.id, PROMPT).await?;
    let written: Vec<&str> = agent.written("acp-registry-edited.txt").collect();
    needs(!written.is_empty(), "the agent writes no file through the client")?;
    if let Err(error) = answer {
        return fail(format!("ends the turn with {error} after the user has edited a file"));
    }
    match written.get(1) {
        None => not_exercised("the agent writes only once in the turn of this check"),
        Some(second) if second.contains("uno") => Ok(()),
        Some(second) => fail(format!("writes {} after the user has changed `one` to `uno`", quote(second))),
    }
}
