//! A whole run of `bump`: chooses agents, applies updates, and proposes changes of the quarantine.

use acp_registry_plan::failure::Failure;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use acp_registry_client::registry::{AgentFolder, Loaded, Registry};
use acp_registry_host::fs::{PathError, check_writable, write_atomic};
use acp_registry_plan::manifest::{Channel, Manifest};
use acp_registry_plan::position::{Edit, apply};
use acp_registry_sources::Needs;
use time::OffsetDateTime;

use super::{Bumped, Bumper, ChannelOutcome, ErrorKind, Troubles, TroublesError, VersionUpdate};
use crate::closures::{ClosureChange, ClosureError};
use crate::edit;
use crate::survey::needs;

/// The request of a run.
#[derive(Debug, Clone, Default)]
pub struct BumpRequest {
    /// The agents to look at; if empty, all that are not in quarantine.
    pub ids: Vec<String>,
    /// The channels to look at; if empty, both.
    pub channels: Vec<Channel>,
    /// The file that records how long agents have had errors.
    pub state: Option<PathBuf>,
    /// Propose quarantine for agents that have had errors for this long.
    pub quarantine_after: Option<Duration>,
    /// Whether to write updates into the manifests.
    pub apply: bool,
}

impl BumpRequest {
    /// Whether a channel of an agent is looked at, if the registry has it.
    pub(crate) fn covers(&self, id: &str, channel: Channel) -> bool {
        (self.ids.is_empty() || self.ids.iter().any(|one| one == id))
            && (self.channels.is_empty() || self.channels.contains(&channel))
    }
}

/// Why a run could not start.
#[derive(Debug, thiserror::Error)]
pub enum BumpRunError {
    /// The state file cannot be written.
    #[error(transparent)]
    Unwritable(PathError),
    /// The state file cannot be read.
    #[error(transparent)]
    State(#[from] TroublesError),
}

/// A run in progress.
#[derive(Debug)]
pub struct BumpRun<'a> {
    pub(super) registry: &'a Registry,
    request: &'a BumpRequest,
    entries: Vec<&'a AgentFolder>,
    quarantined: Vec<String>,
    troubles: Option<Troubles>,
}

/// The result of a run.
#[derive(Debug)]
pub struct Finished {
    /// One result per channel of each agent.
    pub bumped: Vec<Bumped>,
    /// Ids of agents that were skipped because they are in quarantine.
    pub quarantined: Vec<String>,
    /// The recorded errors, if there is a state file.
    pub troubles: Option<Troubles>,
    /// Agents that should be put into quarantine, with the reason.
    pub to_hold: Vec<(String, String)>,
    /// Agents in quarantine that can be updated again.
    pub to_release: Vec<String>,
    /// Whether updates were written into the manifests.
    pub is_applied: bool,
}

impl<'a> BumpRun<'a> {
    /// Reads the state file and chooses the agents.
    ///
    /// # Errors
    /// Returns [`BumpRunError`] if the state file cannot be read or written.
    pub fn begin(registry: &'a Registry, request: &'a BumpRequest) -> Result<Self, BumpRunError> {
        if let Some(path) = &request.state {
            check_writable(path).map_err(BumpRunError::Unwritable)?;
        }
        let troubles = request.state.as_deref().map(Troubles::read).transpose()?;
        let (entries, quarantined) = entries(request, registry);
        Ok(Self { registry, request, entries, quarantined, troubles })
    }

    /// Number of agents to look at.
    pub fn count(&self) -> usize {
        self.entries.len()
    }

    /// The package registries that are needed.
    pub fn needs(&self) -> Needs {
        let manifests = self.entries.iter().filter_map(|entry| entry.manifest.present());
        needs(manifests.flat_map(|manifest| manifest.agent().releases()).map(|release| release.distribution))
    }

    /// Looks for newer versions, see [`Bumper::run`].
    pub async fn look(&self, bumper: &Bumper<'_>, done: &(dyn Fn(&str) + Sync)) -> Vec<Bumped> {
        let both = [Channel::Stable, Channel::Preview];
        let channels = if self.request.channels.is_empty() { &both[..] } else { &self.request.channels };
        bumper.run(self.registry, &self.entries, channels, done).await
    }

