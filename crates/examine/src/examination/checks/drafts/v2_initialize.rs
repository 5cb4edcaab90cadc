use std::future::ready;

use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, ensure, fail};

pub(super) static CHECK: Check = Check {
    id: "drafts/v2-initialize",
    force: Force::Must,
    spec: "rfds/v2/overview",
    summary: "answers version 2 of `initialize` with the members of version 2",
    why: "Version 2 requires `info`, and has a single field `capabilities`, in which support is marked by objects \
          instead of booleans. Both replace `agentInfo` and `agentCapabilities`. Clients of version 2 read nothing \
          else.",
    fix: "Send `info` and `capabilities` if the client asks for version 2 and gets it.",
    begins: r#"client {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":2}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":2,"agentInfo":{"name":"agent","version":"1.0.0"},"agentCapabilities":{}}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":2,"info":{"name":"agent","version":"1.0.0"},"capabilities":{"session":{"inject":{"modes":["queue","steer"],"pending":{"replace":{}}}}},"authMethods":[]}}"#,
    run: Run::Talk(Setup::Next, |agent| Box::pin(ready(run(agent)))),
};

/// Markers of support, by their pointers.
const MARKERS: &[&str] = &[
    "/session", "/session/prompt", "/session/prompt/image", "/session/prompt/audio", "/session/prompt/embeddedContext",
    "/session/mcp", "/session/mcp/stdio", "/session/mcp/http", "/session/delete", "/session/additionalDirectories",
    "/session/fork",
];

fn run(agent: &StartedAgent) -> Result<(), CheckFailure> {
    agent.needs_version_2()?;
    let result = agent.result();
    let has_info = ["name", "version"].iter().all(|name| result["info"][name].is_string());
    ensure(has_info, "answers version 2 without an `info` with a `name` and a `version`")?;
    ensure(result["capabilities"].is_object(), "answers version 2 without `capabilities`")?;
    let is_wrong = |pointer: &&&str| {
        let marker = result["capabilities"].pointer(pointer);
        marker.is_some_and(|marker| !marker.is_object() && !marker.is_null())
    };
    match MARKERS.iter().find(is_wrong) {
        Some(pointer) => {
            let name = pointer.trim_start_matches('/').replace('/', ".");
            fail(format!("advertises `{name}` in version 2 with a value that is not an object"))
        }
        None => Ok(()),
    }
}
