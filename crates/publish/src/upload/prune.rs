//! Removes old snapshots.

use std::time::Duration;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};

use super::find::{Files, StoredSnapshot, find};
use super::order::{LAST, WAVES, wave};
use super::snapshot::DAY;
use super::state::{STATE, Snapshot, TargetState};
use super::{Error, LATEST, LeaseTimes, Notice, UploadEvent, UploadTarget, content, now, seconds, stored, tree};
use acp_registry_plan::sums::SUMS;
use acp_registry_plan::text::printable;

/// The result of [`prune()`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Names of the snapshots that were removed, or would be in a dry run.
    pub removed: Vec<String>,
    /// Names of the snapshots that were kept.
    pub kept: Vec<String>,
    /// How many contents were removed, or would be in a dry run: no remaining snapshot names them.
    pub contents: usize,
}

/// Removes snapshots older than `keep`, except the newest one and those that hold the same tree as `latest/`. Then
/// removes contents that no remaining snapshot names.
///
/// A folder counts as a snapshot if it has the name of one, and either a list of digests or an entry in the state.
/// Only files that belong to the snapshot are removed; other files in its folder stay. If it is not known what a
/// remaining snapshot names, all contents stay. In a bucket, so do those that were written less than a day ago (or `keep`,
/// if that is shorter): a publisher that has just lost its lease may be about to name them.
///
/// # Errors
/// [`Error::Unpublished`] if nothing was ever published to the target, and other variants of [`Error`]. A snapshot
/// that was removed partly is recorded as incomplete, and the next run removes the rest.
pub async fn prune(
    target: &UploadTarget,
    keep: Duration,
    jobs: usize,
    turns: LeaseTimes,
    is_dry_run: bool,
    notice: Notice<'_>,
) -> Result<Pruned, Error> {
    refuse_unpublished(target).await?;
    let work = run(target, keep, jobs, is_dry_run, notice);
    if is_dry_run { work.await } else { target.take_turn(turns, notice).await?.during(work).await }
}

/// Refuses a target without a published tree, before a lock is created there: its address may be mistyped.
pub(super) async fn refuse_unpublished(target: &UploadTarget) -> Result<(), Error> {
    let is_published = target.modified(STATE).await?.is_some() || target.sums(LATEST).await?.is_some();
    if is_published { Ok(()) } else { Err(Error::Unpublished(target.shown(""))) }
}

async fn run(
    target: &UploadTarget,
    keep: Duration,
    jobs: usize,
    is_dry_run: bool,
    notice: Notice<'_>,
) -> Result<Pruned, Error> {
    let mut state = TargetState::read(target).await?;
    let latest = target.sums(LATEST).await?.map(|list| tree::hex_digest(&list));
    let (found, mut named) = find(target, &state, jobs, notice).await?;
    let newest = newest(&found, target, notice);
    let limit = now().saturating_sub(seconds(keep));
    let mut pruned = Pruned::default();
    for one in found {
        let is_latest = state.latest.as_ref() == Some(&one.name) || (latest.is_some() && one.sums == latest);
        let is_young = one.created >= limit;
        if is_latest || is_young || newest.as_ref() == Some(&one.name) {
            pruned.kept.push(one.name);
            continue;
        }
        let Some(Files { own, foreign, digests }) = one.files(target).await? else {
            pruned.kept.push(one.name);
            continue;
        };
        if let Some(name) = foreign.into_iter().min() {
            let place = target.shown(&format!("{}/{name}", one.name));
            notice(UploadEvent::Warning(format!("{} is not part of the snapshot, and is kept", printable(&place))));
        }
        if !is_dry_run {
            // Once its list of digests is removed, only this entry tells that the folder is a snapshot.
            let (sums, created) = (one.sums.unwrap_or_default(), one.created);
            let begun = state.snapshots.entry(one.name.clone());
            begun.or_insert(Snapshot { sums, created, is_complete: false, is_shared: false }).is_complete = false;
            state.save(target).await?;
            remove(target, &one.name, &own, jobs, notice).await?;
            state.snapshots.remove(&one.name);
            state.save(target).await?;
        }
        named.forget(&digests);
        pruned.removed.push(one.name);
    }
    if named.is_certain {
        let limit = now().saturating_sub(seconds(keep).min(DAY));
        let stored = stored::list(target, jobs).await?;
        let over = stored.into_iter().filter(|(digest, written)| *written <= limit && !named.has(digest));
        let over: Vec<String> = over.map(|(digest, _)| content::path(&digest)).collect();
        pruned.contents = over.len();
        if !is_dry_run {
            notice(UploadEvent::Planned(over.len()));
            remove_all(target, over.iter(), jobs, notice).await?;
        }
    }
    Ok(pruned)
}

/// The newest complete snapshot. Snapshots dated in the future, by a wrong clock, count only if there are no others:
/// they would otherwise stay the newest.
fn newest(found: &[StoredSnapshot], target: &UploadTarget, notice: Notice<'_>) -> Option<String> {
    let limit = now().saturating_add(DAY);
    let whole = found.iter().filter(|one| one.sums.is_some());
    let (future, past): (Vec<&StoredSnapshot>, Vec<&StoredSnapshot>) = whole.partition(|one| one.created > limit);
    for one in &future {
        let place = target.shown(&one.name);
        notice(UploadEvent::Warning(format!(
            "{place} is dated in the future: it is kept, but does not count as the newest"
        )));
    }
    let all = if past.is_empty() { future } else { past };
    all.into_iter().max_by_key(|one| (one.created, &one.name)).map(|one| one.name.clone())
}

/// Removes the files of a snapshot in reverse order of sending, so that readers never find a reference to a missing
/// file.
async fn remove(
    target: &UploadTarget,
    snapshot: &str,
    names: &[String],
    jobs: usize,
    notice: Notice<'_>,
) -> Result<(), Error> {
    notice(UploadEvent::Planned(names.len()));
    let place = |name: &String| format!("{snapshot}/{name}");
    for at in (0..WAVES).rev() {
        // Without its list of digests, it is no longer a snapshot that could be read back.
        let wave_of = |name: &String| if name == SUMS { LAST } else { wave(name, true) };
        let names: Vec<String> = names.iter().filter(|name| wave_of(name) == at).map(place).collect();
        remove_all(target, names.iter(), jobs, notice).await?;
    }
    Ok(())
}

async fn remove_all(
    target: &UploadTarget,
    names: impl Iterator<Item = &String>,
    jobs: usize,
    notice: Notice<'_>,
) -> Result<(), Error> {
    let one = async |name: &String| {
        target.remove(name).await?;
        notice(UploadEvent::Done);
        Ok::<(), Error>(())
    };
    stream::iter(names.map(one)).buffer_unordered(jobs.max(1)).try_collect().await
}
