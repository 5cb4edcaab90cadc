use super::{Check, CheckFailure, Force, Run, fail, not_exercised};
use crate::examination::messages::OutputViolations;

pub(super) static CHECK: Check = Check {
    id: "drafts/v2-messages",
    force: Force::Must,
    spec: "rfds/v2/overview",
    summary: "writes messages of version 2 that match its schema",
    why: "An agent that agrees on version 2 must write the messages of version 2, with the members that its schema \
          requires. Clients choose how to read a message by the version alone.",
    fix: "Write the message as the schema of version 2 defines it, or answer `initialize` with version 1.",
    begins: r#"client {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"$SESSION","prompt":[{"type":"text","text":"Say hello."}]}}
agent {"jsonrpc":"2.0","id":3,"result":{"messageId":"u-1"}}
agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"user_message","messageId":"u-1","content":[{"type":"text","text":"Say hello."}]}}}
agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"state_update","state":"running"}}}"#,
    fails: r#"agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Hello."}}}}
agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"state_update","state":"idle","stopReason":"end_turn"}}}"#,
    passes: r#"agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"agent_message_chunk","messageId":"a-1","content":{"type":"text","text":"Hello."}}}}
agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"state_update","state":"idle","stopReason":"end_turn"}}}"#,
    run: Run::Heard(run),
};

fn run(heard: &OutputViolations) -> Result<(), CheckFailure> {
    match heard.invalid_drafts.text() {
        Some(text) => fail(format!("writes an invalid message of version 2: {text}")),
        None if heard.has_drafts => Ok(()),
        None => not_exercised("the agent does not offer version 2"),
    }
}
