use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, fail, json, quote};

pub(super) static CHECK: Check = Check {
    id: "drafts/nes-kinds",
    force: Force::Must,
    spec: "rfds/next-edit-suggestions",
    summary: "suggests only kinds that the client has advertised",
    why: "Agents must only include suggestion kinds that the client has advertised in its capabilities, except `edit`, \
          which is always supported. Other kinds are of no use to the editor.",
    fix: "Read `clientCapabilities.nes`, and suggest a `jump`, a `rename` or a `searchAndReplace` only if it has a \
          member of that name.",
    begins: r#"client {"jsonrpc":"2.0","id":3,"method":"nes/suggest","params":{"sessionId":"$NES","uri":"file:///acp-registry/kinds.txt"}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":3,"result":{"suggestions":[{"id":"s-1","kind":"searchAndReplace","uri":"file:///acp-registry/kinds.txt","search":"a","replace":"b"}]}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":3,"result":{"suggestions":[{"id":"s-1","kind":"jump","uri":"file:///acp-registry/kinds.txt","position":{"line":0,"character":0}}]}}"#,
    run: Run::Talk(Setup::Draft, |agent| Box::pin(run(agent))),
};

const URI: &str = "file:///acp-registry/kinds.txt";

/// `edit`, and those that the client advertises.
const KINDS: &[&str] = &["edit", "jump"];

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    let session = agent.start_nes(&json!({})).await?;
    agent.open_document(&session, URI).await;
    let suggestions = agent.some_suggestions(&session, URI).await?;
    let kinds = suggestions.iter().filter_map(|suggestion| suggestion["kind"].as_str());
    match kinds.into_iter().find(|kind| !KINDS.contains(kind)) {
        Some(kind) => {
            let kind = quote(kind);
            fail(format!("suggests the kind {kind}, which the client has not advertised"))
        }
        None => Ok(()),
    }
}
