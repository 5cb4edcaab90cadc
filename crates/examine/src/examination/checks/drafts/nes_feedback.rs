use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, fail, json};

pub(super) static CHECK: Check = Check {
    id: "drafts/nes-feedback",
    force: Force::Must,
    spec: "rfds/next-edit-suggestions",
    summary: "takes `nes/accept` and `nes/reject` with each reason, without answering them",
    why: "Both are notifications, which have no response. The reason of a rejection is optional, and one of four \
          texts. An agent that answers or fails on one of them breaks the connection of an editor that reports it.",
    fix: "Read `reason` as optional, and answer no notification.",
    begins: "",
    fails: r#"client {"jsonrpc":"2.0","method":"nes/reject","params":{"sessionId":"$NES","id":"$ANY","reason":"replaced"}}
agent {"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"Unknown reason"}}"#,
    passes: r#"client {"jsonrpc":"2.0","method":"nes/reject","params":{"sessionId":"$NES","id":"$ANY","reason":"replaced"}}"#,
    run: Run::Talk(Setup::Draft, |agent| Box::pin(run(agent))),
};

const URI: &str = "file:///acp-registry/feedback.txt";

const REASONS: &[Option<&str>] = &[Some("rejected"), Some("ignored"), Some("replaced"), Some("cancelled"), None];

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    let session = agent.start_nes(&json!({})).await?;
    agent.open_document(&session, URI).await;
    let shown = agent.some_suggestions(&session, URI).await?;
    agent.notify("nes/accept", &json!({ "sessionId": session, "id": shown[0]["id"] })).await;
    for reason in REASONS {
        let Some(next) = agent.suggest(&session, URI).await?.into_iter().next() else { continue };
        let mut params = json!({ "sessionId": session, "id": next["id"] });
        if let Some(reason) = reason {
            params["reason"] = (*reason).into();
        }
        agent.notify("nes/reject", &params).await;
    }
    agent.is_alive("`nes/accept` and `nes/reject`").await?;
    match agent.nameless_answer() {
        Some(Err(error)) => fail(format!("answers `nes/accept` or `nes/reject` with {error}")),
        Some(Ok(_)) => fail("answers `nes/accept` or `nes/reject`"),
        None => Ok(()),
    }
}
