use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, fail, quote};
use crate::examination::agent::silent;

pub(super) static CHECK: Check = Check {
    id: "drafts/steering-turn",
    force: Force::Observed,
    spec: "rfds/v2/session-inject",
    summary: "adds the message of `_session/steering` to the running turn",
    why: "The proposal does not mention this method. Adapters that announce `steering.supported` in the `_meta` of the \
          result of `initialize` answer with the outcome `injected` if a turn is running. With another outcome, the \
          client sends the message again as a prompt.",
    fix: "Add the message to the running turn, and answer with the outcome `injected`.",
    begins: r#"client {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"$SESSION","prompt":[{"type":"text","text":"Run the command `touch acp-registry-steering` in a shell."}]}}
agent {"jsonrpc":"2.0","id":"p-steering","method":"session/request_permission","params":{"sessionId":"$SESSION","toolCall":{"toolCallId":"call"},"options":[{"optionId":"yes","name":"Allow","kind":"allow_once"},{"optionId":"no","name":"Reject","kind":"reject_once"}]}}
client {"jsonrpc":"2.0","id":4,"method":"_session/steering","params":{"sessionId":"$SESSION","prompt":[{"type":"text","text":"Use the file `e` instead."}],"_meta":{"steering":{"idleBehavior":"promptRequired"}}}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":4,"result":{"outcome":"promptRequired"}}
client {"jsonrpc":"2.0","id":"p-steering","result":{"outcome":{"outcome":"selected","optionId":"yes"}}}
agent {"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":4,"result":{"outcome":"injected"}}
client {"jsonrpc":"2.0","id":"p-steering","result":{"outcome":{"outcome":"selected","optionId":"yes"}}}
agent {"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}"#,
    run: Run::Talk(Setup::Draft, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    agent.needs_steering()?;
    let held = agent.hold_turn("steering").await?;
    let outcome = agent.steer(&held.session, "Use the file `e` instead.").await?;
    agent.allow().await;
    let ended = agent.end_of_turn(&held.prompt).await;
    if outcome != "injected" {
        let outcome = quote(&outcome);
        return fail(format!("answers `_session/steering` during a turn with the outcome {outcome}"));
    }
    ended.map(|_| ()).map_err(|silence| silent(silence, "session/prompt"))
}
