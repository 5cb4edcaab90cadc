//! The request of a verification, and the agents that it selects.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::snapshot::SNAPSHOT_FILE;
use super::{Error, NewClosures, Selection, Shard, Snapshot, WhenHeld};
use crate::select::AgentFilter;
use acp_registry_client::install::Kind;
use acp_registry_client::registry::{AgentFolder, Registry};
use acp_registry_examine::examination::Demand;
use acp_registry_plan::manifest::Platform;
use acp_registry_plan::timestamp::today;

/// Default maximum age of rows to reuse, since agents and their services change.
pub const REUSE_MAX_AGE: Duration = Duration::from_hours(7 * 24);

/// The request of a verification.
#[derive(Debug, Clone, Default)]
pub struct VerifyRequest {
    /// The agents.
    pub agents: AgentFilter,
    /// The kinds of distributions; if empty, all.
    pub kinds: Vec<Kind>,
    /// The shard to check; `None` for all tasks.
    pub shard: Option<Shard>,
    /// The snapshot file from which rows of unchanged agents are reused.
    pub reuse: Option<PathBuf>,
    /// Maximum age of reused rows; `None` for 7 days.
    pub reuse_max_age: Option<Duration>,
    /// How far agents are examined.
    pub demand: Demand,
    /// The snapshot file to write.
    pub out: Option<PathBuf>,
    /// The directory to keep installed agents and their files in.
    pub keep: Option<PathBuf>,
    /// New closures, which the registry does not have yet.
    pub closures: NewClosures,
}

impl VerifyRequest {
    /// The tasks to run on this machine, at this time.
    ///
    /// # Errors
    /// Returns [`Error::Select`] if the agents cannot be selected.
    pub fn selection(&self, registry: &Registry, now: SystemTime) -> Result<Selection, Error> {
        let held = match &self.agents {
            AgentFilter::Named(_) => WhenHeld::Check,
            AgentFilter::All | AgentFilter::ChangedSince(_) => WhenHeld::CheckWhenOver(today(now)),
        };
        let ids = self.agents.select(registry)?.ids(registry);
        let (kinds, closures) = (self.kinds.clone(), self.closures.clone());
        Ok(Selection { ids, held, kinds, shard: self.shard, platform: Platform::host(), closures })
    }

    /// The snapshot by whose durations shards are divided. None if it is the file that this run writes: machines that run
    /// one after the other would read different durations.
    pub(super) fn measured(&self, registry: &Registry) -> Result<Option<Snapshot>, Error> {
        let real = |path: &Path| path.canonicalize().ok();
        let is_out = self.out.as_deref().is_some_and(|out| real(out) == real(&registry.root.join(SNAPSHOT_FILE)));
        if self.shard.is_none() || is_out { Ok(None) } else { Ok(Snapshot::read_from(registry)?) }
    }

    /// The oldest `checked_at` of rows to reuse.
    pub(super) fn not_before(&self, now: SystemTime) -> SystemTime {
        now.checked_sub(self.reuse_max_age.unwrap_or(REUSE_MAX_AGE)).unwrap_or(SystemTime::UNIX_EPOCH)
    }

    /// Returns an error if a named agent, or all agents, lack the requested kinds of distributions: nothing would be
    /// checked.
    pub(super) fn refuse_other_kinds(&self, registry: &Registry) -> Result<(), Error> {
        let wanted: Vec<&str> = self.kinds.iter().map(|kind| kind.as_str()).collect();
        if wanted.is_empty() {
            return Ok(());
        }
        // Manifests that cannot be read are reported by the task itself.
        let lacks =
            |entry: &&AgentFolder| offered(entry).is_some_and(|kinds| wanted.iter().all(|kind| !kinds.contains(kind)));
        let kinds = wanted.join(" or ");
        match &self.agents {
            AgentFilter::Named(ids) => {
                let Some(entry) = ids.iter().filter_map(|id| registry.entry(id)).find(lacks) else { return Ok(()) };
                let offered = offered(entry).unwrap_or_default().into_iter().collect::<Vec<_>>().join(", ");
                Err(Error::OtherKind { id: entry.id.clone(), kinds, offered })
            }
            AgentFilter::All if registry.entries.iter().all(|entry| lacks(&entry)) => Err(Error::NoKind(kinds)),
            AgentFilter::All | AgentFilter::ChangedSince(_) => Ok(()),
        }
    }
}

/// The kinds of distributions that an agent has; `None` if its manifest cannot be read.
fn offered(entry: &AgentFolder) -> Option<BTreeSet<&'static str>> {
    let manifest = entry.manifest.present()?;
    let declares = |kind: Kind| {
        let mut releases = manifest.agent().releases();
        releases.any(|release| !matches!(kind.source(release.distribution, None), Ok(None)))
    };
    Some(Kind::ALL.into_iter().filter(|kind| declares(*kind)).map(Kind::as_str).collect())
}
