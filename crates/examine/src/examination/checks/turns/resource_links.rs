use serde_json::json;

use super::{Check, CheckFailure, Force, Run, Script, Setup, StartedAgent, Step, not_exercised};

pub(super) static CHECK: Check = Check {
    id: "turns/resource-links",
    force: Force::Must,
    spec: "protocol/v1/initialization",
    summary: "accepts links to resources in prompts",
    why: "As a baseline, all agents must support text and resource links in prompts. Clients send a link for each \
          file that a person mentions.",
    fix: "Accept content blocks of the type `resource_link`, and tell the model their `uri` at least.",
    fails: r#"client {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"$SESSION","prompt":[{"type":"text","text":"$PROMPT"}]}}
model sends Linked
agent {"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"Unsupported content block"}}"#,
    passes: r#"client {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"$SESSION","prompt":[{"type":"text","text":"$PROMPT"}]}}
model sends Linked
agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"$CHUNK"}}}}
agent {"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}"#,
    run: Run::Talk(Setup::Session, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    let session = agent.shared_session().await?;
    let file = agent.work().join("linked.txt");
    if let Err(error) = std::fs::write(&file, "acp-registry\n") {
        return not_exercised(format!("a file for the agent cannot be written: {error}"));
    }
    let uri = format!("file://{}", file.display());
    let link = json!({ "type": "resource_link", "uri": uri, "name": "linked.txt", "mimeType": "text/plain" });
    let turn = agent.play_with(&session, Script::new(vec![Step::say("Linked")]), "", &[link]).await?;
    agent.stop_reason(&turn).await.map(|_| ())
}
