use super::{Check, CheckFailure, Force, PRECONDITION, Run, Setup, StartedAgent, fail, json, quote};
use crate::examination::draft_turns::text;

pub(super) static CHECK: Check = Check {
    id: "drafts/inject-replace",
    force: Force::Must,
    spec: "rfds/v2/session-inject",
    summary: "delivers the new content of a pending message that is replaced",
    why: "An agent that advertises `pending.replace` changes the content of a pending message, which keeps its id. \
          Without it, the request is refused with -32601 or -32010, so that the client can revoke the message and send \
          a new one.",
    fix: "Replace the kept content until the `user_message` is sent, or answer with one of these errors.",
    begins: r#"client {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"$SESSION","prompt":[{"type":"text","text":"Run the command `touch acp-registry-replace` in a shell."}]}}
agent {"jsonrpc":"2.0","id":3,"result":{"messageId":"u-1"}}
agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"state_update","state":"running"}}}
agent {"jsonrpc":"2.0","id":"p-replace","method":"session/request_permission","params":{"sessionId":"$SESSION","title":"Run a command?","toolCall":{"toolCallId":"call"},"options":[{"optionId":"yes","name":"Allow","kind":"allow_once"},{"optionId":"no","name":"Reject","kind":"reject_once"}]}}
client {"jsonrpc":"2.0","id":4,"method":"session/inject","params":{"sessionId":"$SESSION","mode":"queue","content":[{"type":"text","text":"Then say `before`."}]}}
agent {"jsonrpc":"2.0","id":4,"result":{"messageId":"replaced-1"}}
client {"jsonrpc":"2.0","id":5,"method":"session/replace_inject","params":{"sessionId":"$SESSION","messageId":"replaced-1","content":[{"type":"text","text":"Then say `after`."}]}}
agent {"jsonrpc":"2.0","id":5,"result":{}}
client {"jsonrpc":"2.0","id":"p-replace","result":{"outcome":{"outcome":"selected","optionId":"yes"}}}
agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"state_update","state":"idle","stopReason":"end_turn"}}}"#,
    fails: r#"agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"user_message","messageId":"replaced-1","content":[{"type":"text","text":"Then say `before`."}]}}}"#,
    passes: r#"agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"user_message","messageId":"replaced-1","content":[{"type":"text","text":"Then say `after`."}]}}}"#,
    run: Run::Talk(Setup::Next, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    agent.needs_inject("queue")?;
    let can_replace = agent.advertises("/session/inject/pending/replace");
    let session = agent.hold_turn("replace").await?.session;
    let message = agent.queued(&session, "Then say `before`.").await?;
    let params = json!({ "sessionId": session, "messageId": message, "content": text(AFTER) });
    let answer = agent.ask("session/replace_inject", &params).await?;
    match answer {
        Err(error) if !can_replace && matches!(error.code, Some(-32_601 | PRECONDITION)) => return Ok(()),
        Err(error) => {
            return fail(format!("answers the replacement of a message with {error}"));
        }
        Ok(_) if !can_replace => {
            return fail("replaces a message, which it does not advertise");
        }
        Ok(_) => {}
    }
    agent.allow().await;
    agent.until_delivered(&session, &message, "after its replacement").await?;
    match agent.delivery(&session, &message) {
        Some((_, said)) if said != AFTER => fail(format!("delivers {} instead of the new content", quote(said))),
        _ => Ok(()),
    }
}

const AFTER: &str = "Then say `after`.";
