//! The journal of a snapshot file: the rows that a run has finished since it wrote the whole file, one on each line.
//!
//! It exists during a run, and after one that was killed.

use std::path::{Path, PathBuf};

use super::SnapshotError;
use super::snapshot::{SNAPSHOT_LIMIT, Snapshot};
use acp_registry_host::fs::read_bounded;
use acp_registry_plan::json;

/// The path of the journal of a snapshot file.
pub(super) fn journal(path: &Path) -> PathBuf {
    let mut name = path.canonicalize().unwrap_or_else(|_| path.to_owned()).into_os_string();
    name.push(".journal");
    name.into()
}

impl Snapshot {
    /// Reads a snapshot file, with the rows of a run that was killed.
    pub(super) fn read_with_journal(path: &Path) -> Result<Self, SnapshotError> {
        let mut snapshot = Self::read(path)?;
        // Without a journal, or with one that cannot be read, these agents are checked again.
        let journal = read_bounded(&journal(path), Path::new("/"), SNAPSHOT_LIMIT).unwrap_or_default();
        // The last line may be incomplete.
        for row in journal.split(|byte| *byte == b'\n').filter_map(|line| json::whole(line).ok()) {
            snapshot.recover(row);
        }
        Ok(snapshot)
    }
}
