//! Writes the snapshot file during a run.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use super::{Error, Row, Snapshot, SnapshotError};
use acp_registry_core::registry::Registry;
use acp_registry_core::sys::fs::{PathError, ReadError, check_writable, write_atomic};

/// A snapshot that is written after each finished agent.
#[derive(Debug)]
pub(super) struct Out {
    path: PathBuf,
    snapshot: RefCell<Snapshot>,
}

impl Out {
    /// Reads the existing file, if any, and drops rows of agents and distributions that the registry no longer has.
    pub(super) fn open(path: &Path, registry: &Registry) -> Result<Self, Error> {
        let mut snapshot = match Snapshot::read(path) {
            Ok(snapshot) => snapshot,
            Err(SnapshotError::Read { error: ReadError::NotFound, .. }) => Snapshot::default(),
            // Devices and pipes cannot be read back.
            Err(SnapshotError::Read { .. }) if path.metadata().is_ok_and(|metadata| !metadata.is_file()) => {
                Snapshot::default()
            }
            Err(error) => return Err(error.into()),
        };
        check_writable(path).map_err(Error::Unwritable)?;
        snapshot.retain_declared(registry);
        Ok(Self { path: path.to_owned(), snapshot: RefCell::new(snapshot) })
    }

    /// Adds a row, and writes the file.
    pub(super) fn take(&self, row: &Row) {
        self.snapshot.borrow_mut().renew(row);
        // Devices and pipes get the snapshot once, at the end.
        if !self.path.metadata().is_ok_and(|metadata| !metadata.is_file()) {
            // An error is reported at the end, when the file is written again.
            let _ = self.write();
        }
    }

    /// Writes the snapshot.
    pub(super) fn write(&self) -> Result<(), PathError> {
        write_atomic(&self.path, self.snapshot.borrow().to_text().as_bytes())
    }
}
