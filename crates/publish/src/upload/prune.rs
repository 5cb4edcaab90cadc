//! Removes old snapshots.

use std::time::Duration;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};

use super::order::{WAVES, wave};
use super::state::{STATE, Snapshot, State};
use super::{Error, Event, LATEST, Notice, Target, Turns, now, seconds, snapshot, tree};
use acp_registry_core::sums::{self, SIGNATURE, SUMS, is_name};
use acp_registry_core::text::printable;

/// One day in seconds.
const DAY: i64 = 86_400;

/// The result of [`prune()`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Names of the snapshots that were removed, or would be in a dry run.
    pub removed: Vec<String>,
    /// Names of the snapshots that were kept.
    pub kept: Vec<String>,
}

/// How many lists of digests are read at once, to bound memory: each may have 64 MiB.
const LISTS: usize = 3;

struct Found {
    name: String,
    created: i64,
    /// SHA-256 of its list of digests, if that list is valid.
    sums: Option<String>,
    files: Files,
}

/// Which files belong to a snapshot. Their names are read when the snapshot is removed, because all lists together
/// may not fit into memory.
enum Files {
    /// The files in its list of digests.
    Listed,
    /// All files in the folder: this program started to write or to remove it, and did not finish.
    All,
    /// Unknown: the list of digests is invalid.
    Unknown,
}

impl Found {
    /// The files that belong to the snapshot, and the other files in its folder; `None` if that is unknown.
    async fn files(&self, target: &Target) -> Result<Option<(Vec<String>, Vec<String>)>, Error> {
        let list = match self.files {
            Files::Listed => {
                let list = target.sums(&self.name).await?;
                // The list may have changed since the snapshots were found.
                let Some(list) = list.filter(|list| self.sums == Some(tree::digest_of(list))) else { return Ok(None) };
                Some(list)
            }
            Files::All => None,
            Files::Unknown => return Ok(None),
        };
        let Ok(listed) = list.as_deref().map(sums::listed).transpose() else { return Ok(None) };
        let is_own = |name: &String| match &listed {
            Some(listed) => listed.contains(name.as_str()) || [SUMS, SIGNATURE].contains(&name.as_str()),
            None => is_name(name),
        };
        Ok(Some(target.list(&self.name).await?.into_iter().partition(is_own)))
    }
}

/// Removes snapshots older than `keep`, except the newest one and those that hold the same tree as `latest/`.
///
/// A folder counts as a snapshot if it has the name of one, and either a list of digests or an entry in the state.
/// Only files that belong to the snapshot are removed; other files in its folder stay.
///
/// # Errors
/// [`Error::Unpublished`] if nothing was ever published to the target, and other variants of [`Error`]. A snapshot
/// that was removed partly is recorded as incomplete, and the next run removes the rest.
pub async fn prune(
    target: &Target,
    keep: Duration,
    jobs: usize,
    turns: Turns,
    is_dry_run: bool,
    notice: Notice<'_>,
) -> Result<Pruned, Error> {
    // Checked before the lock is created, because the address may be mistyped.
    let is_published = target.modified(STATE).await?.is_some() || target.sums(LATEST).await?.is_some();
    if !is_published {
        return Err(Error::Unpublished(target.shown("")));
    }
    let work = run(target, keep, jobs, is_dry_run, notice);
    if is_dry_run { work.await } else { target.take_turn(turns, notice).await?.during(work).await }
}

