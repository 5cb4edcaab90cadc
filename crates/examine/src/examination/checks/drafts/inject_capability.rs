use std::future::ready;

use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, ensure, fail, quote};

pub(super) static CHECK: Check = Check {
    id: "drafts/inject-capability",
    force: Force::Must,
    spec: "rfds/v2/session-inject",
    summary: "advertises at least one mode with `session/inject`",
    why: "The member `modes` is required and not empty when the capability `inject` is present; the modes are `queue` \
          and `steer`. A client cannot send a message of an unknown mode.",
    fix: "List the supported modes in `capabilities.session.inject.modes`, or leave out `inject`.",
    begins: r#"client {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":2}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":2,"info":{"name":"agent","version":"1.0.0"},"capabilities":{"session":{"inject":{"modes":[]}}},"authMethods":[]}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":2,"info":{"name":"agent","version":"1.0.0"},"capabilities":{"session":{"inject":{"modes":["queue","steer"],"pending":{"replace":{}}}}},"authMethods":[]}}"#,
    run: Run::Talk(Setup::Next, |agent| Box::pin(ready(run(agent)))),
};

fn run(agent: &StartedAgent) -> Result<(), CheckFailure> {
    agent.needs_version_2()?;
    let Some(inject) = agent.capabilities().pointer("/session/inject").filter(|inject| !inject.is_null()) else {
        return agent.needs("/session/inject");
    };
    let Some(modes) = inject["modes"].as_array() else {
        return fail("advertises `session/inject` without a list of `modes`");
    };
    ensure(!modes.is_empty(), "advertises `session/inject` with an empty list of `modes`")?;
    // Names of extensions begin with an underscore.
    let is_known = |mode: &str| matches!(mode, "queue" | "steer") || mode.starts_with('_');
    match modes.iter().find(|mode| !mode.as_str().is_some_and(is_known)) {
        Some(mode) => fail(format!("advertises the unknown mode {} of `session/inject`", quote(&mode.to_string()))),
        None => Ok(()),
    }
}
