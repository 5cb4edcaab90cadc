//! Checks that newly installed agents answer.

use acp_registry::install::remedy::newer;
use acp_registry::session::{Liveness, PATIENCE};
use acp_registry::store::InstallOutcome;
use acp_registry::text::printable;

use crate::commands::install::AgentResult;
use crate::flags::session::CommandSession;
use crate::terminal::signals;
use acp_registry::failure::Failure;

/// Starts the installed agents one after the other, and warns about each that does not answer `initialize`.
pub(crate) fn ask_all(outcomes: &mut [AgentResult], session: &CommandSession<'_>) -> Result<(), Failure> {
    let installed: Vec<&mut InstallOutcome> =
        outcomes.iter_mut().filter_map(|outcome| outcome.done.as_mut().ok()).collect();
    if installed.is_empty() {
        return Ok(());
    }
    signals::run(session.ui(), async {
        for done in installed {
            ask(done, session).await?;
        }
        Ok(())
    })?
}

/// Starts a newly installed agent, and warns if it does not answer `initialize`.
pub(crate) async fn ask(done: &mut InstallOutcome, session: &CommandSession<'_>) -> Result<(), Failure> {
    let (id, ui) = (done.version.receipt.id.clone(), session.ui());
    ui.detail(&format!("starting {id}, which has {} s to answer", PATIENCE.as_secs()));
    let Some(Liveness { answers: false, problem, shortfall, .. }) =
        session.ask(done, &|event| session.waits(&event)).await?
    else {
        return Ok(());
    };
    let (name, cause) = (printable(&id), printable(&problem));
    let help = match &shortfall {
        Some(shortfall) if problem.contains(&shortfall.to_string()) => newer(shortfall),
        Some(shortfall) => format!("it {shortfall}: {}", newer(shortfall)),
        None => format!("see `acp-registry doctor {name}`"),
    };
    ui.warning(&format!("{name} is installed, but does not answer: {cause}; {help}"));
    Ok(())
}
