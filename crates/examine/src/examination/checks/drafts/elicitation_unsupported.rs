use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, fail, not_exercised};

pub(super) static CHECK: Check = Check {
    id: "drafts/elicitation-unsupported",
    force: Force::Must,
    spec: "rfds/elicitation",
    summary: "asks nothing of a client without elicitation, and continues",
    why: "If a client does not declare `elicitation`, agents must provide a default value and continue. Such a client \
          answers with an error, and the user never sees the question.",
    fix: "Read `clientCapabilities.elicitation` before asking, and use a default or ask in the text of the turn.",
    begins: r#"client {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"$SESSION","prompt":[{"type":"text","text":"Ask me which shape to use."}]}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":"e-3","method":"elicitation/create","params":{"sessionId":"$SESSION","mode":"form","message":"Which shape?","requestedSchema":{"type":"object","properties":{"color":{"type":"string","enum":["red","green"]}},"required":["color"]}}}
client {"jsonrpc":"2.0","id":"e-3","error":{}}
agent {"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}"#,
    passes: r#"agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"I take the circle."}}}}
agent {"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}"#,
    run: Run::Talk(Setup::Session, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    let session = agent.open_session().await?;
    let answer = agent.possible_turn(&session.id, "Ask me which shape to use.").await;
    if agent.client.asked().any(|method| method == "elicitation/create") {
        return fail("sends `elicitation/create`, which the client has not advertised");
    }
    match answer {
        Ok(Ok(_)) => Ok(()),
        // Without a model, the turn says nothing about questions.
        Ok(Err(error)) => not_exercised(format!("the agent ends the turn with {error}")),
        Err(trouble) if agent.access.model.is_some() => Err(trouble),
        Err(trouble) => not_exercised(format!("the agent {}", trouble.into_text())),
    }
}
