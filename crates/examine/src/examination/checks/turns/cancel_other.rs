use std::time::Duration;

use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, fail, not_exercised};

pub(super) static CHECK: Check = Check {
    id: "turns/cancel-other",
    force: Force::Must,
    spec: "protocol/v1/prompt-turn",
    summary: "keeps the turn of another session running when one is cancelled",
    why: "`session/cancel` names the session whose turn it cancels. Sessions are independent: a person who stops \
          one of two agents does not stop the other.",
    fix: "Keep what aborts a turn with its session, not with the process.",
    begins: r#"client {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"$SESSION","prompt":[{"type":"text","text":"$PROMPT"}]}}
model sends Waiting
agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"$CHUNK"}}}}
client {"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"$SESSION"}}"#,
    fails: r#"agent cancels the turns of all sessions
agent {"jsonrpc":"2.0","id":3,"result":{"stopReason":"cancelled"}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":3,"result":{"stopReason":"cancelled"}}"#,
    run: Run::Talk(Setup::Session, |agent| Box::pin(run(agent))),
};

/// How long the other turn must go on. Only an agent that ends it answers at all: its model never does.
const GOES_ON: Duration = Duration::from_millis(500);

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    let (first, second) = (agent.shared_session().await?, agent.spare_session().await?);
    let (cancelled, other) = (agent.stalled_turn(&first).await?, agent.stalled_turn(&second).await?);
    let are_parallel = !cancelled.requests().is_empty() && !other.requests().is_empty();
    agent.cancel(&cancelled).await;
    let ended = agent.ended(&cancelled).await;
    // The model writes to both at the same pace.
    let before = agent.text(&other).len();
    let goes_on = agent.shows(&other, |agent| before == 0 || agent.text(&other).len() > before).await;
    let has_other_ended = agent.has_ended_within(&other, GOES_ON).await;
    agent.cancel(&other).await;
    if !are_parallel || !matches!(ended, Ok(Ok(_))) || !matches!(agent.ended(&other).await, Ok(Ok(_))) {
        // A turn may go on.
        agent.session = None;
    }
    match ended {
        _ if !are_parallel => not_exercised("the agent does not carry out the turns of two sessions at once"),
        Ok(_) if has_other_ended => fail("ends the turn of another session when one is cancelled"),
        Ok(_) if !goes_on? => fail("stops sending the text of another session when one is cancelled"),
        Ok(_) => Ok(()),
        Err(failure) => Err(failure.with("after `session/cancel`").into_obstacle()),
    }
}
