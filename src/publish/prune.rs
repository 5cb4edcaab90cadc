//! Removes old snapshots.

use std::time::Duration;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};

use super::order::{WAVES, wave};
use super::state::State;
use super::{Error, Event, LATEST, Notice, SUMS, Target, Turns, now, seconds, snapshot, tree};

/// What came of looking for old snapshots.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Snapshots that were removed, or would be.
    pub removed: Vec<String>,
    /// Snapshots that stay.
    pub kept: Vec<String>,
}

struct Found {
    name: String,
    created: i64,
    sums: Option<String>,
    is_complete: bool,
}

/// Removes snapshots that were begun longer ago than `keep`, but neither the newest one nor any that holds the same tree as
/// `latest/`. Only folders with the name of a snapshot are touched.
///
/// # Errors
/// [`Error`]. A snapshot that was removed in part has no list of digests any more, and is removed by the next run.
pub async fn prune(
    target: &Target,
    keep: Duration,
    jobs: usize,
    turns: Turns,
    is_dry_run: bool,
    notice: Notice<'_>,
) -> Result<Pruned, Error> {
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
    let latest = target.get(&format!("{LATEST}/{SUMS}")).await?.map(|list| tree::digest_of(&list));
    let found = find(target, &state, jobs).await?;
    let newest = found.iter().filter(|one| one.is_complete).max_by_key(|one| (one.created, &one.name));
    let newest = newest.map(|one| one.name.clone());
    let limit = now().saturating_sub(seconds(keep));
    let mut pruned = Pruned::default();
    for one in found {
        let is_latest = state.latest.as_ref() == Some(&one.name) || (latest.is_some() && one.sums == latest);
        if is_latest || newest.as_ref() == Some(&one.name) || one.created >= limit {
            pruned.kept.push(one.name);
            continue;
        }
        if !is_dry_run {
            remove(target, &one.name, jobs, notice).await?;
            state.snapshots.remove(&one.name);
            state.save(target).await?;
        }
        pruned.removed.push(one.name);
    }
    Ok(pruned)
}

/// The snapshots that are there, by name.
async fn find(target: &Target, state: &State, jobs: usize) -> Result<Vec<Found>, Error> {
    let mut names = target.folders().await?;
    names.extend(state.snapshots.keys().cloned());
    names.sort_unstable();
    names.dedup();
    let one = async |name: String| {
        let Some(end_of_day) = snapshot::end_of_day(&name) else { return Ok::<Option<Found>, Error>(None) };
        let sums = target.get(&format!("{name}/{SUMS}")).await?.map(|list| tree::digest_of(&list));
        let known = state.snapshots.get(&name);
        let created = known.map_or(end_of_day, |known| known.created);
        Ok(Some(Found { name, created, is_complete: sums.is_some(), sums }))
    };
    let found: Vec<Option<Found>> =
        stream::iter(names.into_iter().map(one)).buffered(jobs.max(1)).try_collect::<Vec<_>>().await?;
    Ok(found.into_iter().flatten().collect())
}

/// What people begin with goes first, so that nobody finds the name of a file that is gone.
async fn remove(target: &Target, snapshot: &str, jobs: usize, notice: Notice<'_>) -> Result<(), Error> {
    let names = target.list(snapshot).await?;
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
