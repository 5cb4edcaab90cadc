use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, json};

pub(super) static CHECK: Check = Check {
    id: "drafts/inject-cancel",
    force: Force::Should,
    spec: "rfds/v2/session-inject",
    summary: "keeps pending messages when a turn is cancelled",
    why: "The recommended behavior is that pending messages survive `session/cancel` and are delivered once the agent \
          is idle: cancelling applies to the running turn only. Otherwise, the user loses what was typed.",
    fix: "Keep pending messages on `session/cancel`; clients revoke those that they do not want.",
    begins: r#"client {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"$SESSION","prompt":[{"type":"text","text":"Run the command `touch acp-registry-cancel` in a shell."}]}}
agent {"jsonrpc":"2.0","id":3,"result":{"messageId":"u-1"}}
agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"state_update","state":"running"}}}
agent {"jsonrpc":"2.0","id":"p-cancel","method":"session/request_permission","params":{"sessionId":"$SESSION","title":"Run a command?","toolCall":{"toolCallId":"call"},"options":[{"optionId":"yes","name":"Allow","kind":"allow_once"},{"optionId":"no","name":"Reject","kind":"reject_once"}]}}
client {"jsonrpc":"2.0","id":4,"method":"session/inject","params":{"sessionId":"$SESSION","mode":"queue","content":[{"type":"text","text":"Then say `kept`."}]}}
agent {"jsonrpc":"2.0","id":4,"result":{"messageId":"kept-1"}}
client {"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"$SESSION"}}
client {"jsonrpc":"2.0","id":"p-cancel","result":{"outcome":{"outcome":"cancelled"}}}
agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"state_update","state":"idle","stopReason":"end_turn"}}}"#,
    fails: r#"client {"jsonrpc":"2.0","id":5,"method":"session/revoke_inject","params":{"sessionId":"$SESSION","messageId":"kept-1"}}
agent {"jsonrpc":"2.0","id":5,"error":{"code":-32002,"message":"Resource not found"}}"#,
    passes: r#"agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"user_message","messageId":"kept-1","content":[{"type":"text","text":"Then say `kept`."}]}}}"#,
    run: Run::Talk(Setup::Next, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    agent.needs_inject("queue")?;
    let session = agent.hold_turn("cancel").await?.session;
    let message = agent.queued(&session, "Then say `kept`.").await?;
    agent.notify("session/cancel", &json!({ "sessionId": session })).await;
    agent.release_permissions(false).await;
    agent.until_delivered(&session, &message, "after the turn was cancelled").await
}
