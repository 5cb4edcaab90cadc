//! Puts an earlier snapshot into `latest/`.

use std::time::Duration;

use super::prune::refuse_unpublished;
use super::send::{KeptSnapshot, TreeSource};
use super::send::{Large, Sender};
use super::state::{Snapshot, TargetState};
use super::{Action, Error, LeaseTimes, Notice, UploadTarget, latest, now, snapshot, takeover, tree};

/// How a snapshot is put into `latest/`.
#[derive(Debug, Clone, Copy)]
pub struct RollbackOptions {
    /// How long files of `latest/` are kept after they are no longer referenced.
    pub grace: Duration,
    /// How many files are read and sent at once.
    pub jobs: usize,
    /// How this run waits for other publishers.
    pub turns: LeaseTimes,
}

/// The result of [`rollback()`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RolledBack {
    /// The snapshot that `latest/` is made from now.
    pub snapshot: String,
    /// The snapshot that it was made from before; `None` if that is not known.
    pub previous: Option<String>,
    /// The actions, file by file.
    pub actions: Vec<Action>,
}

/// Puts a snapshot into `latest/`, with the guarantees of [`publish()`](super::publish()): readers never find a
/// reference to a missing file. Every file that is sent has the digest that the snapshot's list has for it, and all of
/// them are read before the first one is sent.
///
/// # Errors
/// [`Error::Unpublished`], [`Error::NoSnapshot`], [`Error::Missing`] and [`Error::Altered`] before anything is changed,
/// and other variants of [`Error`]. After an interruption, run it again.
pub async fn rollback(
    target: &UploadTarget,
    name: &str,
    options: RollbackOptions,
    is_dry_run: bool,
    notice: Notice<'_>,
) -> Result<RolledBack, Error> {
    if snapshot::end_of_day(name).is_none() {
        return Err(Error::NoSnapshot(name.to_owned()));
    }
    refuse_unpublished(target).await?;
    let work = run(target, name, options, is_dry_run, notice);
    if is_dry_run { work.await } else { target.take_turn(options.turns, notice).await?.during(work).await }
}

async fn run(
    target: &UploadTarget,
    name: &str,
    options: RollbackOptions,
    is_dry_run: bool,
    notice: Notice<'_>,
) -> Result<RolledBack, Error> {
    let mut state = TargetState::load(target).await?;
    let previous = state.latest.clone();
    let known = state.snapshots.get(name).map(|known| known.sums.clone());
    let kept = KeptSnapshot::read(target, name, known.as_deref()).await?;
    let source = TreeSource::Snapshot(&kept);
    let files = source.files().keys().chain(state.files.keys());
    target.refuse_links(files.map(String::as_str))?;
    takeover::adopt(&mut state, source, target, notice).await?;
    let signature = kept.signature().await?;
    let sender = Sender { source, signature, target, jobs: options.jobs, is_dry_run, notice, large: Large::default() };
    let plan = latest::plan(&sender, &state);
    sender.rehearse(&plan.planned).await?;
    if known.is_none() {
        let created = snapshot::created(target, name).await?.unwrap_or_else(now);
        let sums = tree::hex_digest(source.sums());
        // It is not known where its contents are.
        let found = Snapshot { sums, created, is_complete: true, is_shared: false };
        state.snapshots.insert(name.to_owned(), found);
    }
    let mut actions = latest::update(&sender, &mut state, name, plan).await?;
    actions.extend(latest::remove_stale(&sender, &mut state, options.grace).await?);
    Ok(RolledBack { snapshot: name.to_owned(), previous, actions })
}
