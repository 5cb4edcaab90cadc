use serde_json::json;

use super::{Check, CheckFailure, Force, Run, Script, Setup, StartedAgent, Step, fail, not_exercised};

pub(super) static CHECK: Check = Check {
    id: "turns/link-context",
    force: Force::Observed,
    spec: "protocol/v1/content",
    summary: "tells the model about links to resources in prompts",
    why: "A link stands for a file that the person has mentioned. A model that gets neither its address nor its \
          content answers as if there were none.",
    fix: "Add the `uri` of each link to the text for the model, or read the file and add its content.",
    fails: r#"client {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"$SESSION","prompt":[{"type":"text","text":"$PROMPT"}]}}
agent leaves links out
model sends Linked"#,
    passes: r#"client {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"$SESSION","prompt":[{"type":"text","text":"$PROMPT"}]}}
model sends Linked
agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"$CHUNK"}}}}
agent {"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}"#,
    run: Run::Talk(Setup::Session, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    let session = agent.shared_session().await?;
    let file = agent.work().join("mentioned.txt");
    if let Err(error) = std::fs::write(&file, "acp-registry-mentioned\n") {
        return not_exercised(format!("a file for the agent cannot be written: {error}"));
    }
    let uri = format!("file://{}", file.display());
    let link = json!({ "type": "resource_link", "uri": uri, "name": "mentioned.txt", "mimeType": "text/plain" });
    let turn = agent.play_with(&session, Script::new(vec![Step::say("Mentioned")]), "", &[link]).await?;
    // That links are accepted is the matter of another check.
    agent.stop_reason(&turn).await.map_err(CheckFailure::into_obstacle)?;
    let requests = turn.requests();
    let mut texts = requests.iter().flat_map(|request| request.texts.iter().chain(&request.results));
    if texts.any(|text| ["mentioned.txt", "acp-registry-mentioned"].iter().any(|part| text.contains(part))) {
        return Ok(());
    }
    fail("does not tell the model about a link to a resource")
}
