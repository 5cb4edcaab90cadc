//! What is wanted of a run, and which agents that means.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use super::{Error, Selection, Shard, WhenHeld};
use crate::select::Agents;
use acp_registry_client::install::Kind;
use acp_registry_core::manifest::Platform;
use acp_registry_core::registry::{Entry, Registry, today};

/// How old a row may be to be reused when nothing else is said: agents and their services change.
const MAX_AGE: Duration = Duration::from_hours(7 * 24);

/// What is wanted of a run.
#[derive(Debug, Clone, Default)]
pub struct Order {
    /// Which agents.
    pub agents: Agents,
    /// Kinds of distributions; empty for all.
    pub kinds: Vec<Kind>,
    /// Which part of the whole.
    pub shard: Option<Shard>,
    /// The snapshot from which rows of unchanged agents are taken.
    pub reuse: Option<PathBuf>,
    /// How old such a row may be; `None` for 7 days.
    pub reuse_max_age: Option<Duration>,
    /// The snapshot that is written.
    pub out: Option<PathBuf>,
    /// The directory in which stays what was installed and written.
    pub keep: Option<PathBuf>,
}

impl Order {
    /// Which tasks of a registry are meant, on this machine and at this time.
    ///
    /// # Errors
    /// [`Error::Select`].
    pub fn selection(&self, registry: &Registry, now: SystemTime) -> Result<Selection, Error> {
        let held = match &self.agents {
            Agents::Named(_) => WhenHeld::Check,
            Agents::All | Agents::ChangedSince(_) => WhenHeld::CheckWhenOver(today(now)),
        };
        let ids = self.agents.select(registry)?.ids(registry);
        Ok(Selection { ids, held, kinds: self.kinds.clone(), shard: self.shard, platform: Platform::host() })
    }

    /// The oldest time of a row that is reused.
    pub(super) fn not_before(&self, now: SystemTime) -> SystemTime {
        now.checked_sub(self.reuse_max_age.unwrap_or(MAX_AGE)).unwrap_or(SystemTime::UNIX_EPOCH)
    }

    /// Refuses kinds of distributions that a named agent does not have, or no agent: nothing would be checked.
    pub(super) fn refuse_other_kinds(&self, registry: &Registry) -> Result<(), Error> {
        let wanted: Vec<&str> = self.kinds.iter().map(|kind| kind.as_str()).collect();
        if wanted.is_empty() {
            return Ok(());
        }
        // Of a manifest that cannot be read, the check itself tells.
        let lacks =
            |entry: &&Entry| offered(entry).is_some_and(|kinds| wanted.iter().all(|kind| !kinds.contains(kind)));
        let kinds = wanted.join(" or ");
        match &self.agents {
            Agents::Named(ids) => {
                let Some(entry) = ids.iter().filter_map(|id| registry.entry(id)).find(lacks) else { return Ok(()) };
                let offered = offered(entry).unwrap_or_default().into_iter().collect::<Vec<_>>().join(", ");
                Err(Error::OtherKind { id: entry.id.clone(), kinds, offered })
            }
            Agents::All if registry.entries.iter().all(|entry| lacks(&entry)) => Err(Error::NoKind(kinds)),
            Agents::All | Agents::ChangedSince(_) => Ok(()),
        }
    }
}

/// The kinds of distributions that an agent declares; `None` where its manifest cannot be read.
fn offered(entry: &Entry) -> Option<BTreeSet<&'static str>> {
    let manifest = entry.manifest.present()?;
    let declares = |kind: Kind| {
        let mut releases = manifest.agent().releases();
        releases.any(|release| !matches!(kind.source(release.distribution, None), Ok(None)))
    };
    Some(Kind::ALL.into_iter().filter(|kind| declares(*kind)).map(Kind::as_str).collect())
}
