use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, fail, json, not_exercised};

pub(super) static CHECK: Check = Check {
    id: "sessions/unadvertised-methods",
    force: Force::Observed,
    spec: "protocol/v1/initialization",
    summary: "refuses methods that it does not advertise",
    why: "Capabilities that are omitted are unsupported. No client finds a method that works but is not \
          advertised; a method that answers without an effect misleads the clients that try it.",
    fix: "Advertise each method that works, and answer others with error -32601.",
    begins: r#"client {"jsonrpc":"2.0","id":2,"method":"providers/list","params":{}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":2,"result":{}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"Method not found"}}"#,
    run: Run::Talk(Setup::Session, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    let session = agent.spare_session().await?;
    let id = json!({ "sessionId": session.id });
    let full = agent.session_params_with("sessionId", session.id.clone());
    let capabilities = "/sessionCapabilities";
    // Those that end the session are last.
    let methods = [
        ("session/list", format!("{capabilities}/list"), json!({})),
        ("providers/list", "/providers".to_owned(), json!({})),
        ("session/fork", format!("{capabilities}/fork"), full.clone()),
        ("session/resume", format!("{capabilities}/resume"), full.clone()),
        ("session/load", "/loadSession".to_owned(), full),
        ("session/close", format!("{capabilities}/close"), id.clone()),
        ("session/delete", format!("{capabilities}/delete"), id),
    ];
    let mut is_any = false;
    for (method, capability, params) in methods {
        // The proposal for forks has the capability elsewhere.
        if agent.advertises(&capability) || (method == "session/fork" && agent.advertises("/session/fork")) {
            continue;
        }
        is_any = true;
        if agent.ask_unadvertised(method, &params, agent.patience() * 2).await?.is_ok() {
            return fail(format!("carries out `{method}`, which it does not advertise"));
        }
    }
    if is_any { Ok(()) } else { not_exercised("the agent advertises all methods") }
}
