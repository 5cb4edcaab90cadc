use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, WATCHED, ensure, fail, quote};

pub(super) static CHECK: Check = Check {
    id: "drafts/inject-queue",
    force: Force::Must,
    spec: "rfds/v2/session-inject",
    summary: "accepts queued messages during a turn, and delivers them in order after it",
    why: "The agent responds when a message has been accepted for pending delivery, with the `messageId` that it has \
          assigned. It delivers queued messages after the turn, each as a `user_message` with this id, the first one \
          first. A client cannot show a message whose id is unknown.",
    fix: "Answer at once with a new `messageId`, keep the content, and send the `user_message` after the state `idle`.",
    begins: r#"client {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"$SESSION","prompt":[{"type":"text","text":"Run the command `touch acp-registry-queue` in a shell."}]}}
agent {"jsonrpc":"2.0","id":3,"result":{"messageId":"u-1"}}
agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"state_update","state":"running"}}}
agent {"jsonrpc":"2.0","id":"p-queue","method":"session/request_permission","params":{"sessionId":"$SESSION","title":"Run a command?","toolCall":{"toolCallId":"call"},"options":[{"optionId":"yes","name":"Allow","kind":"allow_once"},{"optionId":"no","name":"Reject","kind":"reject_once"}]}}
client {"jsonrpc":"2.0","id":4,"method":"session/inject","params":{"sessionId":"$SESSION","mode":"queue","content":[{"type":"text","text":"Then say `one`."}]}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":4,"result":{}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":4,"result":{"messageId":"q-1"}}
client {"jsonrpc":"2.0","id":5,"method":"session/inject","params":{"sessionId":"$SESSION","mode":"queue","content":[{"type":"text","text":"Then say `two`."}]}}
agent {"jsonrpc":"2.0","id":5,"result":{"messageId":"q-2"}}
client {"jsonrpc":"2.0","id":"p-queue","result":{"outcome":{"outcome":"selected","optionId":"yes"}}}
agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"state_update","state":"idle","stopReason":"end_turn"}}}
agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"user_message","messageId":"q-1","content":[{"type":"text","text":"Then say `one`."}]}}}
agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"user_message","messageId":"q-2","content":[{"type":"text","text":"Then say `two`."}]}}}"#,
    run: Run::Talk(Setup::Next, |agent| Box::pin(run(agent))),
};

const TEXTS: [&str; 2] = ["Then say `one`.", "Then say `two`."];

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    agent.needs_inject("queue")?;
    let session = agent.hold_turn("queue").await?.session;
    let first = agent.injected(&session, "queue", TEXTS[0]).await?;
    let second = agent.injected(&session, "queue", TEXTS[1]).await?;
    ensure(first != second, format!("gives two messages the same id {}", quote(&first)))?;
    agent.read_for(WATCHED).await;
    ensure(agent.delivery(&session, &first).is_none(), "delivers a queued message before the turn has ended")?;
    agent.allow().await;
    agent.until_delivered(&session, &first, "after the turn").await?;
    agent.until_delivered(&session, &second, "after the turn").await?;
    let place = |id: &str| agent.delivery(&session, id).unwrap_or_default();
    let ((first, said), (second, _)) = (place(&first), place(&second));
    ensure(said == TEXTS[0], format!("delivers {} instead of the queued message", quote(said)))?;
    ensure(first <= second, "delivers the second of two queued messages first")?;
    match agent.idle_at(&session) {
        Some(idle) if idle < first => Ok(()),
        _ => fail("delivers a queued message before the turn has ended"),
    }
}
