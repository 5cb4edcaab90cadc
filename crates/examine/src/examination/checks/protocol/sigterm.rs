use std::time::Duration;

use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, fail, needs};

pub(super) static CHECK: Check = Check {
    id: "protocol/sigterm",
    force: Force::Observed,
    spec: "protocol/v1/transports",
    summary: "exits within 5 seconds after SIGTERM",
    why: "Clients stop agents with a signal. An agent that ignores SIGTERM has to be killed, and cannot clean up.",
    fix: "Exit on SIGTERM, or do not handle the signal.",
    begins: "client sends SIGTERM",
    fails: "agent goes on",
    passes: "agent ends",
    run: Run::Talk(Setup::Stopping, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    needs(cfg!(unix), "this system has no signals")?;
    match agent.terminate(Duration::from_secs(5)).await {
        Some(_) => Ok(()),
        None => fail("still runs 5 s after SIGTERM"),
    }
}
