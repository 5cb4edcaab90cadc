//! Turns the agents of a registry into tasks.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::time::SystemTime;

use super::basis::basis;
use super::divide::divide;
use super::{QuarantinedAgent, Snapshot, Task, TaskKind, WhenHeld};
use acp_registry_client::install::{InstallFailure, Kind};
use acp_registry_client::registry::{AgentFolder, Loaded, Registry};
use acp_registry_examine::examination::Demand;
use acp_registry_plan::manifest::{Channel, Platform, Release};
use acp_registry_plan::text::quote;

/// Selects tasks.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Ids of agents; `None` for all.
    pub ids: Option<BTreeSet<String>>,
    /// What to do with agents in quarantine.
    pub held: WhenHeld,
    /// Kinds of distributions; if empty, all.
    pub kinds: Vec<Kind>,
    /// The shard; `None` for all tasks.
    pub shard: Option<Shard>,
    /// The platform of this machine.
    pub platform: Option<Platform>,
}

impl Selection {
    /// The selection of a run that began on the day before; `None` if it was the same.
    pub(super) fn for_previous_day(&self) -> Option<Self> {
        let WhenHeld::CheckWhenOver(today) = self.held else { return None };
        Some(Self { held: WhenHeld::CheckWhenOver(today.previous_day()?), ..self.clone() })
    }
}

/// One of `count` parts of all tasks, which take about the same time: `index` of `count`, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    index: usize,
    count: usize,
}

/// A text that is not of the form `I/N`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be I/N, with I from 1 to N")]
pub struct ShardError;

impl Shard {
    /// The number of parts.
    #[must_use]
    pub fn count(self) -> usize {
        self.count
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

impl FromStr for Shard {
    type Err = ShardError;

    fn from_str(text: &str) -> Result<Self, ShardError> {
        let (index, count) = text.split_once('/').ok_or(ShardError)?;
        let number = |text: &str| text.parse::<usize>().map_err(|_| ShardError);
        let (index, count) = (number(index)?, number(count)?);
        if index == 0 || index > count { Err(ShardError) } else { Ok(Self { index, count }) }
    }
}

/// An earlier snapshot, and which of its rows may be reused.
#[derive(Debug, Clone, Copy)]
pub struct Earlier<'a> {
    /// The snapshot.
    pub snapshot: &'a Snapshot,
    /// Rows checked before this time are not reused.
    pub not_before: SystemTime,
    /// The current time; rows from the future are not reused.
    pub now: SystemTime,
    /// How far agents are examined; rows that went less far are not reused.
    pub demand: &'a Demand,
}

/// Lists the tasks, sorted by id, channel and kind. Shards are divided by the durations in `measured`, and without them by
/// number: all machines must be given the same ones. An agent that passed earlier is not checked again if the
/// distribution and the checks are unchanged and the row is recent.
#[must_use]
pub fn plan(
    registry: &Registry,
    selection: &Selection,
    measured: Option<&Snapshot>,
    earlier: Option<Earlier<'_>>,
) -> Vec<Task> {
    let is_selected = |entry: &&AgentFolder| selection.ids.as_ref().is_none_or(|ids| ids.contains(&entry.id));
    let entries = registry.entries.iter().filter(is_selected);
    let mut tasks: Vec<Task> = entries.flat_map(|entry| entry_tasks(registry, entry, selection)).collect();
    if let Some(shard) = selection.shard {
        let mut shard_of = divide(&tasks, shard.count, measured).into_iter();
        tasks.retain(|_| shard_of.next() == Some(shard.index - 1));
    }
    tasks
        .into_iter()
        .map(|mut task| {
            // Agents in quarantine are always checked, to find out whether they work again.
            if let (TaskKind::Check(_), None, Some(earlier)) = (&task.work, &task.held, earlier)
                && let Some(row) = earlier.snapshot.passed(&task, earlier.demand, earlier.not_before, earlier.now)
            {
                task.work = TaskKind::Reuse(row.clone());
            }
            task
        })
        .collect()
}

fn entry_tasks(registry: &Registry, entry: &AgentFolder, selection: &Selection) -> Vec<Task> {
    let Loaded::Present(manifest) = &entry.manifest else {
        let work = TaskKind::Broken("agent.json cannot be read; `acp-registry validate` says why".to_owned());
        let (id, version) = (entry.id.clone(), String::new());
        return vec![Task { id, version, channel: Channel::Stable, kind: None, held: None, work, basis: None }];
    };
    let quarantine = registry.quarantine.present().and_then(|quarantine| quarantine.holds.get(&entry.id));
    let held = quarantine.map(|hold| QuarantinedAgent::new(&entry.id, hold, selection.held));
    let mut tasks = Vec::new();
    for release in manifest.agent().releases() {
        let task = |kind: Option<Kind>, work: TaskKind| Task {
            id: entry.id.clone(),
            version: release.version.to_owned(),
            channel: release.channel,
            kind,
            held: held.clone(),
            basis: if let TaskKind::Check(source) = &work { Some(basis(source)) } else { None },
            work,
        };
        if let Some(held) = held.as_ref().filter(|held| !held.is_checked()) {
            let until = held.hold.until.map_or_else(String::new, |until| format!(" until {until}"));
            let message = format!("in quarantine{until}: {}", quote(&held.hold.reason));
            tasks.push(task(None, TaskKind::Skip { reason: "quarantined", message }));
            continue;
        }
        let declared = release_tasks(release, selection);
        if declared.is_empty() && selection.kinds.is_empty() {
            let message = "the manifest declares no known distribution";
            tasks.push(task(None, TaskKind::Broken(message.to_owned())));
        }
        tasks.extend(declared.into_iter().map(|(kind, work)| task(Some(kind), work)));
    }
    tasks
}

fn release_tasks(release: Release<'_>, selection: &Selection) -> Vec<(Kind, TaskKind)> {
    let is_wanted = |kind: &Kind| selection.kinds.is_empty() || selection.kinds.contains(kind);
    let work = |kind: Kind| match kind.source(release.distribution, selection.platform) {
        Ok(source) => source.map(TaskKind::Check),
        Err(error) => {
            Some(TaskKind::Skip { reason: InstallFailure::UnsupportedPlatform.as_str(), message: error.to_string() })
        }
    };
    Kind::ALL.into_iter().filter(is_wanted).filter_map(|kind| Some((kind, work(kind)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_counted_from_one() {
        assert_eq!("1/1".parse(), Ok(Shard { index: 1, count: 1 }));
        assert_eq!("3/4".parse(), Ok(Shard { index: 3, count: 4 }));
        for wrong in ["", "1", "0/2", "3/2", "1/0", "a/b", "-1/2", "1/2/3"] {
            assert_eq!(wrong.parse::<Shard>(), Err(ShardError), "{wrong}");
        }
    }
}
