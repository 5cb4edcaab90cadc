//! A run as a whole: from what is wanted to rows, and to a snapshot.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use super::out::Out;
use super::{
    Earlier, Error, Event, Order, Origin, Row, Selection, Shard, Snapshot, SnapshotError, Task, Verdict, Verifier, plan,
};
use crate::select::Agents;
use acp_registry_core::registry::Registry;
use acp_registry_core::sys::fs::{PathError, ReadError};
use acp_registry_core::sys::process::IsolationError;

/// Tasks, and where their results go.
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
    /// The registry has no agents but those that its configuration withdraws.
    Withdrawn,
    /// No agent has changed since this revision.
    Unchanged(String),
    /// No agent has a distribution of these kinds.
    OtherKinds {
        /// The kinds.
        kinds: Vec<&'static str>,
        /// Whether only agents that have changed were looked at.
        is_of_changed: bool,
    },
    /// The part has no agents.
    EmptyPart(Shard),
    /// No agent was selected.
    NotSelected,
}

/// What a run has found.
#[derive(Debug, Default)]
pub struct Verified {
    /// One for each task, in their order.
    pub rows: Vec<Row>,
    /// Why the snapshot was not written, if it was wanted and was not.
    pub unwritten: Option<PathError>,
    /// Why there is no row, where that is known.
    pub nothing: Option<Nothing>,
}

impl From<Vec<Task>> for Job {
    fn from(tasks: Vec<Task>) -> Self {
        Self { tasks, ..Self::default() }
    }
}

impl Job {
    /// Works out what is to be done, and makes sure that its result can be written.
    ///
    /// # Errors
    /// [`Error`].
    pub fn prepare(registry: &Registry, order: &Order, now: SystemTime) -> Result<Self, Error> {
        order.refuse_other_kinds(registry)?;
        let selection = order.selection(registry, now)?;
        let mut job = Self::default();
        let earlier = match order.reuse.as_deref().map(Snapshot::read).transpose() {
            Ok(earlier) => earlier,
            Err(error @ SnapshotError::Read { error: ReadError::NotFound, .. }) => {
                job.not_reused = Some(error);
                None
            }
            Err(error) => return Err(error.into()),
        };
        let not_before = order.not_before(now);
        job.tasks = plan(registry, &selection, earlier.as_ref().map(|snapshot| Earlier { snapshot, not_before, now }));
        if job.tasks.is_empty() {
            job.nothing = Some(nothing(registry, order, &selection));
        }
        if let Some(folder) = &order.keep {
            fs::create_dir_all(folder).map_err(PathError::at(folder)).map_err(Error::Keep)?;
            job.keep = Some(folder.canonicalize().map_err(PathError::at(folder)).map_err(Error::Keep)?);
        }
        job.out = order.out.as_deref().map(|path| Out::open(path, registry)).transpose()?;
        Ok(job)
    }

    /// What is to be done.
    #[must_use]
    pub fn tasks(&self) -> &[Task] {
        &self.tasks
    }

    /// That the snapshot whose rows were to be reused is not there.
    #[must_use]
    pub fn not_reused(&self) -> Option<&SnapshotError> {
        self.not_reused.as_ref()
    }

    /// Does all tasks, `jobs` at once. `finished` is handed each row as soon as it is known and, where that is wanted, written.
    /// When the future is dropped, all processes are killed and all files removed before the runtime is gone, which must have
    /// several threads.
    ///
    /// # Errors
    /// [`IsolationError`] where agents cannot be kept apart as wanted; none is then started.
    pub async fn run(
        self,
        mut verifier: Verifier,
        jobs: usize,
        progress: Arc<dyn Fn(Event) + Send + Sync>,
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
        // The rows are known even where the file cannot be written.
        let unwritten = out.and_then(|out| out.write().err());
        Ok(Verified { rows, unwritten, nothing })
    }
}

impl Verifier {
    /// Makes sure that agents can be kept apart.
    ///
    /// # Errors
    /// [`IsolationError`] where they cannot.
    pub async fn get_ready(&self) -> Result<(), IsolationError> {
        self.isolation.check(&self.environment).await
    }
}

/// Whether agents failed for nothing else than that the package managers are missing.
#[must_use]
pub fn lacks_package_managers(rows: &[Row]) -> bool {
    let is_lacking = |row: &Row| row.reason() == Some("missing_runtime");
    rows.iter().any(Row::is_finding) && rows.iter().all(|row| is_lacking(row) || row.verdict() == Verdict::Skipped)
}

/// The sources that could not be reached, so that nothing is known of their agents.
#[must_use]
pub fn sources_down(rows: &[Row]) -> BTreeSet<&Origin> {
    rows.iter().filter_map(|row| row.source_down.as_ref()).collect()
}

/// Why there is no task.
fn nothing(registry: &Registry, order: &Order, selection: &Selection) -> Nothing {
    let changed_since = match &order.agents {
        Agents::ChangedSince(revision) => Some(revision),
        Agents::All | Agents::Named(_) => None,
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
        _ => selection.shard.map_or(Nothing::NotSelected, Nothing::EmptyPart),
    }
}
