use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, fail, json};
use crate::examination::nes::suggest_params;

pub(super) static CHECK: Check = Check {
    id: "drafts/nes-close",
    force: Force::Must,
    spec: "rfds/next-edit-suggestions",
    summary: "closes a session for suggestions, and no other",
    why: "On `nes/close`, the agent must cancel any ongoing work related to the session and free up any resources \
          associated with it. A closed session that still suggests was not freed, and other sessions are independent \
          of it.",
    fix: "Forget the session and its documents, answer with an object, and refuse later requests with its id.",
    begins: r#"client {"jsonrpc":"2.0","id":3,"method":"nes/close","params":{"sessionId":"$NES"}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":3,"error":{"code":-32601,"message":"Method not found"}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":3,"result":{}}
client {"jsonrpc":"2.0","id":3,"method":"nes/suggest","params":{"sessionId":"$NES","uri":"file:///acp-registry/closed.txt"}}
agent {"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"Unknown session"}}"#,
    run: Run::Talk(Setup::Draft, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    let closed = agent.start_nes(&json!({})).await?;
    let open = agent.start_nes(&json!({})).await?;
    let uri = "file:///acp-registry/open.txt";
    agent.open_document(&open, uri).await;
    let suggests = agent.suggest(&open, uri).await.is_ok();
    match agent.ask("nes/close", &json!({ "sessionId": closed })).await? {
        Ok(result) if result.is_object() => {}
        Ok(_) => return fail("answers `nes/close` with a result that is not an object"),
        Err(error) => return fail(format!("answers `nes/close` with {error}")),
    }
    let suggest = suggest_params(&closed, "file:///acp-registry/closed.txt");
    let answer = agent.ask("nes/suggest", &suggest).await?;
    if answer.is_ok_and(|result| result["suggestions"].as_array().is_some_and(|list| !list.is_empty())) {
        return fail("suggests an edit in a session that was closed");
    }
    match agent.suggest(&open, uri).await {
        Err(CheckFailure::Fail(text)) if suggests => fail(format!("{text}, after another session was closed")),
        _ => Ok(()),
    }
}