async fn run(
    target: &Target,
    keep: Duration,
    jobs: usize,
    is_dry_run: bool,
    notice: Notice<'_>,
) -> Result<Pruned, Error> {
    let mut state = State::load(target).await?;
    let latest = target.sums(LATEST).await?.map(|list| tree::digest_of(&list));
    let found = find(target, &state, jobs, notice).await?;
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
        let Some((own, foreign)) = one.files(target).await? else {
            pruned.kept.push(one.name);
            continue;
        };
        if let Some(name) = foreign.into_iter().min() {
            let place = target.shown(&format!("{}/{name}", one.name));
            notice(Event::Warning(format!("{} is not part of the snapshot, and is kept", printable(&place))));
        }
        if !is_dry_run {
            // Once its list of digests is removed, only this entry tells that the folder is a snapshot.
            let (sums, created) = (one.sums.unwrap_or_default(), one.created);
            let begun = state.snapshots.entry(one.name.clone());
            begun.or_insert(Snapshot { sums, created, is_complete: false }).is_complete = false;
            state.save(target).await?;
            remove(target, &one.name, &own, jobs, notice).await?;
            state.snapshots.remove(&one.name);
            state.save(target).await?;
        }
        pruned.removed.push(one.name);
    }
    Ok(pruned)
}

/// The newest complete snapshot. Snapshots dated in the future, by a wrong clock, count only if there are no others:
/// they would otherwise stay the newest.
fn newest(found: &[Found], target: &Target, notice: Notice<'_>) -> Option<String> {
    let limit = now().saturating_add(DAY);
    let whole = found.iter().filter(|one| one.sums.is_some());
    let (future, past): (Vec<&Found>, Vec<&Found>) = whole.partition(|one| one.created > limit);
    for one in &future {
        let place = target.shown(&one.name);
        notice(Event::Warning(format!("{place} is dated in the future: it is kept, but does not count as the newest")));
    }
    let all = if past.is_empty() { future } else { past };
    all.into_iter().max_by_key(|one| (one.created, &one.name)).map(|one| one.name.clone())
}

/// Finds the snapshots of the target, ordered by name.
async fn find(target: &Target, state: &State, jobs: usize, notice: Notice<'_>) -> Result<Vec<Found>, Error> {
    let mut names = target.folders().await?;
    names.extend(state.snapshots.keys().cloned());
    names.sort_unstable();
    names.dedup();
    let one = async |name: String| {
        let Some(end_of_day) = snapshot::end_of_day(&name) else { return Ok::<Option<Found>, Error>(None) };
        let known = state.snapshots.get(&name);
        let place = format!("{name}/{SUMS}");
        let list = target.sums(&name).await?;
        let files = match list.as_deref().map(sums::check) {
            Some(Ok(())) => Files::Listed,
            Some(Err(why)) => {
                let shown = target.shown(&name);
                notice(Event::Warning(format!(
                    "{shown} is kept, because it is not known which files belong to it: {why}"
                )));
                Files::Unknown
            }
            None if known.is_some() => Files::All,
            // The folder was not written by this program.
            None => return Ok(None),
        };
        let created = match known {
            Some(known) => known.created,
            // The list is written last, so its time is that of the snapshot. The day in the name bounds it,
            // because copying a tree changes the times of files.
            None => target.modified(&place).await?.unwrap_or(end_of_day).clamp(end_of_day - DAY, end_of_day),
        };
        let sums = list.filter(|_| matches!(files, Files::Listed)).map(|list| tree::digest_of(&list));
        Ok(Some(Found { name, created, sums, files }))
    };
    let found: Vec<Option<Found>> =
        stream::iter(names.into_iter().map(one)).buffered(jobs.clamp(1, LISTS)).try_collect::<Vec<_>>().await?;
    Ok(found.into_iter().flatten().collect())
}

/// Removes the files of a snapshot in reverse order of sending, so that readers never find a reference to a missing
/// file.
async fn remove(
    target: &Target,
    snapshot: &str,
    names: &[String],
    jobs: usize,
    notice: Notice<'_>,
) -> Result<(), Error> {
    notice(Event::Planned(names.len()));
    for at in (0..WAVES).rev() {
        let names = names.iter().filter(|name| wave(name, true) == at);
        let one = async |name: &String| {
            target.remove(&format!("{snapshot}/{name}")).await?;
            notice(Event::Done);
            Ok::<(), Error>(())
        };
        stream::iter(names.map(one)).buffer_unordered(jobs.max(1)).try_collect::<()>().await?;
    }
    Ok(())
}
