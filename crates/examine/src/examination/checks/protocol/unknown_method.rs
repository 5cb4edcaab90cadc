use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, error_of_code, json};

pub(super) static CHECK: Check = Check {
    id: "protocol/unknown-method",
    force: Force::Must,
    spec: "protocol/v1/overview",
    summary: "answers an unknown method with the code -32601",
    why: "All methods follow the error handling of JSON-RPC 2.0, which defines a code for unknown methods. Clients use \
          that code to distinguish an older agent from a broken one.",
    fix: "Answer every request with an unknown method with the code -32601.",
    begins: r#"client {"jsonrpc":"2.0","id":2,"method":"acp-registry/unknown","params":{}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"Internal error"}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"Method not found"}}"#,
    run: Run::Talk(Setup::Shared, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    let method = "acp-registry/unknown";
    error_of_code(&agent.ask(method, &json!({})).await?, -32_601, "an unknown method")
}
