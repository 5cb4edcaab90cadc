//! A whole verification: from a [`VerifyRequest`] to rows and a snapshot.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use super::out::Out;
use super::{
    DistributionOrigin, Earlier, Error, Row, Selection, Shard, Snapshot, SnapshotError, Task, TaskVerdict, Verifier,
    VerifyEvent, VerifyRequest, plan, refuse_malicious,
};
use crate::advisories::Advisories;
use crate::select::AgentFilter;
use acp_registry_client::registry::Registry;
use acp_registry_host::fs::{PathError, ReadError};
use acp_registry_host::process::IsolationError;

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
        self.isolation.check(&self.environment).await?;
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
