//! Lists the snapshots of a target.

use futures_util::{StreamExt as _, TryStreamExt as _, stream};

use super::find::names;
use super::prune::refuse_unpublished;
use super::state::TargetState;
use super::{Error, UploadTarget, snapshot};
use acp_registry_plan::sums::SUMS;

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
        let created = match known {
            Some(known) => known.created,
            None => match snapshot::created(target, &name).await? {
                Some(created) => created,
                // The folder was not written by this program.
                None => return Ok::<_, Error>(None),
            },
        };
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
