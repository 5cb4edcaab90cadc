//! Finds the snapshots of a target, and the contents that they name.

use std::collections::HashMap;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};

use super::state::TargetState;
use super::{Error, Notice, UploadEvent, UploadTarget, content, snapshot, tree};
use acp_registry_plan::digest::Sha256;
use acp_registry_plan::sums::{self, SIGNATURE, SUMS, is_name};

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
        let digests = listed.iter().flat_map(content::named).map(ToOwned::to_owned).collect();
        Ok(Some(Files { own, foreign, digests }))
    }
}

/// Finds the snapshots of the target, ordered by name, and counts the contents that they name.
pub(super) async fn find(
    target: &UploadTarget,
    state: &TargetState,
    jobs: usize,
    notice: Notice<'_>,
) -> Result<(Vec<StoredSnapshot>, ContentUses), Error> {
    let one = async |name: String| {
        let known = state.snapshots.get(&name);
        let list = target.sums(&name).await?;
        let mut digests = Vec::new();
        let owned = match list.as_deref().map(sums::parse) {
            Some(Ok(files)) => {
                digests.extend(content::named(&files).filter_map(|digest| digest.parse::<Sha256>().ok()));
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
        let created = match known {
            Some(known) => known.created,
            None => snapshot::created(target, &name).await?.unwrap_or_default(),
        };
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

/// The names of folders that may be snapshots, in order.
pub(super) async fn names(target: &UploadTarget, state: &TargetState) -> Result<Vec<String>, Error> {
    let mut names = target.folders().await?;
    names.extend(state.snapshots.keys().cloned());
    names.retain(|name| snapshot::end_of_day(name).is_some());
    names.sort_unstable();
    names.dedup();
    Ok(names)
}
