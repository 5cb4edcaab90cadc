use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, fail};
use crate::examination::draft_turns::not_asked;

pub(super) static CHECK: Check = Check {
    id: "drafts/elicitation-answers",
    force: Force::Should,
    spec: "rfds/elicitation",
    summary: "continues if the user declines or dismisses a question",
    why: "Agents should handle each action: on `decline`, they use a default or offer alternatives; on `cancel`, they \
          use a default or ask again later. They should not require responses to continue operating.",
    fix: "Treat `decline` and `cancel` as answers of the user, and continue the turn.",
    begins: r#"client {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"$SESSION","prompt":[{"type":"text","text":"Ask me which size to use."}]}}
agent {"jsonrpc":"2.0","id":"e-2","method":"elicitation/create","params":{"sessionId":"$SESSION","mode":"form","message":"Which size?","requestedSchema":{"type":"object","properties":{"color":{"type":"string","enum":["red","green"]}},"required":["color"]}}}
client {"jsonrpc":"2.0","id":"e-2","result":{"action":"decline"}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"No answer"}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}"#,
    run: Run::Talk(Setup::Draft, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    let session = agent.open_session().await?;
    for action in ["decline", "cancel"] {
        agent.client.drafts.action = Some(action);
        let answer = agent.possible_turn(&session.id, "Ask me which size to use.").await;
        if !agent.client.asked().any(|method| method == "elicitation/create") {
            return Err(not_asked());
        }
        let how = match answer {
            Ok(Ok(_)) => continue,
            Ok(Err(error)) => format!("ends the turn with {error}"),
            Err(trouble @ CheckFailure::NotExercised(_)) => return Err(trouble),
            Err(trouble) => trouble.into_text(),
        };
        return fail(format!("{how} after the action `{action}`"));
    }
    Ok(())
}
