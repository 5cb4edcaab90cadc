//! Finds, lists and removes snapshots.

use std::collections::HashMap;
use std::time::Duration;

use acp_registry_plan::digest::Sha256;
use acp_registry_plan::sums;
use acp_registry_plan::sums::{SIGNATURE, SUMS, is_name};
use acp_registry_plan::text::printable;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};

use super::send::{LAST, WAVES, wave};
use super::state::{STATE, Snapshot, TargetState};
use super::{
    DAY, Error, LATEST, Notice, UploadEvent, UploadRun, UploadTarget, now, seconds, snapshot, statement, tree,
};

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
pub async fn prune(run: UploadRun<'_>, keep: Duration) -> Result<Pruned, Error> {
    refuse_unpublished(run.target).await?;
    run.in_turn(prune_in_turn(run, keep)).await
}

/// Refuses a target without a published tree, before a lock is created there: its address may be mistyped.
pub(super) async fn refuse_unpublished(target: &UploadTarget) -> Result<(), Error> {
    let is_published = target.modified(STATE).await?.is_some() || target.sums(LATEST).await?.is_some();
    if is_published { Ok(()) } else { Err(Error::Unpublished(target.shown(""))) }
}

async fn prune_in_turn(run: UploadRun<'_>, keep: Duration) -> Result<Pruned, Error> {
    let UploadRun { target, jobs, is_dry_run, notice, .. } = run;
    let mut state = TargetState::read(target).await?;
    let latest = target.sums(LATEST).await?.map(|list| tree::hex_digest(&list));
    // Also of a target whose state is lost.
    let signed = statement::current(target).await?.and_then(|signed| signed.snapshot);
    let (found, mut named) = find(run, &state).await?;
    let newest = newest(&found, target, notice);
    let limit = now().saturating_sub(seconds(keep));
    let mut pruned = Pruned::default();
    for one in found {
        let is_latest = state.latest.as_ref() == Some(&one.name) || (latest.is_some() && one.sums == latest);
        let is_young = one.created >= limit;
        // While `latest/` is replaced, the indexes that are signed are in a snapshot only.
        let is_latest = is_latest || signed.as_ref() == Some(&one.name);
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
            begun.or_insert(Snapshot { sums, created, is_complete: false }).is_complete = false;
            state.save(target).await?;
            remove(run, &one.name, &own).await?;
            state.snapshots.remove(&one.name);
            state.save(target).await?;
        }
        named.forget(&digests);
        pruned.removed.push(one.name);
    }
    if named.is_certain {
        let limit = now().saturating_sub(seconds(keep).min(DAY));
        let stored = snapshot::stored(target, jobs).await?;
        let over = stored.into_iter().filter(|(digest, written)| *written <= limit && !named.has(digest));
        let over: Vec<String> = over.map(|(digest, _)| sums::content_path(&digest)).collect();
        pruned.contents = over.len();
        if !is_dry_run {
            notice(UploadEvent::Planned(over.len()));
            remove_all(run, over.iter()).await?;
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
async fn remove(run: UploadRun<'_>, snapshot: &str, names: &[String]) -> Result<(), Error> {
    (run.notice)(UploadEvent::Planned(names.len()));
    let place = |name: &String| format!("{snapshot}/{name}");
    for at in (0..WAVES).rev() {
        // Without its list of digests, it is no longer a snapshot that could be read back.
        let wave_of = |name: &String| if name == SUMS { LAST } else { wave(name, true) };
        let names: Vec<String> = names.iter().filter(|name| wave_of(name) == at).map(place).collect();
        remove_all(run, names.iter()).await?;
    }
    Ok(())
}

async fn remove_all(run: UploadRun<'_>, names: impl Iterator<Item = &String>) -> Result<(), Error> {
    let one = async |name: &String| {
        run.target.remove(name).await?;
        (run.notice)(UploadEvent::Done);
        Ok::<(), Error>(())
    };
    stream::iter(names.map(one)).buffer_unordered(run.jobs.max(1)).try_collect().await
}

/// How many lists of digests are read at once, to bound memory: each may have 128 MiB.
const LISTS: usize = 3;

pub(super) struct StoredSnapshot {
    pub(super) name: String,
    pub(super) created: i64,
    /// SHA-256 of its list of digests, if that list is valid.
    pub(super) sums: Option<String>,
    owned: Owned,
}

/// Which files belong to a snapshot. Their names are read when the snapshot is removed, because all lists together
/// may not fit into memory.
enum Owned {
    /// The files in its list of digests.
    Listed,
    /// All files in the folder: this program started to write or to remove it, and did not finish.
    All,
    /// Unknown: the list of digests is invalid.
    Unknown,
}

/// The files of a snapshot.
pub(super) struct Files {
    /// Files in its folder that belong to it.
    pub(super) own: Vec<String>,
    /// Other files in its folder.
    pub(super) foreign: Vec<String>,
    /// The digests of the contents that it names.
    pub(super) digests: Vec<String>,
}

/// How many times lists of digests name each content.
#[derive(Debug, Default)]
pub(super) struct ContentUses {
    counts: HashMap<Sha256, u32>,
    /// Whether all lists could be read.
    pub(super) is_certain: bool,
}

impl ContentUses {
    fn note(&mut self, digests: Vec<Sha256>) {
        for digest in digests {
            *self.counts.entry(digest).or_default() += 1;
        }
    }

    /// Removes what a list names, which was counted before.
    pub(super) fn forget(&mut self, digests: &[String]) {
        for digest in digests.iter().filter_map(|digest| digest.parse().ok()) {
            if let Some(count) = self.counts.get_mut(&digest) {
                *count = count.saturating_sub(1);
            }
        }
    }

    pub(super) fn has(&self, digest: &str) -> bool {
        let count = digest.parse().ok().and_then(|digest: Sha256| self.counts.get(&digest));
        count.is_some_and(|count| *count > 0)
    }
}

impl StoredSnapshot {
    /// The files that belong to the snapshot; `None` if that is unknown.
    pub(super) async fn files(&self, target: &UploadTarget) -> Result<Option<Files>, Error> {
        let list = match self.owned {
            Owned::Listed => {
                let list = target.sums(&self.name).await?;
                // The list may have changed since the snapshots were found.
                let Some(list) = list.filter(|list| self.sums == Some(tree::hex_digest(list))) else { return Ok(None) };
                Some(list)
            }
            Owned::All => None,
            Owned::Unknown => return Ok(None),
        };
        let Ok(listed) = list.as_deref().map(sums::parse).transpose() else { return Ok(None) };
        let is_own = |name: &String| match &listed {
            Some(listed) => listed.contains_key(name) || [SUMS, SIGNATURE].contains(&name.as_str()),
            None => is_name(name),
        };
        let (own, foreign) = target.list(&self.name).await?.into_iter().partition(is_own);
        let digests = listed.iter().flat_map(tree::named).map(ToOwned::to_owned).collect();
        Ok(Some(Files { own, foreign, digests }))
    }
}

/// Finds the snapshots of the target, ordered by name, and counts the contents that they name.
async fn find(run: UploadRun<'_>, state: &TargetState) -> Result<(Vec<StoredSnapshot>, ContentUses), Error> {
    let UploadRun { target, jobs, notice, .. } = run;
    let one = async |name: String| {
        let known = state.snapshots.get(&name);
        let list = target.sums(&name).await?;
        let mut digests = Vec::new();
        // A part of a list is a list, too.
        let is_changed =
            |list: &[u8]| known.is_some_and(|known| ![String::new(), tree::hex_digest(list)].contains(&known.sums));
        let parse = |list: &[u8]| {
            if is_changed(list) {
                Err(format!("its {SUMS} was changed after it was published"))
            } else {
                sums::parse(list)
            }
        };
        let owned = match list.as_deref().map(parse) {
            Some(Ok(files)) => {
                digests.extend(tree::named(&files).filter_map(|digest| digest.parse::<Sha256>().ok()));
                Owned::Listed
            }
            Some(Err(why)) => {
                let shown = target.shown(&name);
                notice(UploadEvent::Warning(format!(
                    "{shown} is kept, because it is not known which files belong to it: {why}"
                )));
                Owned::Unknown
            }
            None if known.is_some() => Owned::All,
            // The folder was not written by this program.
            None => return Ok::<_, Error>(None),
        };
        let created = created(target, state, &name).await?.unwrap_or_default();
        let sums = list.filter(|_| matches!(owned, Owned::Listed)).map(|list| tree::hex_digest(&list));
        Ok(Some((StoredSnapshot { name, created, sums, owned }, digests)))
    };
    let folders = names(target, state).await?;
    let mut lists = stream::iter(folders.into_iter().map(one)).buffered(jobs.clamp(1, LISTS));
    let mut named = ContentUses { is_certain: true, ..ContentUses::default() };
    let mut all = Vec::new();
    while let Some(found) = lists.try_next().await? {
        let Some((found, digests)) = found else { continue };
        // A snapshot that is recorded as complete has a list.
        let is_lost = found.sums.is_none() && state.snapshots.get(&found.name).is_some_and(|known| known.is_complete);
        named.is_certain &= !is_lost && !matches!(found.owned, Owned::Unknown);
        named.note(digests);
        all.push(found);
    }
    drop(lists);
    Ok((all, named))
}

/// When a snapshot was made, in seconds since 1970; `None` if there is none.
async fn created(target: &UploadTarget, state: &TargetState, name: &str) -> Result<Option<i64>, Error> {
    match state.snapshots.get(name) {
        Some(known) => Ok(Some(known.created)),
        None => snapshot::created(target, name).await,
    }
}

/// The names of folders that may be snapshots, in order.
async fn names(target: &UploadTarget, state: &TargetState) -> Result<Vec<String>, Error> {
    let mut names = target.folders().await?;
    names.extend(state.snapshots.keys().cloned());
    names.retain(|name| snapshot::end_of_day(name).is_some());
    names.sort_unstable();
    names.dedup();
    Ok(names)
}

/// How many snapshots are looked up at once.
const LOOKUPS: usize = 16;

/// A snapshot at a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotEntry {
    /// The name of its folder.
    pub name: String,
    /// When it was made, in seconds since 1970.
    pub created: i64,
    /// Whether it has a list of digests, which is written last and removed first.
    pub is_complete: bool,
    /// Whether `latest/` is made from it.
    pub is_latest: bool,
    /// SHA-256 of its list of digests, if this program has recorded it.
    pub sums: Option<String>,
}

/// Lists the snapshots of a target, the newest first. Reads no list of digests, and does not wait for publishers.
///
/// # Errors
/// [`Error::Unpublished`] if nothing was ever published to the target, and other variants of [`Error`].
pub async fn list(target: &UploadTarget) -> Result<Vec<SnapshotEntry>, Error> {
    refuse_unpublished(target).await?;
    let state = TargetState::read(target).await?;
    let one = async |name: String| {
        let known = state.snapshots.get(&name);
        let is_complete = target.modified(&format!("{name}/{SUMS}")).await?.is_some();
        // Otherwise, the folder was not written by this program.
        let Some(created) = created(target, &state, &name).await? else { return Ok::<_, Error>(None) };
        let is_latest = state.latest.as_ref() == Some(&name);
        let sums = known.filter(|known| !known.sums.is_empty()).map(|known| known.sums.clone());
        Ok(Some(SnapshotEntry { name, created, is_complete, is_latest, sums }))
    };
    let names = names(target, &state).await?;
    let found: Vec<Option<SnapshotEntry>> =
        stream::iter(names.into_iter().map(one)).buffered(LOOKUPS).try_collect().await?;
    let mut found: Vec<SnapshotEntry> = found.into_iter().flatten().collect();
    found.sort_by(|one, other| (other.created, &other.name).cmp(&(one.created, &one.name)));
    Ok(found)
}
