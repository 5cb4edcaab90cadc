use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, WATCHED, ensure, fail};

pub(super) static CHECK: Check = Check {
    id: "drafts/inject-steer",
    force: Force::Must,
    spec: "rfds/v2/session-inject",
    summary: "delivers a steering message during the turn, but not while a permission is open",
    why: "A pending message of the mode `steer` is held during a wait for permission, and delivered at the next \
          break-point after the decision. An agent that delivers it only after the turn has queued it: the user cannot \
          correct the work in progress.",
    fix: "Keep the message until the permission is decided, and add it to the running turn before the next request to \
          the model.",
    begins: r#"client {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"$SESSION","prompt":[{"type":"text","text":"Run the command `touch acp-registry-steer` in a shell."}]}}
agent {"jsonrpc":"2.0","id":3,"result":{"messageId":"u-1"}}
agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"state_update","state":"running"}}}
agent {"jsonrpc":"2.0","id":"p-steer","method":"session/request_permission","params":{"sessionId":"$SESSION","title":"Run a command?","toolCall":{"toolCallId":"call"},"options":[{"optionId":"yes","name":"Allow","kind":"allow_once"},{"optionId":"no","name":"Reject","kind":"reject_once"}]}}
client {"jsonrpc":"2.0","id":4,"method":"session/inject","params":{"sessionId":"$SESSION","mode":"steer","content":[{"type":"text","text":"Use the file `b` instead."}]}}
agent {"jsonrpc":"2.0","id":4,"result":{"messageId":"steer-1"}}
client {"jsonrpc":"2.0","id":"p-steer","result":{"outcome":{"outcome":"selected","optionId":"yes"}}}"#,
    fails: r#"agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"state_update","state":"idle","stopReason":"end_turn"}}}
agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"user_message","messageId":"steer-1","content":[{"type":"text","text":"Use the file `b` instead."}]}}}"#,
    passes: r#"agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"user_message","messageId":"steer-1","content":[{"type":"text","text":"Use the file `b` instead."}]}}}
agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"state_update","state":"idle","stopReason":"end_turn"}}}"#,
    run: Run::Talk(Setup::Next, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    agent.needs_inject("steer")?;
    let session = agent.hold_turn("steer").await?.session;
    let message = agent.injected(&session, "steer", "Use the file `b` instead.").await?;
    agent.read_for(WATCHED).await;
    ensure(agent.delivery(&session, &message).is_none(), "delivers a steering message while a permission is open")?;
    agent.allow().await;
    agent.until_delivered(&session, &message, "after the decision on a permission").await?;
    let delivered = agent.delivery(&session, &message).map_or(0, |(at, _)| at);
    match agent.idle_at(&session) {
        Some(idle) if idle < delivered => fail("delivers a steering message only after the turn"),
        _ => Ok(()),
    }
}
