use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, Value, fail, json};
use crate::examination::nes::{DOCUMENT, positions};

pub(super) static CHECK: Check = Check {
    id: "drafts/nes-events",
    force: Force::Must,
    spec: "rfds/next-edit-suggestions",
    summary: "follows the document events that it advertises, without answering them",
    why: "Events are fire-and-forget notifications: they have no response. An agent that does not apply \
          `document/didChange` suggests edits of text that is no longer there.",
    fix: "Keep the text of each open document, apply each change to it, and answer no notification.",
    begins: r#"client {"jsonrpc":"2.0","method":"document/didChange","params":{"sessionId":"$NES","uri":"file:///acp-registry/events.txt","version":2}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"Method not found"}}"#,
    passes: r#"client {"jsonrpc":"2.0","id":3,"method":"nes/suggest","params":{"sessionId":"$NES","uri":"file:///acp-registry/events.txt"}}
agent {"jsonrpc":"2.0","id":3,"result":{"suggestions":[{"id":"s-1","kind":"edit","uri":"file:///acp-registry/events.txt","edits":[{"range":{"start":{"line":0,"character":0},"end":{"line":0,"character":5}},"newText":"x"}]}]}}"#,
    run: Run::Talk(Setup::Draft, |agent| Box::pin(run(agent))),
};

const URI: &str = "file:///acp-registry/events.txt";

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    agent.needs("/nes/events/document")?;
    let session = agent.start_nes(&json!({})).await?;
    let of_document = |version: u64| json!({ "sessionId": session, "uri": URI, "version": version });
    agent.open_document(&session, URI).await;
    let mut focus = of_document(1);
    focus["position"] = json!({ "line": 0, "character": 0 });
    focus["visibleRange"] = json!({ "start": focus["position"], "end": { "line": 2, "character": 0 } });
    agent.event("didFocus", &focus).await;
    let is_applied = agent.advertises("/nes/events/document/didOpen") && change(agent, of_document(2)).await;
    agent.event("didSave", &json!({ "sessionId": session, "uri": URI })).await;
    // The form of the response is left to another check.
    let suggestions = agent.suggest(&session, URI).await.unwrap_or_default();
    agent.event("didClose", &json!({ "sessionId": session, "uri": URI })).await;
    agent.is_alive("document events").await?;
    if let Some(answer) = agent.nameless_answer() {
        let how = answer.err().map_or_else(|| "a result".to_owned(), |error| error.to_string());
        return fail(format!("answers a document event with {how}"));
    }
    // One line is left, and the empty one after it.
    let is_outside = |(line, character): &(u64, u64)| *line > 1 || (*line == 1 && *character > 0);
    match positions(&suggestions, URI).find(is_outside).filter(|_| is_applied) {
        Some((line, _)) => fail(format!("suggests an edit of line {line} after that line was removed")),
        None => Ok(()),
    }
}

/// Removes the second line of the document, if the agent wants to know about changes.
async fn change(agent: &mut StartedAgent, mut params: Value) -> bool {
    let kind = agent.capabilities()["nes"]["events"]["document"]["didChange"]["syncKind"].clone();
    params["contentChanges"] = match kind.as_str() {
        Some("incremental") => {
            let range = json!({ "start": { "line": 1, "character": 0 }, "end": { "line": 2, "character": 0 } });
            json!([{ "range": range, "text": "" }])
        }
        Some("full") => json!([{ "text": DOCUMENT.split_inclusive('\n').next() }]),
        _ => return false,
    };
    agent.event("didChange", &params).await;
    true
}
