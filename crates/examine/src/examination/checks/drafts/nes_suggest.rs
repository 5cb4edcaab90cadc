use std::collections::BTreeSet;

use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, Value, fail, json, quote};
use crate::examination::nes::problem;

pub(super) static CHECK: Check = Check {
    id: "drafts/nes-suggest",
    force: Force::Must,
    spec: "rfds/next-edit-suggestions",
    summary: "answers with suggestions that have all members of their kind",
    why: "Each suggestion contains an `id`, which is unique, and a `kind`; each kind has further members, such as the \
          `uri` and the `edits` of an `edit`. An editor cannot show a suggestion without them, nor report later that \
          it was accepted.",
    fix: "Send the members that the proposal lists for the kind, and a new `id` for each suggestion.",
    begins: r#"client {"jsonrpc":"2.0","id":3,"method":"nes/suggest","params":{"sessionId":"$NES","uri":"file:///acp-registry/suggest.txt"}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":3,"result":{"suggestions":[{"id":"s-1","kind":"edit","uri":"file:///acp-registry/suggest.txt"}]}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":3,"result":{"suggestions":[{"id":"$NEW","kind":"edit","uri":"file:///acp-registry/suggest.txt","edits":[{"range":{"start":{"line":0,"character":0},"end":{"line":0,"character":2}},"newText":"x"}]}]}}"#,
    run: Run::Talk(Setup::Draft, |agent| Box::pin(run(agent))),
};

const URI: &str = "file:///acp-registry/suggest.txt";

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    let session = agent.start_nes(&json!({})).await?;
    agent.open_document(&session, URI).await;
    let mut suggestions = agent.suggest(&session, URI).await?;
    suggestions.extend(agent.suggest(&session, URI).await?);
    if let Some(problem) = suggestions.iter().find_map(problem) {
        return fail(format!("sends a suggestion {problem}"));
    }
    let mut ids = BTreeSet::new();
    let is_new = |suggestion: &&Value| !ids.insert(suggestion["id"].to_string());
    match suggestions.iter().find(is_new) {
        Some(twice) => {
            let id = quote(twice["id"].as_str().unwrap_or_default());
            fail(format!("sends two suggestions with the id {id}"))
        }
        None => Ok(()),
    }
}
