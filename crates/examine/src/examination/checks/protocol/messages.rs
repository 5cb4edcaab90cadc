use super::{Check, CheckFailure, Force, Run, fail};
use crate::examination::messages::OutputViolations;

pub(super) static CHECK: Check = Check {
    id: "protocol/messages",
    force: Force::Must,
    spec: "protocol/v1/transports",
    summary: "writes messages that match the schema",
    why: "Everything that an agent writes to stdout must be a valid message: valid JSON-RPC 2.0, with the members that \
          the schema requires.",
    fix: "Write the message as the schema defines it.",
    begins: r#"client {"jsonrpc":"2.0","id":2,"method":"_acp-registry/ping","params":{}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":2,"error":{"code":"-32601","message":"Method not found"}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"Method not found"}}"#,
    run: Run::Heard(run),
};

fn run(heard: &OutputViolations) -> Result<(), CheckFailure> {
    match heard.invalid.text() {
        Some(text) => fail(format!("writes an invalid message: {text}")),
        None => Ok(()),
    }
}
