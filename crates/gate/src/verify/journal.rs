//! Writes the snapshot file during a run, so that a run that ends at any point keeps the rows of all finished agents.
//!
//! A file with all agents of a large registry takes too long to be written after each of them. In between, finished rows
//! are appended to a journal beside it, which the next run reads.

use std::cell::RefCell;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use acp_registry_client::registry::Registry;
use acp_registry_host::fs::{PathError, ReadError, check_writable, read_bounded, write_atomic};
use acp_registry_host::lock::{self, Acquisition, Lock};
use acp_registry_plan::json;

use super::snapshot::SNAPSHOT_LIMIT;
use super::{Error, Row, Snapshot, SnapshotError, State};

/// The whole file is written again when this many times the duration of its last writing has passed.
const REST: u32 = 20;

/// How long a run that was killed may keep its lock: a child of it has it until it becomes another program.
const PATIENCE: Duration = Duration::from_secs(2);

/// A snapshot that is kept on the disk as agents finish.
#[derive(Debug)]
pub(super) struct Out {
    path: PathBuf,
    /// Devices and pipes get the snapshot once, at the end.
    is_file: bool,
    /// Keeps other runs from the file, whose rows would be lost.
    lock: Option<Lock>,
    state: RefCell<Written>,
}

#[derive(Debug, Default)]
struct Written {
    snapshot: Snapshot,
    journal: Option<File>,
    /// Whether the file lacks rows.
    is_behind: bool,
    /// When the file is written again; `None` for immediately.
    next: Option<Instant>,
}

impl Out {
    /// Reads the existing file, if any, and drops rows of agents and distributions that the registry no longer has.
    pub(super) fn open(path: &Path, registry: &Registry) -> Result<Self, Error> {
        let is_file = path.metadata().map_or(true, |metadata| metadata.is_file());
        check_writable(path).map_err(Error::Unwritable)?;
        let lock = if is_file { Some(lock(path)?) } else { None };
        let mut snapshot = match Snapshot::read_with_journal(path) {
            Ok(snapshot) => snapshot,
            Err(SnapshotError::Read { error: ReadError::NotFound, .. }) => Snapshot::default(),
            // Devices and pipes cannot be read back.
            Err(SnapshotError::Read { .. }) if !is_file => Snapshot::default(),
            Err(error) => return Err(error.into()),
        };
        snapshot.retain_declared(registry);
        let state = RefCell::new(Written { snapshot, ..Written::default() });
        Ok(Self { path: path.to_owned(), is_file, lock, state })
    }

    /// Adds a row, and saves it.
    pub(super) fn take(&self, row: &Row) {
        let state = &mut *self.state.borrow_mut();
        let Some(value) = state.snapshot.renew(row) else { return };
        state.is_behind = true;
        // Rows that are reused are in a file already.
        if !self.is_file || matches!(row.state, State::Reused(_)) {
            return;
        }
        if state.next.is_none_or(|next| next <= Instant::now()) {
            // An error is reported at the end, when the file is written again.
            let _ = self.save(state);
            return;
        }
        let line = format!("{value}\n");
        if state.journal.is_none() {
            state.journal = File::options().create(true).append(true).open(journal(&self.path)).ok();
        }
        // One call, so that the journal has whole lines, unless the disk is full.
        let _ = state.journal.as_mut().map(|journal| journal.write_all(line.as_bytes()));
    }

    /// Writes what the file still lacks.
    pub(super) fn write(&self) -> Result<(), PathError> {
        self.save(&mut self.state.borrow_mut())
    }

    fn save(&self, state: &mut Written) -> Result<(), PathError> {
        let started = Instant::now();
        write_atomic(&self.path, state.snapshot.to_text().as_bytes())?;
        state.is_behind = false;
        state.journal = None;
        let took = started.elapsed();
        state.next = Instant::now().checked_add(took * REST);
        if self.is_file {
            let _ = fs::remove_file(journal(&self.path));
        }
        Ok(())
    }
}

impl Drop for Out {
    /// A run that is interrupted leaves a whole file.
    fn drop(&mut self) {
        if self.state.get_mut().is_behind {
            let _ = self.write();
        }
        if let Some(lock) = self.lock.take() {
            lock.remove();
        }
    }
}

fn lock(path: &Path) -> Result<Lock, Error> {
    let until = Instant::now() + PATIENCE;
    loop {
        match Lock::ask(&lock::beside(&path.canonicalize().unwrap_or_else(|_| path.to_owned())), "acp-registry verify")
            .map_err(Error::Unwritable)?
        {
            Acquisition::Mine(lock) => return Ok(lock),
            Acquisition::Held(holder) if Instant::now() >= until => {
                return Err(Error::Busy { path: path.to_owned(), holder });
            }
            Acquisition::Held(_) => thread::sleep(Duration::from_millis(20)),
        }
    }
}

// The journal of a snapshot file: the rows that a run has finished since it wrote the whole file, one on each line.
//
// It exists during a run, and after one that was killed.

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
