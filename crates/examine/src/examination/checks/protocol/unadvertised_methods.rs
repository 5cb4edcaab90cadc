use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, fail, not_exercised, quote};

pub(super) static CHECK: Check = Check {
    id: "protocol/unadvertised-methods",
    force: Force::Must,
    spec: "protocol/v1/initialization",
    summary: "calls only methods of capabilities that the client has advertised",
    why: "An agent must treat every capability that a client omits as unsupported, and must not call its methods.",
    fix: "Check `clientCapabilities` before calling `fs/*` or `terminal/*`.",
    begins: r#"client {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{}}}
agent {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentCapabilities":{"loadSession":true},"agentInfo":{"name":"agent","version":"1.0.0"},"authMethods":[{"id":"login","name":"Log in"}]}}
client {"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"$WORK","mcpServers":[]}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":"r1","method":"fs/read_text_file","params":{"sessionId":"s1","path":"/etc/hostname"}}
agent {"jsonrpc":"2.0","id":2,"error":{"code":-32000,"message":"Authentication required"}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":2,"error":{"code":-32000,"message":"Authentication required"}}"#,
    run: Run::Talk(Setup::Bare, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    if let Err(text) = &agent.initialized {
        return not_exercised(format!("the agent {text} if the client has no capabilities"));
    }
    let params = agent.session_params();
    // Only the agent's requests before its response count, not whether it opens a session.
    let answer = agent.ask("session/new", &params).await;
    let has_capability = |method: &&str| !method.starts_with("fs/") && !method.starts_with("terminal/");
    if let Some(method) = agent.client.asked().find(|method| !has_capability(method)) {
        return fail(format!("calls {}, which the client has not advertised", quote(method)));
    }
    answer.map(|_| ())
}
