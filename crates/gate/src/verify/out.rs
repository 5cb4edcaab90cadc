//! The snapshot that is written while agents are checked.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use super::{Error, Row, Snapshot, SnapshotError};
use acp_registry_core::registry::Registry;
use acp_registry_core::sys::fs::{PathError, ReadError, check_writable, write_atomic};

/// A snapshot that is written after each agent.
#[derive(Debug)]
pub(super) struct Out {
    path: PathBuf,
    snapshot: RefCell<Snapshot>,
}

impl Out {
    /// Begins with what the file has, without what the registry no longer declares.
    pub(super) fn open(path: &Path, registry: &Registry) -> Result<Self, Error> {
        let mut snapshot = match Snapshot::read(path) {
            Ok(snapshot) => snapshot,
            Err(SnapshotError::Read { error: ReadError::NotFound, .. }) => Snapshot::default(),
            // A device or a pipe only takes.
            Err(SnapshotError::Read { .. }) if path.metadata().is_ok_and(|metadata| !metadata.is_file()) => {
                Snapshot::default()
            }
            Err(error) => return Err(error.into()),
        };
        check_writable(path).map_err(Error::Unwritable)?;
        snapshot.retain_declared(registry);
        Ok(Self { path: path.to_owned(), snapshot: RefCell::new(snapshot) })
    }

    /// Takes over a row.
    pub(super) fn take(&self, row: &Row) {
        self.snapshot.borrow_mut().renew(row);
        // To a device or a pipe, the whole is written once, at the end.
        if !self.path.metadata().is_ok_and(|metadata| !metadata.is_file()) {
            // What cannot be written now is told at the end, when it is written again.
            let _ = self.write();
        }
    }

    /// Writes the whole.
    pub(super) fn write(&self) -> Result<(), PathError> {
        write_atomic(&self.path, self.snapshot.borrow().to_text().as_bytes())
    }
}
