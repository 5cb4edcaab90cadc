use std::time::Duration;

use acp_registry_core::text::quote;

use crate::examination::agent::{Agent, Trouble};
use crate::examination::check::{Check, Force, Run, Setup};
use crate::examination::level::Level;
use crate::model::{Script, Step};

pub(super) static CHECK: Check = Check {
    id: "turns/cancel-updates",
    level: Level::Turns,
    force: Force::Must,
    spec: "protocol/v1/prompt-turn",
    summary: "sends no update of a cancelled turn after its response",
    why: "After `session/cancel`, the agent may send further updates, but must do so before it responds to \
          `session/prompt`. A client that has received the response shows later text as part of another turn.",
    fix: "Send pending updates first, and the response with `cancelled` last.",
    fails: r#"client {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"$SESSION","prompt":[{"type":"text","text":"$PROMPT"}]}}
model sends Waiting
agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"$CHUNK"}}}}
client {"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"$SESSION"}}
agent {"jsonrpc":"2.0","id":3,"result":{"stopReason":"cancelled"}}
agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Stopped"}}}}"#,
    passes: r#"client {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"$SESSION","prompt":[{"type":"text","text":"$PROMPT"}]}}
model sends Waiting
agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"$CHUNK"}}}}
client {"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"$SESSION"}}
agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Stopped"}}}}
agent {"jsonrpc":"2.0","id":3,"result":{"stopReason":"cancelled"}}"#,
    run: Run::Talk(Setup::Session, |agent| Box::pin(run(agent))),
};

/// How long the agent is listened to after the response.
const LATE: Duration = Duration::from_millis(500);

async fn run(agent: &mut Agent) -> Result<(), Trouble> {
    let session = agent.shared_session().await?;
    let turn = agent.play(&session, Script::new(vec![Step::Stall])).await?;
    let is_streaming = |agent: &Agent| agent.text(&turn).contains("Waiting");
    agent.until_within(&turn, agent.patience(), is_streaming).await;
    agent.cancel(&turn).await;
    let is_cancelled = matches!(agent.ended(&turn).await, Ok(Ok(result)) if result["stopReason"] == "cancelled");
    if !is_cancelled {
        return Err(Trouble::NotExercised("the agent does not end the turn as cancelled".to_owned()));
    }
    let before = agent.updates(&turn).len();
    agent.read_for(LATE).await;
    let updates = agent.updates(&turn);
    let late = updates[before..].iter().find(|update| CONTENT.contains(&update.kind()));
    match late {
        None => Ok(()),
        Some(update) => {
            let kind = quote(update.kind());
            Err(Trouble::Fail(format!("sends an update of the kind {kind} after it ended the turn as cancelled")))
        }
    }
}

/// Updates about the content of a turn and its tool calls. Others, such as those of commands, belong to no turn.
const CONTENT: &[&str] = &["agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update"];
