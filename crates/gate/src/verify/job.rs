//! A whole verification: from a [`VerifyRequest`], which selects agents, to rows and a snapshot.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::journal::Out;
use super::snapshot::SNAPSHOT_FILE;
use super::{
    DistributionOrigin, Earlier, Error, NewClosures, Row, Selection, Shard, Snapshot, SnapshotError, Task, TaskVerdict,
    Verifier, VerifyEvent, WhenHeld, plan, refuse_malicious,
};
use crate::advisories::Advisories;
use crate::select::AgentFilter;
use acp_registry_client::install::Kind;
use acp_registry_client::registry::{AgentFolder, Registry};
use acp_registry_examine::examination::Demand;
use acp_registry_host::fs::{PathError, ReadError};
use acp_registry_host::process::IsolationError;
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
    fn measured(&self, registry: &Registry) -> Result<Option<Snapshot>, Error> {
        let real = |path: &Path| path.canonicalize().ok();
        let is_out = self.out.as_deref().is_some_and(|out| real(out) == real(&registry.root.join(SNAPSHOT_FILE)));
        if self.shard.is_none() || is_out { Ok(None) } else { Ok(Snapshot::read_from(registry)?) }
    }

    /// The oldest `checked_at` of rows to reuse.
    fn not_before(&self, now: SystemTime) -> SystemTime {
        now.checked_sub(self.reuse_max_age.unwrap_or(REUSE_MAX_AGE)).unwrap_or(SystemTime::UNIX_EPOCH)
    }

    /// Returns an error if a named agent, or all agents, lack the requested kinds of distributions: nothing would be
    /// checked.
    fn refuse_other_kinds(&self, registry: &Registry) -> Result<(), Error> {
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

/// Tasks with the files for their results.
#[derive(Debug, Default)]
pub struct Job {
    tasks: Vec<Task>,
    keep: Option<PathBuf>,
    out: Option<Out>,
    not_reused: Option<SnapshotError>,
    nothing: Option<Nothing>,
}

/// Why there is nothing to check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Nothing {
    /// The registry has no agents.
    NoAgents,
    /// All agents of the registry are withdrawn.
    Withdrawn,
    /// No agent has changed since this revision.
    Unchanged(String),
    /// No agent has a distribution of these kinds.
    OtherKinds {
        /// The requested kinds.
        kinds: Vec<&'static str>,
        /// Whether only changed agents were considered.
        is_of_changed: bool,
    },
    /// The shard contains no tasks.
    EmptyShard(Shard),
    /// No agent was selected.
    NotSelected,
}

/// The result of a verification.
#[derive(Debug, Default)]
pub struct Verified {
    /// One row per task, in their order.
    pub rows: Vec<Row>,
    /// Why the snapshot could not be written.
    pub unwritten: Option<PathError>,
    /// Why there are no rows, if known.
    pub nothing: Option<Nothing>,
}

impl From<Vec<Task>> for Job {
    fn from(tasks: Vec<Task>) -> Self {
        Self { tasks, ..Self::default() }
    }
}

impl Job {
    /// Plans the tasks, and checks that the results can be written.
    ///
    /// # Errors
    /// Returns [`Error`].
    pub fn prepare(registry: &Registry, request: &VerifyRequest, now: SystemTime) -> Result<Self, Error> {
        request.refuse_other_kinds(registry)?;
        let selection = request.selection(registry, now)?;
        let mut job = Self::default();
        let earlier = match request.reuse.as_deref().map(Snapshot::read_with_journal).transpose() {
            Ok(earlier) => earlier,
            Err(error @ SnapshotError::Read { error: ReadError::NotFound, .. }) => {
                job.not_reused = Some(error);
                None
            }
            Err(error) => return Err(error.into()),
        };
        let not_before = request.not_before(now);
        let demand = &request.demand;
        let earlier = earlier.as_ref().map(|snapshot| Earlier { snapshot, not_before, now, demand });
        let measured = request.measured(registry)?;
        job.tasks = plan(registry, &selection, measured.as_ref(), earlier);
        if job.tasks.is_empty() {
            job.nothing = Some(nothing(registry, request, &selection));
        }
        if let Some(folder) = &request.keep {
            fs::create_dir_all(folder).map_err(PathError::at(folder)).map_err(Error::Keep)?;
            job.keep = Some(folder.canonicalize().map_err(PathError::at(folder)).map_err(Error::Keep)?);
        }
        job.out = request.out.as_deref().map(|path| Out::open(path, registry)).transpose()?;
        Ok(job)
    }