    /// Writes the state file, proposes changes of the quarantine, and applies the updates with their lists of packages if
    /// requested. If one of both cannot be written, the result becomes an error.
    ///
    /// # Errors
    /// Returns [`PathError`] if the state file cannot be written; no manifest is changed then.
    pub fn end(
        self,
        bumped: Vec<Bumped>,
        lists: &mut [ClosureChange],
        now: OffsetDateTime,
    ) -> Result<Finished, PathError> {
        let Self { registry, request, quarantined, mut troubles, .. } = self;
        if let (Some(troubles), Some(path)) = (&mut troubles, &request.state) {
            troubles.update(&bumped, now);
            troubles.keep(|id| registry.entry(id).is_some());
            write_atomic(path, troubles.to_text().as_bytes())?;
        }
        let to_hold = to_hold(request, registry, troubles.as_ref(), &bumped, now);
        let (mut bumped, to_release) = released(request, registry, bumped);
        if request.apply {
            write(registry, &mut bumped, lists);
        }
        Ok(Finished { bumped, quarantined, troubles, to_hold, to_release, is_applied: request.apply })
    }
}

/// The agents to look at, and those to skip. Agents in quarantine are skipped, unless a failed update is the reason:
/// they may work again.
fn entries<'a>(request: &BumpRequest, registry: &'a Registry) -> (Vec<&'a AgentFolder>, Vec<String>) {
    if !request.ids.is_empty() {
        return (registry.entries.iter().filter(|entry| request.ids.contains(&entry.id)).collect(), Vec::new());
    }
    let is_passed_over =
        |entry: &&AgentFolder| held(registry, &entry.id).is_some_and(|reason| !Troubles::is_proposed(reason));
    let (quarantined, entries): (Vec<&AgentFolder>, Vec<&AgentFolder>) =
        registry.entries.iter().partition(is_passed_over);
    (entries, quarantined.into_iter().map(|entry| entry.id.clone()).collect())
}

/// The reason why an agent is in quarantine, if it is.
pub(crate) fn held<'a>(registry: &'a Registry, id: &str) -> Option<&'a str> {
    let Loaded::Present(quarantine) = &registry.quarantine else { return None };
    quarantine.holds.get(id).map(|hold| hold.reason.as_str())
}

/// Agents that have had errors for too long, with the reason for the quarantine list. One whose source limited requests in
/// this run was not seen to fail.
fn to_hold(
    request: &BumpRequest,
    registry: &Registry,
    troubles: Option<&Troubles>,
    bumped: &[Bumped],
    now: OffsetDateTime,
) -> Vec<(String, String)> {
    let (Some(after), Some(troubles)) = (request.quarantine_after, troubles) else { return Vec::new() };
    let is_limited = |one: &Bumped| one.result.as_ref().is_err_and(|error| error.kind == ErrorKind::RateLimited);
    let limited: BTreeSet<&str> = bumped.iter().filter(|one| is_limited(one)).map(|one| one.id.as_str()).collect();
    let free = registry.entries.iter().map(|entry| entry.id.as_str());
    let free = free.filter(|id| held(registry, id).is_none() && !limited.contains(id));
    free.filter_map(|id| Some((id.to_owned(), troubles.reason(id, after, now)?))).collect()
}

/// Removes agents in quarantine from the results, and returns those that can leave it.
fn released(request: &BumpRequest, registry: &Registry, bumped: Vec<Bumped>) -> (Vec<Bumped>, Vec<String>) {
    if !request.ids.is_empty() {
        return (bumped, Vec::new());
    }
    let (held, free): (Vec<Bumped>, Vec<Bumped>) =
        bumped.into_iter().partition(|one| held(registry, &one.id).is_some());
    let works = |of: &[Bumped]| of.iter().all(|one| one.result.is_ok());
    let released = held.chunk_by(|a, b| a.id == b.id).filter(|of| works(of)).map(|of| of[0].id.clone()).collect();
    (free, released)
}

impl Bumped {
    /// The newer version, if there is one.
    pub fn update(&self) -> Option<&VersionUpdate> {
        if let Ok(ChannelOutcome::Update(update)) = &self.result { Some(update) } else { None }
    }

    /// The edits of the manifest's text; empty without an update.
    pub fn edits(&self) -> impl Iterator<Item = Edit> {
        self.update().into_iter().flat_map(|update| update.edits.clone())
    }
}

/// The manifests of agents for which lists of packages are made, by id: as their updates of the stable channel would make
/// them. With `repairs`, also those without an update whose list is not that of their package, as it is after a run that
/// was interrupted.
#[must_use]
pub fn manifests_with_lists(registry: &Registry, bumped: &[Bumped], repairs: bool) -> Vec<(String, Manifest)> {
    let of_one = |one: &Bumped| {
        let edits: Vec<Edit> = one.edits().collect();
        if edits.is_empty() && !(repairs && one.result.is_ok()) {
            return None;
        }
        let text = registry.text(&format!("{}/agent.json", one.id))?;
        let manifest = Manifest::parse(apply(text, &edits)).ok()?;
        let is_stale = || registry.closures(&one.id, &manifest).any(|(_, list)| list.is_err());
        (!edits.is_empty() || is_stale()).then(|| (one.id.clone(), manifest))
    };
    bumped.iter().filter(|one| one.channel == Channel::Stable).filter_map(of_one).collect()
}

