use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, Value, fail, quote};
use crate::examination::client::ClientOffer;

pub(super) static CHECK: Check = Check {
    id: "drafts/elicitation-url",
    force: Force::Must,
    spec: "rfds/elicitation",
    summary: "sends a valid link to a client that only opens links, and names it on completion",
    why: "Agents must not use modes that the client does not support, the `url` must be a valid URL, and \
          `elicitation/complete` must include the `elicitationId` of the request. Otherwise, the client shows nothing, \
          or does not know which question is answered.",
    fix: "Send the mode `url` with a `url` and an `elicitationId`, and repeat this id in `elicitation/complete`.",
    begins: r#"client {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"$SESSION","prompt":[{"type":"text","text":"Ask me to open a link."}]}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":"e-4","method":"elicitation/create","params":{"sessionId":"$SESSION","mode":"form","message":"Open the link?","requestedSchema":{"type":"object","properties":{"color":{"type":"string","enum":["red","green"]}},"required":["color"]}}}
client {"jsonrpc":"2.0","id":"e-4","error":{}}
agent {"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":"e-4","method":"elicitation/create","params":{"sessionId":"$SESSION","mode":"url","elicitationId":"link-1","url":"https://agent.example/connect?elicitationId=link-1","message":"Open the link to continue."}}
client {"jsonrpc":"2.0","id":"e-4","result":{"action":"accept"}}
agent {"jsonrpc":"2.0","method":"elicitation/complete","params":{"elicitationId":"link-1"}}
agent {"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}"#,
    run: Run::Talk(Setup::Apart, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    agent.introduce(ClientOffer::Links).await?;
    let session = agent.open_session().await?;
    let asked = agent.asks(&session.id, "Ask me to open a link.").await?;
    if let Some(problem) = asked.iter().find_map(problem) {
        return fail(format!("sends `elicitation/create` {problem}"));
    }
    let completed = agent.client.notes.iter().filter(|note| note.method == "elicitation/complete");
    let is_known = |id: &Value| id.is_string() && asked.iter().any(|params| params["elicitationId"] == *id);
    match completed.map(|note| &note.params["elicitationId"]).find(|id| !is_known(id)) {
        Some(id) => fail(format!(
            "sends `elicitation/complete` with the id {}, which it has not used before",
            quote(&id.to_string())
        )),
        None => Ok(()),
    }
}

/// What is wrong with a request, if anything.
fn problem(params: &Value) -> Option<String> {
    match params["mode"].as_str().unwrap_or_default() {
        "url" => {}
        mode if mode.starts_with('_') => return None,
        mode => return Some(format!("with the mode {}, which the client has not advertised", quote(mode))),
    }
    if !params["elicitationId"].is_string() {
        return Some("of the mode `url` without an `elicitationId`".to_owned());
    }
    let url = params["url"].as_str().unwrap_or_default();
    (!is_url(url)).then(|| format!("with {}, which is not a valid URL", quote(url)))
}

/// Whether a text has a scheme and something after it, and no spaces.
fn is_url(text: &str) -> bool {
    let is_visible = text.chars().all(|character| character.is_ascii_graphic());
    let parts = text.split_once(':').filter(|(scheme, rest)| {
        scheme.starts_with(|first: char| first.is_ascii_alphabetic()) && rest.len() > "//".len()
    });
    is_visible && parts.is_some()
}
