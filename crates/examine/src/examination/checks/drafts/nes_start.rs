use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, fail, json, not_exercised, quote};
use crate::examination::agent::needs_sign_in;

pub(super) static CHECK: Check = Check {
    id: "drafts/nes-start",
    force: Force::Must,
    spec: "rfds/next-edit-suggestions",
    summary: "gives each session for suggestions an id of its own",
    why: "The response to `nes/start` has a `sessionId`, which scopes all subsequent events and requests, and one \
          connection may have any number of active sessions. With the same id twice, the documents of two workspaces \
          become one.",
    fix: "Answer `nes/start` with a new `sessionId` each time.",
    begins: r#"client {"jsonrpc":"2.0","id":2,"method":"nes/start","params":{"workspaceUri":"file:///acp-registry"}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":2,"result":{"sessionId":"default"}}"#,
    passes: r#"agent {"jsonrpc":"2.0","id":2,"result":{"sessionId":"$NEW"}}"#,
    run: Run::Talk(Setup::Draft, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    let params = json!({ "workspaceUri": "file:///acp-registry" });
    agent.needs("/nes")?;
    let mut ids = Vec::new();
    for _ in 0..2 {
        match agent.ask("nes/start", &params).await? {
            Ok(result) => match result["sessionId"].as_str().filter(|id| !id.is_empty()) {
                Some(id) => ids.push(id.to_owned()),
                None => return fail("answers `nes/start` without a `sessionId`"),
            },
            Err(error) if error.is_about_sign_in() => return not_exercised(needs_sign_in(&error)),
            Err(error) => return fail(format!("answers `nes/start` with {error}")),
        }
    }
    if ids[0] == ids[1] {
        let first = &ids[0];
        return fail(format!("starts two sessions for suggestions with the same id {}", quote(first)));
    }
    Ok(())
}
