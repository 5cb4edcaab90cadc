//! Merges the snapshot files of several machines.

use acp_registry_plan::failure::Failure;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::{
    MergeError, Merged, SNAPSHOT_LIMIT, Selection, Shard, ShardError, ShardSnapshot, Snapshot, SnapshotError, merge,
};
use acp_registry_client::registry::Registry;
use acp_registry_host::fs::{PathError, ReadError, check_writable, read_bounded, write_atomic};

/// Maximum number of missing shards in a message.
const SHOWN: usize = 5;

/// The file of a shard: `I/N=FILE`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShardFile {
    /// The shard.
    pub shard: Shard,
    /// The file.
    pub path: PathBuf,
}

/// A text that is not of the form `I/N=FILE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ShardFileError {
    /// The `=` is missing.
    #[error("is not of the form I/N=FILE")]
    Form,
    /// The text before `=` is not `I/N`.
    #[error(transparent)]
    Shard(#[from] ShardError),
}

impl FromStr for ShardFile {
    type Err = ShardFileError;

    fn from_str(text: &str) -> Result<Self, ShardFileError> {
        let (shard, path) = text.split_once('=').ok_or(ShardFileError::Form)?;
        Ok(Self { shard: shard.parse()?, path: path.into() })
    }
}

/// Why shards could not be merged.
#[derive(Debug, thiserror::Error)]
pub enum ShardFilesError {
    /// A shard is given twice, or the shards have different totals.
    #[error("each part must be given once, and all must have the same number of parts")]
    Mixed,
    /// Parts are missing; merging would lose the rows of their agents.
    #[error("not all parts are given: {names} {} missing", if *.is_one { "is" } else { "are" })]
    Missing {
        /// The first missing shards.
        names: String,
        /// Whether exactly one is missing.
        is_one: bool,
    },
    /// The file of a shard could not be read.
    #[error("{}: {error}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        error: ReadError,
    },
    /// The existing snapshot could not be read.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// The snapshot cannot be written.
    #[error(transparent)]
    Unwritable(PathError),
    /// A shard was rejected.
    #[error(transparent)]
    Merge(#[from] MergeError),
    /// The snapshot could not be written.
    #[error(transparent)]
    Path(#[from] PathError),
}

/// Merges the files of all shards into the snapshot at `out`. Agents that were not started in any shard keep their rows
/// there. So do the agents of shards without a file; `missing` is called with each of these.
///
/// # Errors
/// Returns [`ShardFilesError`]; the snapshot is unchanged then.
pub fn merge_files(
    registry: &Registry,
    selection: &Selection,
    shards: &[ShardFile],
    out: &Path,
    missing: &dyn Fn(&ShardFile),
) -> Result<Merged, ShardFilesError> {
    refuse_incomplete(shards)?;
    let read: Vec<ShardSnapshot> = shards.iter().map(|shard| read(shard, missing)).collect::<Result<_, _>>()?;
    let earlier = match Snapshot::read(out) {
        Ok(earlier) => Some(earlier),
        Err(SnapshotError::Read { error: ReadError::NotFound, .. }) => None,
        Err(error) => return Err(error.into()),
    };
    check_writable(out).map_err(ShardFilesError::Unwritable)?;
    let measured = Snapshot::read_from(registry)?;
    let fitting = |error: &MergeError| read.iter().position(|part| part.shard == error.shard);
    let merge = |selection, measured| merge(registry, selection, &read, measured, earlier.as_ref());
    // Parts of a first run, without a snapshot in the registry, were divided by number; others began on the day before, when
    // other agents in quarantine were due. All parts must fit: an agent that forges its own part cannot choose.
    let day_before = selection.for_previous_day();
    let others = [
        Some((selection, None)),
        day_before.as_ref().map(|it| (it, measured.as_ref())),
        day_before.as_ref().map(|it| (it, None)),
    ];
    let mut merged = merge(selection, measured.as_ref());
    for (selection, measured) in others.into_iter().flatten() {
        let Err(error) = &merged else { break };
        let next = merge(selection, measured);
        // The error is that of the division that more parts fit.
        if next.as_ref().err().is_none_or(|next| fitting(next) > fitting(error)) {
            merged = next;
        }
    }
    let merged = merged?;
    write_atomic(out, merged.text.as_bytes())?;
    Ok(merged)
}

/// Returns an error if shards are missing, duplicated, or of different totals.
fn refuse_incomplete(shards: &[ShardFile]) -> Result<(), ShardFilesError> {
    let counts: BTreeSet<usize> = shards.iter().map(|shard| shard.shard.count()).collect();
    let named: BTreeSet<String> = shards.iter().map(|shard| shard.shard.to_string()).collect();
    if counts.len() != 1 || named.len() != shards.len() {
        return Err(ShardFilesError::Mixed);
    }
    let count = counts.first().copied().unwrap_or_default();
    // At most one more than are shown, since the total may be in the millions.
    let missing = (1..=count).map(|index| format!("{index}/{count}")).filter(|shard| !named.contains(shard));
    let missing: Vec<String> = missing.take(SHOWN + 1).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let more = if missing.len() > SHOWN { ", …" } else { "" };
    let listed = format!("{}{more}", missing[..missing.len().min(SHOWN)].join(", "));
    Err(ShardFilesError::Missing { names: listed, is_one: missing.len() == 1 })
}

fn read(shard: &ShardFile, missing: &dyn Fn(&ShardFile)) -> Result<ShardSnapshot, ShardFilesError> {
    let failed = |error| ShardFilesError::Read { path: shard.path.clone(), error };
    // All shards are in memory at once, so each gets a share of the limit of one snapshot, but at least 1 MiB.
    let limit = (SNAPSHOT_LIMIT / shard.shard.count() as u64).max(1 << 20);
    let text = match shard.path.canonicalize().map_err(ReadError::from) {
        Ok(real) => Some(read_bounded(&real, Path::new("/"), limit).map_err(failed)?),
        Err(ReadError::NotFound) => {
            missing(shard);
            None
        }
        Err(error) => return Err(failed(error)),
    };
    Ok(ShardSnapshot { shard: shard.shard, text })
}

impl From<ShardFilesError> for Failure {
    fn from(error: ShardFilesError) -> Self {
        match error {
            ShardFilesError::Mixed => Self::usage("--merge takes each part once, all of the same number of parts"),
            ShardFilesError::Missing { names, is_one } => {
                Self::usage(format!("--merge lacks {} {names}", if is_one { "part" } else { "parts" }))
                    .help("name all parts with --merge; agents of a part whose file does not exist keep their rows")
            }
            ShardFilesError::Read { .. } => Self::unable(error).help(super::SNAPSHOT),
            ShardFilesError::Snapshot(error) => error.into(),
            ShardFilesError::Unwritable(error) => error.unwritable("--out"),
            ShardFilesError::Merge(error) => error.into(),
            ShardFilesError::Path(error) => error.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_is_merged_once() {
        let refused = |texts: &[&str]| {
            let shards: Vec<ShardFile> = texts.iter().map(|text| text.parse().unwrap()).collect();
            refuse_incomplete(&shards).err().map(|error| error.to_string())
        };
        assert_eq!(refused(&["1/2=a", "2/2=b"]), None);
        let mixed = Some("each part must be given once, and all must have the same number of parts");
        for shards in [&[][..], &["1/2=a", "1/2=b"], &["1/2=a", "2/3=b"]] {
            assert_eq!(refused(shards).as_deref(), mixed, "{shards:?}");
        }
        assert_eq!(refused(&["2/2=b"]).as_deref(), Some("not all parts are given: 1/2 is missing"));
        let many = Some("not all parts are given: 2/9, 3/9, 4/9, 5/9, 6/9, … are missing");
        assert_eq!(refused(&["1/9=a"]).as_deref(), many);
        assert_eq!("1=a".parse::<ShardFile>(), Err(ShardFileError::Shard(ShardError)));
        assert_eq!("1/1".parse::<ShardFile>(), Err(ShardFileError::Form));
    }
}
