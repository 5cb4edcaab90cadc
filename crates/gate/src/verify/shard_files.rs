//! Merges the snapshot files of several machines.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::{MergeError, Merged, Part, SNAPSHOT_LIMIT, Selection, Shard, ShardError, Snapshot, SnapshotError, merge};
use acp_registry_core::registry::Registry;
use acp_registry_core::sys::fs::{PathError, ReadError, check_writable, read_bounded, write_atomic};

/// Maximum number of missing parts in a message.
const SHOWN: usize = 5;

/// The file of a part: `I/N=FILE`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartFile {
    /// The part.
    pub shard: Shard,
    /// The file.
    pub path: PathBuf,
}

/// A text that is not of the form `I/N=FILE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PartFileError {
    /// The `=` is missing.
    #[error("is not of the form I/N=FILE")]
    Form,
    /// The text before `=` is not `I/N`.
    #[error(transparent)]
    Shard(#[from] ShardError),
}

impl FromStr for PartFile {
    type Err = PartFileError;

    fn from_str(text: &str) -> Result<Self, PartFileError> {
        let (shard, path) = text.split_once('=').ok_or(PartFileError::Form)?;
        Ok(Self { shard: shard.parse()?, path: path.into() })
    }
}

/// Why parts could not be merged.
#[derive(Debug, thiserror::Error)]
pub enum PartsError {
    /// A part is given twice, or the parts have different totals.
    #[error("each part must be given once, and all must have the same number of parts")]
    Mixed,
    /// Parts are missing; merging would lose the rows of their agents.
    #[error("not all parts are given: {names} {} missing", if *.is_one { "is" } else { "are" })]
    Missing {
        /// The first missing parts.
        names: String,
        /// Whether exactly one is missing.
        is_one: bool,
    },
    /// The file of a part could not be read.
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
    /// A part was rejected.
    #[error(transparent)]
    Merge(#[from] MergeError),
    /// The snapshot could not be written.
    #[error(transparent)]
    Path(#[from] PathError),
}

/// Merges the files of all parts into the snapshot at `out`. Agents that were not started in any part keep their rows
/// there. So do the agents of parts without a file; `missing` is called with each of these.
///
/// # Errors
/// Returns [`PartsError`]; the snapshot is unchanged then.
pub fn merge_files(
    registry: &Registry,
    selection: &Selection,
    parts: &[PartFile],
    out: &Path,
    missing: &dyn Fn(&PartFile),
) -> Result<Merged, PartsError> {
    refuse_incomplete(parts)?;
    let read: Vec<Part> = parts.iter().map(|part| read(part, missing)).collect::<Result<_, _>>()?;
    let earlier = match Snapshot::read(out) {
        Ok(earlier) => Some(earlier),
        Err(SnapshotError::Read { error: ReadError::NotFound, .. }) => None,
        Err(error) => return Err(error.into()),
    };
    check_writable(out).map_err(PartsError::Unwritable)?;
    let merged = merge(registry, selection, &read, earlier.as_ref())?;
    write_atomic(out, merged.text.as_bytes())?;
    Ok(merged)
}

/// Returns an error if parts are missing, duplicated, or of different totals.
fn refuse_incomplete(parts: &[PartFile]) -> Result<(), PartsError> {
    let counts: BTreeSet<usize> = parts.iter().map(|part| part.shard.count()).collect();
    let named: BTreeSet<String> = parts.iter().map(|part| part.shard.to_string()).collect();
    if counts.len() != 1 || named.len() != parts.len() {
        return Err(PartsError::Mixed);
    }
    let count = counts.first().copied().unwrap_or_default();
    // At most one more than are shown, since the total may be in the millions.
    let missing = (1..=count).map(|index| format!("{index}/{count}")).filter(|part| !named.contains(part));
    let missing: Vec<String> = missing.take(SHOWN + 1).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let more = if missing.len() > SHOWN { ", …" } else { "" };
    let listed = format!("{}{more}", missing[..missing.len().min(SHOWN)].join(", "));
    Err(PartsError::Missing { names: listed, is_one: missing.len() == 1 })
}

fn read(part: &PartFile, missing: &dyn Fn(&PartFile)) -> Result<Part, PartsError> {
    let failed = |error| PartsError::Read { path: part.path.clone(), error };
    // All parts are in memory at once, so each gets a share of the limit of one snapshot, but at least 1 MiB.
    let limit = (SNAPSHOT_LIMIT / part.shard.count() as u64).max(1 << 20);
    let text = match part.path.canonicalize().map_err(ReadError::from) {
        Ok(real) => Some(read_bounded(&real, Path::new("/"), limit).map_err(failed)?),
        Err(ReadError::NotFound) => {
            missing(part);
            None
        }
        Err(error) => return Err(failed(error)),
    };
    Ok(Part { shard: part.shard, text })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_is_merged_once() {
        let refused = |texts: &[&str]| {
            let parts: Vec<PartFile> = texts.iter().map(|text| text.parse().unwrap()).collect();
            refuse_incomplete(&parts).err().map(|error| error.to_string())
        };
        assert_eq!(refused(&["1/2=a", "2/2=b"]), None);
        let mixed = Some("each part must be given once, and all must have the same number of parts");
        for parts in [&[][..], &["1/2=a", "1/2=b"], &["1/2=a", "2/3=b"]] {
            assert_eq!(refused(parts).as_deref(), mixed, "{parts:?}");
        }
        assert_eq!(refused(&["2/2=b"]).as_deref(), Some("not all parts are given: 1/2 is missing"));
        let many = Some("not all parts are given: 2/9, 3/9, 4/9, 5/9, 6/9, … are missing");
        assert_eq!(refused(&["1/9=a"]).as_deref(), many);
        assert_eq!("1=a".parse::<PartFile>(), Err(PartFileError::Shard(ShardError)));
        assert_eq!("1/1".parse::<PartFile>(), Err(PartFileError::Form));
    }
}
