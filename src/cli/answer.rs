//! Whether agents answer that were just installed.

use std::env;
use std::time::Duration;

use acp_registry::doctor;
use acp_registry::handshake::Options;
use acp_registry::install::remedy::newer;
use acp_registry::manifest::Platform;
use acp_registry::store::{Done, StoredInterpreter};
use acp_registry::text::printable;

use super::exit::Failure;
use super::install::Outcome;
use super::live;
use super::place::{Session, environment};
use super::signals;

/// How long an agent may take to answer: the first start of some is slow.
const PATIENCE: Duration = Duration::from_secs(30);

/// Starts every agent that was installed for this machine, one after the other, writes down whether it answers, and says
/// which does not. An agent that does not answer is installed all the same: what it lacks may be put right later.
pub(super) fn ask_all(outcomes: &mut [Outcome], session: &Session<'_>) -> Result<(), Failure> {
    let installed: Vec<&mut Done> = outcomes.iter_mut().filter_map(|outcome| outcome.done.as_mut().ok()).collect();
    if installed.is_empty() {
        return Ok(());
    }
    signals::run(async {
        for done in installed {
            ask(done, session).await?;
        }
        Ok(())
    })?
}

/// Whether there is something to learn: what was there, is started as before and has answered once is not asked again.
fn is_asked(done: &Done) -> bool {
    let receipt = &done.version.receipt;
    let is_new = !done.was_there || done.is_repaired || receipt.answers != Some(true);
    is_new && receipt.platform() == Platform::host()
}

/// Starts an agent that was just installed, and speaks to it.
pub(super) async fn ask(done: &mut Done, session: &Session<'_>) -> Result<(), Failure> {
    if !is_asked(done) {
        return Ok(());
    }
    let version = &mut done.version;
    let mut options = Options::new(env::temp_dir());
    (options.timeout, options.probe) = (PATIENCE, None);
    let (id, ui) = (version.receipt.id.clone(), session.ui());
    ui.detail(&format!("starting {id}, which has {} s to answer", PATIENCE.as_secs()));
    let (answers, problem) = match doctor::speak(version, &environment(), live::launcher().as_deref(), &options).await?
    {
        // Whether people can sign in is another question.
        Ok(outcome) => (outcome.handshake.protocol_version.is_some(), outcome.message.unwrap_or_default()),
        Err(problem) => (false, problem),
    };
    if !answers {
        let (name, cause) = (printable(&id), printable(&problem));
        let shortfall = version.receipt.interpreter.as_ref().and_then(StoredInterpreter::shortfall);
        let help = match &shortfall {
            Some(shortfall) if problem.contains(&shortfall.to_string()) => newer(shortfall),
            Some(shortfall) => format!("it {shortfall}: {}", newer(shortfall)),
            None => format!("see `acp-registry doctor {name}`"),
        };
        ui.warning(&format!("{name} is installed, but does not answer: {cause}; {help}"));
    }
    Ok(session.store.note_answer(version, answers, &|holder| session.waiting(holder)).await?)
}
