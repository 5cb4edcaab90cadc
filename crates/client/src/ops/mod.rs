//! DO: what people ask for: find, install, update, repair, uninstall, diagnose, sign in.
//!
//! Each use case is a function that takes a [`Session`] and a request of plain data, reports [`Event`]s while it runs, and
//! returns a [`Report`], which is the JSON document of the command of that name. Failures of single agents are in the
//! report.

mod agents;
mod diagnose;
mod find;
mod install;
mod removal;
mod repair;
mod sign_in;
mod update;

use std::fmt;
use std::time::Duration;

use acp_registry_plan::failure::{AgentFailure, Exit, Failure};
use acp_registry_plan::manifest::{self, AgentId};
use acp_registry_plan::revocations::{Revocation, RevocationLevel};
use acp_registry_plan::text::{escape, printable};
use serde::{Deserialize, Deserializer, Serialize};

use crate::index::{self, Index, IndexLocation, Loaded, TrustError};
use crate::install::Progress;
use crate::session::{AgentSpec, Session};
use crate::store::Version;

pub use agents::settle;
pub use diagnose::{Diagnose, DiagnoseReport, count_problems, diagnose};
pub use find::{
    Describe, DescribeReport, FindReport, InstalledReport, InstalledRow, Locate, LocateReport, PlanReport, Resolve,
    Search, describe, find_offer, list, list_installed, load_entry, locate, resolve, search,
};
pub use install::{Install, InstallReport, JOBS, install};
pub use removal::{Cached, CollectGarbage, Removal, Uninstall, collect_garbage, uninstall};
pub use repair::{Need, install_to_run};
pub use sign_in::{Attempt, MethodsReport, Relay, SIGN_IN_TIMEOUT, SignIn, SignInReport, SignOut, Step};
pub use update::{AgentUpdate, HeldUpdate, Pinned, Update, UpdateReport, update};