/// Asks for a review of the update that a list belongs to, if it was not made, or if more packages have install scripts.
pub fn review_list(list: &ClosureChange, bumped: &mut [Bumped]) {
    let reason = match &list.done {
        Ok(made) if made.diff.new_scripts.is_empty() => return,
        Ok(made) => format!("install scripts are new: {}", made.diff.new_scripts.join(", ")),
        Err(error) => not_made(error),
    };
    let own = bumped.iter_mut().find(|one| one.id == list.id && one.channel == Channel::Stable);
    if let Some(Bumped { result: Ok(ChannelOutcome::Update(update)), .. }) = own {
        update.reasons.push(reason);
    }
}

fn not_made(error: &ClosureError) -> String {
    format!("the list of its packages was not made: {error}")
}

/// Writes the updates of each agent, and then its lists of packages. If that fails, the results become errors.
fn write(registry: &Registry, bumped: &mut [Bumped], lists: &mut [ClosureChange]) {
    for of_agent in bumped.chunk_by_mut(|a, b| a.id == b.id) {
        let mut own: Vec<_> = lists.iter_mut().filter(|list| list.id == of_agent[0].id).collect();
        let edits: Vec<Edit> = of_agent.iter().flat_map(Bumped::edits).collect();
        if let Err(message) = write_one(registry, &of_agent[0].id, &edits, &mut own) {
            let has_list = |one: &Bumped| one.channel == Channel::Stable && one.result.is_ok() && !own.is_empty();
            for one in of_agent.iter_mut().filter(|one| one.edits().next().is_some() || has_list(one)) {
                one.result = Err(ErrorKind::NotWritten.because(message.clone()));
            }
        }
    }
}

/// Writes nothing if a list is missing. The lists come last: the next run makes one anew that is not of the manifest's
/// package, but would not look at the manifest of another version. If one cannot be written, the manifest is put back.
fn write_one(registry: &Registry, id: &str, edits: &[Edit], lists: &mut [&mut ClosureChange]) -> Result<(), String> {
    if let Some(error) = lists.iter().find_map(|list| list.done.as_ref().err()) {
        return Err(not_made(error));
    }
    let manifest = format!("{id}/agent.json");
    if !edits.is_empty() {
        edit::write(registry, &manifest, edits).map_err(|error| error.to_string())?;
    }
    for list in lists {
        list.write(registry);
        if let Err(error) = &list.done {
            let text = registry.text(&manifest).unwrap_or_default();
            let is_back = edits.is_empty() || write_atomic(&registry.root.join(&manifest), text.as_bytes()).is_ok();
            let rest = if is_back { "" } else { "; its agent.json was, and the next run makes the list" };
            return Err(format!("its list of packages was not written: {error}{rest}"));
        }
    }
    Ok(())
}

impl From<BumpRunError> for Failure {
    fn from(error: BumpRunError) -> Self {
        match error {
            BumpRunError::Unwritable(error) => error.unwritable("--state"),
            BumpRunError::State(error) => error.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use acp_registry_plan::manifest::PackageKind;

    use super::*;
    use crate::closures::{ClosureDiff, MadeClosure};

    #[test]
    fn a_manifest_is_put_back_if_its_list_cannot_be_written() {
        let folder = tempfile::tempdir().unwrap();
        let manifest = folder.path().join("a/agent.json");
        // Where the list belongs, there is a folder.
        fs::create_dir_all(folder.path().join("a/package-lock.json")).unwrap();
        fs::write(&manifest, "{\"version\": \"1\"}").unwrap();
        let registry = Registry::load(folder.path()).unwrap();
        let mut list = ClosureChange {
            id: "a".to_owned(),
            kind: PackageKind::Npx,
            package: "p@2".to_owned(),
            file: "a/package-lock.json".to_owned(),
            done: Ok(MadeClosure { text: "{}".to_owned(), diff: ClosureDiff::default() }),
        };
        let edit = Edit { range: 13..14, text: "2".to_owned() };
        let error = write_one(&registry, "a", &[edit], &mut [&mut list]).unwrap_err();
        assert!(error.starts_with("its list of packages was not written: ") && error.ends_with("remove it"), "{error}");
        assert_eq!(fs::read_to_string(manifest).unwrap(), "{\"version\": \"1\"}");
    }
}
