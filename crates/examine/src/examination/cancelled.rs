//! A turn that is cancelled while text arrives, which two checks judge.

use std::time::Duration;

use acp_registry_plan::text::quote;

use super::agent::{CheckFailure, StartedAgent};
use super::messages::ResponseContent;
use crate::model::{Script, Step};

/// How long the agent is listened to after the response.
const LATE: Duration = Duration::from_millis(300);

/// Updates about the content of a turn and its tool calls. Others, such as those of commands, belong to no turn.
const CONTENT: &[&str] = &["agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update"];

/// How a cancelled turn ended.
#[derive(Debug, Clone)]
pub(super) struct Cancelled {
    pub(super) ended: Result<ResponseContent, CheckFailure>,
    /// The kind of the first update about the turn after its response, quoted.
    pub(super) late: Option<String>,
}

impl Cancelled {
    /// Whether the turn ended as the protocol demands.
    pub(super) fn is_cancelled(&self) -> bool {
        matches!(&self.ended, Ok(Ok(result)) if result["stopReason"] == "cancelled")
    }
}

impl StartedAgent {
    /// Carries out a turn and cancels it while text arrives, once for all checks of the instance.
    pub(super) async fn cancelled_turn(&mut self) -> Result<Cancelled, CheckFailure> {
        if let Some(cancelled) = &self.kept.cancelled {
            return Ok(cancelled.clone());
        }
        let session = self.shared_session().await?;
        let turn = self.play(&session, Script::new(vec![Step::Stall])).await?;
        let is_streaming = |agent: &Self| agent.text(&turn).contains("Waiting");
        // An agent that sends text only at the end is cancelled too.
        self.until_within(&turn, self.patience(), is_streaming).await;
        self.cancel(&turn).await;
        let mut cancelled = Cancelled { ended: self.ended(&turn).await, late: None };
        if cancelled.is_cancelled() {
            let before = self.updates(&turn).len();
            self.read_for(LATE).await;
            let updates = self.updates(&turn);
            let late = updates[before..].iter().find(|update| CONTENT.contains(&update.kind()));
            cancelled.late = late.map(|update| quote(update.kind()));
        } else {
            // The turn may go on.
            self.session = None;
        }
        self.kept.cancelled = Some(cancelled.clone());
        Ok(cancelled)
    }
}
