use std::time::Duration;

use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, fail, quote};
use crate::examination::session_options::TRIED;

pub(super) static CHECK: Check = Check {
    id: "sessions/set-mode",
    force: Force::Observed,
    spec: "protocol/v1/session-modes",
    summary: "changes to each of its modes",
    why: "Clients offer all modes that the agent lists, and set the one that the user chooses. If the agent then \
          reports a `current_mode_update`, it is expected to name that mode.",
    fix: "Accept every id in `availableModes` in `session/set_mode`, and report the mode that is now current.",
    begins: r#"client {"jsonrpc":"2.0","id":2,"method":"session/set_mode","params":{"sessionId":"$ID","modeId":"code"}}"#,
    fails: r#"agent {"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"Internal error"}}"#,
    passes: r#"agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"$SESSION","update":{"sessionUpdate":"current_mode_update","currentModeId":"code"}}}
agent {"jsonrpc":"2.0","id":2,"result":{}}"#,
    run: Run::Talk(Setup::Session, |agent| Box::pin(run(agent))),
};

/// Time for an update after the response.
const LATE: Duration = Duration::from_millis(300);

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    let session = agent.changing_session().await?;
    let (ids, first) = session.modes()?;
    // The first mode is set last, so that the session ends as it began.
    let others = ids.iter().filter(|id| **id != first).take(TRIED);
    for (number, id) in others.chain(ids.iter().filter(|id| **id == first)).enumerate() {
        if let Err(error) = agent.set_mode(&session.id, id).await? {
            return fail(format!("does not change to its mode {}: {error}", quote(id)));
        }
        // Later updates could be about an earlier mode.
        if number == 0 {
            agent.read_for(LATE).await;
            let updates =
                agent.client.session_updates(&session.id).filter(|update| update.kind() == "current_mode_update");
            // The page calls the member `modeId` in its example, the schema `currentModeId`.
            let modes = updates
                .filter_map(|update| ["currentModeId", "modeId"].iter().find_map(|name| update.body[name].as_str()));
            if let Some(other) = modes.last().filter(|mode| mode != id) {
                let (id, other) = (quote(id), quote(other));
                return fail(format!("reports the mode {other} after it was set to {id}"));
            }
        }
    }
    Ok(())
}
