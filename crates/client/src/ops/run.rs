//! Installs what is going to be started. The start itself is in `src/commands/run.rs`.

use acp_registry_plan::failure::Failure;

use super::find::plan;
use super::install::{explain, install_one};
use super::repair::{refuse_locked, suggest_other};
use super::{Event, Events, learn_revocations, learn_versions, load};
use crate::install::Kind;
use crate::session::{AgentSpec, InstallRequest, Session, Terms};
use crate::store::{MakeCurrent, Version};

/// Installs the version that is going to be started, if it is not there. A damaged version is installed again, even if
/// the index has a newer one.
///
/// # Errors
/// [`Failure`] when the index cannot be read, has no such agent or version, or it is not installed.
pub async fn install_to_run(
    session: &Session,
    named: &AgentSpec,
    dist: Option<Kind>,
    terms: Terms,
    damaged: Option<&Version>,
    events: &Events<'_>,
) -> Result<Version, Failure> {
    damaged.map_or(Ok(()), refuse_locked)?;
    let (plan, index) = if let Some(damaged) = damaged {
        (session.plan_again(damaged).await?, None)
    } else {
        let index = load(session, session.load_index(&[&named.id]), events).await?;
        learn_revocations(session, events).await?;
        learn_versions(session, named, &index).await?;
        (plan(named, dist, &index, session, events).await?, Some(index))
    };
    let plan = session.with_closure(plan).await?;
    // An installed version is not installed again.
    if let Some(version) = session.store.installed(&plan)?.filter(|version| terms.are_met(version)) {
        session.store.refuse_changed(&plan)?;
        return Ok(version);
    }
    if !session.options().is_offline {
        events(Event::Note(&format!("installing {} {}", plan.id, plan.version)));
    }
    // A version that is requested by name does not become the current version.
    let make_current = if named.has_version() { MakeCurrent::IfNone } else { MakeCurrent::Always };
    let request = InstallRequest { make_current, terms, ..InstallRequest::new(plan) };
    let done = install_one(session, &request, events).await.map_err(|mut failure| {
        if let Some(index) = &index {
            explain(&mut failure, &request.plan, named, index, session, "run");
        }
        match damaged {
            Some(version) => suggest_other(failure, version, session),
            None => failure,
        }
    });
    Ok(done?.version)
}
