use super::{Check, CheckFailure, Force, Run, Script, Setup, StartedAgent, Step, ensure, json};

pub(super) static CHECK: Check = Check {
    id: "turns/embedded-context",
    force: Force::Observed,
    spec: "protocol/v1/content",
    summary: "passes embedded resources to the model, if it advertises them",
    why: "An agent that advertises `promptCapabilities.embeddedContext` takes the content of resources in prompts. \
          With it, clients include context that the agent may have no access to.",
    fix: "Add the text of embedded resources to the request to the model.",
    begins: r#"client {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"$SESSION","prompt":[{"type":"text","text":"$PROMPT"}]}}
model sends Embedded
agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"$CHUNK"}}}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":3,"result":{"stopReason":"refusal"}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}"#,
    run: Run::Talk(Setup::Session, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    agent.needs("/promptCapabilities/embeddedContext")?;
    let session = agent.shared_session().await?;
    let resource = json!({ "type": "resource", "resource": {
        "uri": "file:///acp-registry/embedded.txt", "mimeType": "text/plain", "text": "acp-registry-embedded-text",
    } });
    let turn = agent.play_with(&session, Script::new(vec![Step::say("Embedded")]), "", &[resource]).await?;
    agent.stops_with(&turn, "end_turn").await?;
    ensure(
        turn.any_text(|text| text.contains("acp-registry-embedded-text")),
        "advertises `promptCapabilities.embeddedContext`, but does not pass the text of a resource to the model",
    )
}