    /// Makes those tasks fail whose packages an advisory calls malicious.
    pub fn refuse_malicious(&mut self, registry: &Registry, advisories: &Advisories) {
        refuse_malicious(&mut self.tasks, registry, advisories);
    }

    /// The planned tasks.
    pub fn tasks(&self) -> &[Task] {
        &self.tasks
    }

    /// Why the snapshot to reuse could not be read: the file does not exist.
    pub fn not_reused(&self) -> Option<&SnapshotError> {
        self.not_reused.as_ref()
    }

    /// Runs all tasks, at most `jobs` at once. `finished` is called with each row as soon as it is known and, if a
    /// snapshot is written, saved.
    ///
    /// If the future is dropped, all processes are killed and all files are removed before the runtime shuts down.
    /// Requires a multi-threaded runtime.
    ///
    /// # Errors
    /// Returns [`IsolationError`] if the requested isolation is not available. No agent is started then.
    pub async fn run(
        self,
        mut verifier: Verifier,
        jobs: usize,
        progress: Arc<dyn Fn(VerifyEvent) + Send + Sync>,
        finished: &dyn Fn(&Row),
    ) -> Result<Verified, IsolationError> {
        let Self { tasks, keep, out, nothing, .. } = self;
        verifier.keep = keep;
        verifier.get_ready().await?;
        let finished = |row: &Row| {
            if let Some(out) = &out {
                out.take(row);
            }
            finished(row);
        };
        let rows = Arc::new(verifier).verify(tasks, jobs, progress, &finished).await;
        // The rows are returned even if the file cannot be written.
        let unwritten = out.and_then(|out| out.write().err());
        Ok(Verified { rows, unwritten, nothing })
    }
}

impl Verifier {
    /// Checks that the requested isolation is available.
    ///
    /// # Errors
    /// Returns [`IsolationError`] if it is not.
    pub(crate) async fn get_ready(&self) -> Result<(), IsolationError> {
        self.isolation.check(&self.installer.environment).await?;
        // The namespace is dropped: each agent gets one of its own.
        self.namespace().await?;
        Ok(())
    }
}

/// Whether missing package managers are the only reason why agents failed.
pub fn lacks_package_managers(rows: &[Row]) -> bool {
    let is_lacking = |row: &Row| row.reason() == Some("missing_runtime");
    rows.iter().any(Row::is_finding) && rows.iter().all(|row| is_lacking(row) || row.verdict() == TaskVerdict::Skipped)
}

/// The sources that could not be reached. The verdicts of their agents are unknown.
pub fn sources_down(rows: &[Row]) -> BTreeSet<&DistributionOrigin> {
    rows.iter().filter_map(|row| row.source_down.as_ref()).collect()
}

/// Why there are no tasks.
fn nothing(registry: &Registry, request: &VerifyRequest, selection: &Selection) -> Nothing {
    let changed_since = match &request.agents {
        AgentFilter::ChangedSince(revision) => Some(revision),
        AgentFilter::All | AgentFilter::Named(_) => None,
    };
    if registry.entries.is_empty() {
        return Nothing::NoAgents;
    }
    match changed_since {
        Some(revision) if selection.ids.as_ref().is_some_and(BTreeSet::is_empty) => {
            Nothing::Unchanged(revision.clone())
        }
        _ if !selection.kinds.is_empty() => Nothing::OtherKinds {
            kinds: selection.kinds.iter().map(|kind| kind.as_str()).collect(),
            is_of_changed: changed_since.is_some(),
        },
        _ => selection.shard.map_or(Nothing::NotSelected, Nothing::EmptyShard),
    }
}
