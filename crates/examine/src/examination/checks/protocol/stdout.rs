use super::{Check, CheckFailure, Force, Run, fail};
use crate::examination::messages::OutputViolations;

pub(super) static CHECK: Check = Check {
    id: "protocol/stdout",
    force: Force::Must,
    spec: "protocol/v1/transports",
    summary: "writes only messages to stdout",
    why: "An agent must not write anything to stdout that is not a message. Strict clients close the connection at the \
          first line that is not one.",
    fix: "Write logs to stderr, including the logs of libraries.",
    begins: r#"client {"jsonrpc":"2.0","id":2,"method":"_acp-registry/ping","params":{}}"#,
    fails: r#"agent Handling a request
agent {"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"Method not found"}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"Method not found"}}"#,
    run: Run::Heard(run),
};

fn run(heard: &OutputViolations) -> Result<(), CheckFailure> {
    match heard.noise.text() {
        Some(text) => fail(format!("writes a line to stdout that is not a message: {text}")),
        None => Ok(()),
    }
}
