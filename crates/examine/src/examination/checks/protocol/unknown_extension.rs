use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, error_of_code, json};

pub(super) static CHECK: Check = Check {
    id: "protocol/unknown-extension",
    force: Force::Should,
    spec: "protocol/v1/extensibility",
    summary: "answers an unknown extension with the code -32601",
    why: "A custom request must be answered, and an unrecognized one should be answered with the code for unknown \
          methods. Clients use that code to detect which extensions an agent supports.",
    fix: "Answer every request with an unknown method with the code -32601.",
    begins: r#"client {"jsonrpc":"2.0","id":2,"method":"_acp-registry/unknown","params":{}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"Internal error"}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"Method not found"}}"#,
    run: Run::Talk(Setup::Shared, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    let method = "_acp-registry/unknown";
    error_of_code(&agent.ask(method, &json!({})).await?, -32_601, "an unknown method")
}
