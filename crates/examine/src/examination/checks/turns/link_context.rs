use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, ensure};

pub(super) static CHECK: Check = Check {
    id: "turns/link-context",
    force: Force::Observed,
    spec: "protocol/v1/content",
    summary: "tells the model about links to resources in prompts",
    why: "A link stands for a file that the person has mentioned. A model that gets neither its address nor its \
          content answers as if there were none.",
    fix: "Add the `uri` of each link to the text for the model, or read the file and add its content.",
    begins: r#"client {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"$SESSION","prompt":[{"type":"text","text":"$PROMPT"}]}}"#,
    fails: "agent leaves links out\nmodel sends Linked",
    passes: r#"model sends Linked
agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"$CHUNK"}}}}
agent {"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}"#,
    run: Run::Talk(Setup::Session, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    let turn = agent.play_link("mentioned.txt", "acp-registry-mentioned\n", "Mentioned").await?;
    // That links are accepted is the matter of another check.
    agent.stop_reason(&turn).await.map_err(CheckFailure::into_obstacle)?;
    let is_told = |text: &str| ["mentioned.txt", "acp-registry-mentioned"].iter().any(|part| text.contains(part));
    let is_passed = turn.any_text(is_told) || turn.any_result(is_told);
    ensure(is_passed, "does not tell the model about a link to a resource")
}
