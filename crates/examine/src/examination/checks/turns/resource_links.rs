use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent};

pub(super) static CHECK: Check = Check {
    id: "turns/resource-links",
    force: Force::Must,
    spec: "protocol/v1/initialization",
    summary: "accepts links to resources in prompts",
    why: "As a baseline, all agents must support text and resource links in prompts. Clients send a link for each \
          file that a person mentions.",
    fix: "Accept content blocks of the type `resource_link`, and tell the model their `uri` at least.",
    begins: r#"client {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"$SESSION","prompt":[{"type":"text","text":"$PROMPT"}]}}
model sends Linked"#,
    fails: r#"agent {"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"Unsupported content block"}}"#,
    passes: r#"agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"$CHUNK"}}}}
agent {"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}"#,
    run: Run::Talk(Setup::Session, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    let turn = agent.play_link("linked.txt", "acp-registry\n", "Linked").await?;
    agent.stop_reason(&turn).await.map(|_| ())
}