/// What happens during a use case.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// Something that a person may want to know.
    Note(&'a str),
    /// Something that may be wrong; the use case can still succeed.
    Warning(&'a str),
    /// A failure that does not end the use case. The words before it name what it is about; they may be empty.
    Failed(&'a str, &'a Failure),
    /// What is being done.
    Detail(&'a str),
    /// The result for one of several agents.
    Step(&'a str),
    /// Text for the person who signs in. Printable, and ends in a line break.
    Text(&'a str),
    /// The index is going to be read from its place or a copy.
    Loading(&'a IndexLocation),
    /// The installation of an agent has begun.
    Installing {
        /// The agent.
        id: &'a AgentId,
        /// The version.
        version: &'a str,
    },
    /// The progress of the installation of an agent.
    Progress(&'a AgentId, Progress),
    /// The installation of an agent has ended, successfully or not.
    Installed(&'a AgentId),
    /// An agent was started, and its answer is waited for.
    Starting {
        /// The id of the agent.
        id: &'a str,
        /// How long it may take.
        limit: Duration,
    },
    /// An agent has answered, or is not waited for any more.
    Started(&'a str),
}

/// Receives the events of a use case.
pub type Events<'a> = dyn Fn(Event<'_>) + Send + Sync + 'a;

/// The result of a use case, serialized as the members of its document.
pub trait Report: Serialize {
    /// The name of the document.
    fn command(&self) -> &'static str;

    /// The failures of single agents.
    fn errors(&self) -> &[AgentFailure] {
        &[]
    }

    /// Why the use case failed, if it did: by default, because of the worst failure of an agent.
    fn failure(&self) -> Option<Failure> {
        Failure::worst(self.errors().iter().map(|error| &error.failure)).cloned()
    }

    /// The exit code of the command.
    fn exit(&self) -> Exit {
        self.failure().map_or(Exit::Success, |failure| failure.exit())
    }
}

/// Reports that an agent is started, and its end when it is dropped, since the future may be dropped, too.
struct Starting<'a>(&'a str, &'a Events<'a>);

impl<'a> Starting<'a> {
    fn report(id: &'a str, limit: Duration, events: &'a Events<'_>) -> Self {
        events(Event::Starting { id, limit });
        Self(id, events)
    }
}

impl Drop for Starting<'_> {
    fn drop(&mut self) {
        self.1(Event::Started(self.0));
    }
}

/// The warning about a temporary directory that is left over. `error` names it.
#[must_use]
pub fn unremoved(error: &dyn fmt::Display) -> String {
    format!("a temporary directory could not be removed; remove it by hand: {error}")
}

/// Reports which process is waited for.
fn waiting<'a>(events: &'a Events<'_>) -> impl Fn(&str) + Send + Sync + 'a {
    |holder| events(Event::Note(&format!("waiting for {holder}")))
}

/// Reads an index, and reports once if parts of it cannot be used.
async fn load(
    session: &Session,
    loading: impl Future<Output = Result<Loaded, index::Error>>,
    events: &Events<'_>,
) -> Result<Index, Failure> {
    let index = load_quietly(session, loading, events).await?;
    match index.notes.as_slice() {
        [] => {}
        [note] => events(Event::Warning(&format!("in the registry index, {note}"))),
        _ => events(Event::Warning(
            "some entries of the registry index cannot be used; `acp-registry list` says which and why",
        )),
    }
    Ok(index)
}

/// Learns which versions the registry has recalled.
///
/// # Errors
/// [`Failure`] when what the host has is not what the registry has signed.
async fn learn_revocations(session: &Session, events: &Events<'_>) -> Result<(), Failure> {
    let warning = match session.learn_revocations().await {
        Err(index::Error::Trust(error @ TrustError::Unavailable { .. })) => Some(error.to_string()),
        learned => learned?,
    };
    if let Some(warning) = warning {
        events(Event::Warning(&warning));
    }
    Ok(())
}

/// Learns the earlier versions of an agent, if one is named that is neither in the index nor installed.
///
/// # Errors
/// [`Failure`] when the registry is not what it has signed.
async fn learn_versions(session: &Session, named: &AgentSpec, index: &Index) -> Result<(), Failure> {
    let Some(version) = &named.version else { return Ok(()) };
    let is_known = session
        .offers(named, index)
        .is_ok_and(|offers| offers.iter().any(|offer| manifest::Version::is_same(&offer.version, version)));
    if !is_known {
        session.learn_versions(&named.id).await?;
    }
    Ok(())
}

/// Refuses a version that the registry has revoked, and warns of one that is deprecated, or revoked and allowed.
///
/// # Errors
/// [`Failure`] when the version is revoked and was not allowed.
fn check_revoked(session: &Session, id: &str, version: &str, events: &Events<'_>) -> Result<(), Failure> {
    session.refuse_revoked(id, version)?;
    warn_of_revocation(session.find_revocation(id, version), id, version, events);
    Ok(())
}

/// Refuses an installed version that a registry has revoked, and warns of one that is deprecated, or revoked and allowed.
///
/// # Errors
/// [`Failure`] when the version is revoked and was not allowed.
pub fn check_revoked_installed(session: &Session, version: &Version, events: &Events<'_>) -> Result<(), Failure> {
    session.refuse_revoked_installed(version)?;
    if let Some(problem) = session.revocation_problem(version) {
        events(Event::Warning(&problem));
    }
    warn_of_revocation(
        session.find_installed_revocation(version),
        &version.receipt.id,
        &version.receipt.version,
        events,
    );
    Ok(())
}

fn warn_of_revocation(revocation: Option<Revocation>, id: &str, version: &str, events: &Events<'_>) {
    if let Some(revocation) = revocation {
        let allowed = if revocation.level == RevocationLevel::Revoked { " (allowed by --allow-revoked)" } else { "" };
        events(Event::Warning(&format!("{} {} {revocation}{allowed}", escape(id), escape(version))));
    }
}

/// Reads an index, of which parts may be unusable.
async fn load_quietly(
    session: &Session,
    loading: impl Future<Output = Result<Loaded, index::Error>>,
    events: &Events<'_>,
) -> Result<Index, Failure> {
    events(Event::Loading(&session.options().index));
    if let Some(problem) = &session.options().cache_problem {
        events(Event::Warning(problem));
    }
    let Loaded { index, warning, .. } = loading.await?;
    if let Some(warning) = warning {
        events(Event::Warning(&warning));
    }
    Ok(index)
}

/// Reports the parts of an agent's entry that cannot be used.
fn warn_of_left_out(id: &str, index: &Index, events: &Events<'_>) -> Result<(), Failure> {
    for note in index.left_out(id)? {
        let id = acp_registry_plan::text::quote(id);
        events(Event::Warning(&format!("in the registry index, of {id}, {}", printable(&note))));
    }
    Ok(())
}

/// The longest time in a request, in seconds: ten years.
const LONGEST: f64 = 10.0 * 365.0 * 86_400.0;

/// Reads a time in seconds.
fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    let wrong = || serde::de::Error::custom("expected a number of seconds from 0 to ten years");
    let Some(seconds) = Option::<f64>::deserialize(deserializer).map_err(|_| wrong())? else { return Ok(None) };
    let time = Some(seconds).filter(|seconds| *seconds < LONGEST);
    time.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()).map(Some).ok_or_else(wrong)
}

/// Reads a limit of time in seconds, which is above zero.
fn limit<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    match seconds(deserializer)? {
        Some(Duration::ZERO) => Err(serde::de::Error::custom("expected a number of seconds above 0")),
        limit => Ok(limit),
    }
}
