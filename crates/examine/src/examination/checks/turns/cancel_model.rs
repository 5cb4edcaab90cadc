use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, ensure};

pub(super) static CHECK: Check = Check {
    id: "turns/cancel-model",
    force: Force::Should,
    spec: "protocol/v1/prompt-turn",
    summary: "ends the request to the model of a turn that is cancelled",
    why: "On `session/cancel`, the agent should stop all requests to language models as soon as possible. A model that \
          writes on costs money, and keeps a local model busy, for a text that no person sees.",
    fix: "Close the connection to the model when a turn is cancelled, such as by the signal of an `AbortController`.",
    begins: r#"client {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"$SESSION","prompt":[{"type":"text","text":"$PROMPT"}]}}
model sends Waiting
agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"$CHUNK"}}}}
client {"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"$SESSION"}}"#,
    fails: r#"agent lets the model go on
agent {"jsonrpc":"2.0","id":3,"result":{"stopReason":"cancelled"}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":3,"result":{"stopReason":"cancelled"}}"#,
    run: Run::Talk(Setup::Session, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    let cancelled = agent.cancelled_turn().await?;
    cancelled.needs_end()?;
    ensure(cancelled.is_aborted, "keeps the connection to the model open after the turn was cancelled")
}
