use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, fail, json, quote};
use crate::examination::nes::{positions, width};

pub(super) static CHECK: Check = Check {
    id: "drafts/nes-positions",
    force: Force::Must,
    spec: "rfds/next-edit-suggestions",
    summary: "counts characters in the position encoding that was negotiated",
    why: "The agent selects one encoding from the list of the client, and both sides use `utf-16` if it declares none. \
          With another unit, each character outside of the basic plane moves an edit to the wrong place.",
    fix: "Declare an encoding of `clientCapabilities.positionEncodings` as `agentCapabilities.positionEncoding`, or \
          none for `utf-16`, and count in its units.",
    begins: r#"client {"jsonrpc":"2.0","id":3,"method":"nes/suggest","params":{"sessionId":"$NES","uri":"file:///acp-registry/positions.txt"}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":3,"result":{"suggestions":[{"id":"s-1","kind":"edit","uri":"file:///acp-registry/positions.txt","edits":[{"range":{"start":{"line":0,"character":0},"end":{"line":0,"character":21}},"newText":"x"}]}]}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":3,"result":{"suggestions":[{"id":"s-1","kind":"edit","uri":"file:///acp-registry/positions.txt","edits":[{"range":{"start":{"line":0,"character":0},"end":{"line":0,"character":4}},"newText":"x"}]}]}}"#,
    run: Run::Talk(Setup::Draft, |agent| Box::pin(run(agent))),
};

const URI: &str = "file:///acp-registry/positions.txt";

/// Those that the client advertises.
const ENCODINGS: &[&str] = &["utf-32", "utf-16"];

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    agent.needs("/nes")?;
    let encoding = agent.encoding().to_owned();
    if !ENCODINGS.contains(&encoding.as_str()) {
        let encoding = quote(&encoding);
        return fail(format!("selects the encoding {encoding}, which the client has not offered"));
    }
    let session = agent.start_nes(&json!({})).await?;
    agent.open_document(&session, URI).await;
    let suggestions = agent.some_suggestions(&session, URI).await?;
    let width = width(&encoding);
    let is_wrong = |(line, character): &(u64, u64)| {
        let end = if *line < 2 { 5 * width } else { 0 };
        *line > 2 || *character > end || character % width != 0
    };
    match positions(&suggestions, URI).find(is_wrong) {
        Some((line, character)) => fail(format!(
            "suggests an edit at line {line}, character {character}, which is inside a character or outside of the \
             document in `{encoding}`"
        )),
        None => Ok(()),
    }
}
