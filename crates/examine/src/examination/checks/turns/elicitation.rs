use super::{Check, CheckFailure, Force, Run, Script, Setup, StartedAgent, ToolCall, ensure, fail};
use crate::examination::client::ClientOffer;
use crate::examination::draft_turns::{form_problem, not_asked};
use crate::examination::drafts::content;

pub(super) static CHECK: Check = Check {
    id: "turns/elicitation",
    force: Force::Must,
    spec: "rfds/elicitation",
    summary: "asks a question that the client can show, and goes on whatever the answer is",
    why: "A form of `elicitation/create` has a `message` and a `requestedSchema` whose fields are of simple types. \
          The person may answer or decline, and the turn goes on. Other forms cannot be shown.",
    fix: "Ask for complex data in several fields of simple types, and pass the answer, or that there is none, to the \
          model.",
    begins: r#"client {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"$SESSION","prompt":[{"type":"text","text":"$PROMPT"}]}}
model calls ask_user color"#,
    fails: r#"agent {"jsonrpc":"2.0","id":9,"method":"elicitation/create","params":{"sessionId":"$SESSION","mode":"form","message":"Which color?","requestedSchema":{"type":"object","properties":{"answer":{"type":"object","properties":{}}}}}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":9,"method":"elicitation/create","params":{"sessionId":"$SESSION","mode":"form","message":"Which color?","requestedSchema":{"type":"object","properties":{"answer":{"type":"string","enum":["red","green"]}}}}}
client {"jsonrpc":"2.0","id":9,"result":{"action":"accept","content":{"answer":"red"}}}
agent {"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}"#,
    run: Run::Talk(Setup::Apart, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    agent.introduce(ClientOffer::Forms).await?;
    let session = agent.open_session().await?;
    for action in ["accept", "decline"] {
        agent.client.drafts.action = (action != "accept").then_some(action);
        let call = ToolCall::Ask { question: "Which color".to_owned() };
        let turn = agent.play(&session, Script::calling(call, "Asked")).await?;
        let ended = agent.stops_with(&turn, "end_turn").await;
        turn.needs_tools()?;
        let asked = agent.calls(&turn, "elicitation/create");
        let Some(first) = asked.first() else { return Err(not_asked()) };
        if let Some(problem) = asked.iter().find_map(|params| form_problem(params)) {
            return fail(format!("sends `elicitation/create` {problem}"));
        }
        ended.map_err(|failure| failure.with(&format!("after the action `{action}`")))?;
        let answer = content(&first["requestedSchema"]);
        let texts: Vec<&str> = answer.as_object().into_iter().flatten().filter_map(|(_, text)| text.as_str()).collect();
        let is_answer = |result: &str| texts.iter().all(|text| result.contains(text));
        let is_passed = action != "accept" || turn.any_result(is_answer);
        ensure(is_passed, "does not pass the answer to a question to the model")?;
    }
    Ok(())
}
