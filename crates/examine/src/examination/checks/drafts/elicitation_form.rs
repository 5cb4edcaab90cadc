use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, fail};
use crate::examination::draft_turns::form_problem;

pub(super) static CHECK: Check = Check {
    id: "drafts/elicitation-form",
    force: Force::Must,
    spec: "rfds/elicitation",
    summary: "asks with a form that has only fields of simple types",
    why: "A form of `elicitation/create` has a `message`, a `requestedSchema` that is an object of strings, numbers, \
          booleans and choices, and a `sessionId` or a `requestId`. Other types are not supported: the client cannot \
          show the form.",
    fix: "Ask for complex data in several fields of simple types.",
    begins: r#"client {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"$SESSION","prompt":[{"type":"text","text":"Ask me which color to use."}]}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":"e-1","method":"elicitation/create","params":{"sessionId":"$SESSION","mode":"form","message":"Which color?","requestedSchema":{"type":"object","properties":{"color":{"type":"object","properties":{}}}}}}
client {"jsonrpc":"2.0","id":"e-1","result":{"action":"accept"}}
agent {"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":"e-1","method":"elicitation/create","params":{"sessionId":"$SESSION","mode":"form","message":"Which color?","requestedSchema":{"type":"object","properties":{"color":{"type":"string","enum":["red","green"]}},"required":["color"]}}}
client {"jsonrpc":"2.0","id":"e-1","result":{"action":"accept"}}
agent {"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}"#,
    run: Run::Talk(Setup::Draft, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    let session = agent.open_session().await?;
    let asked = agent.asks(&session.id, "Ask me which color to use.").await?;
    match asked.iter().find_map(form_problem) {
        Some(problem) => fail(format!("sends `elicitation/create` {problem}")),
        None => Ok(()),
    }
}
