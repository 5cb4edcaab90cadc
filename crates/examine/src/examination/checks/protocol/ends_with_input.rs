use std::time::Duration;

use super::{Check, CheckFailure, Force, Run, Setup, StartedAgent, fail};

pub(super) static CHECK: Check = Check {
    id: "protocol/ends-with-input",
    force: Force::Observed,
    spec: "protocol/v1/transports",
    summary: "exits within 5 seconds after its stdin is closed",
    why: "A client stops an agent by closing its stdin and ending the process. An agent that keeps running is left \
          behind when its client crashes.",
    fix: "Exit when stdin is closed.",
    begins: "client closes stdin",
    fails: "agent goes on",
    passes: "agent ends",
    run: Run::Talk(Setup::Ending, |agent| Box::pin(run(agent))),
};

async fn run(agent: &mut StartedAgent) -> Result<(), CheckFailure> {
    match agent.close_input(Duration::from_secs(5)).await {
        Some(_) => Ok(()),
        None => fail("still runs 5 s after its stdin was closed"),
    }
}
