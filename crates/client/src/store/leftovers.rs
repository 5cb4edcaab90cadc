//! Leftovers of interrupted runs.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::Error;
use super::places::NEW;
use super::size::size;
use acp_registry_core::sys::fs::PathError;
use acp_registry_core::sys::process::{Scratch, end_launches_below};

/// Removes what interrupted runs have left of an agent. The caller holds the agent's lock, so that no other run changes
/// it; package managers of a killed run may still be running, and are ended. Returns the number of bytes that were
/// removed.
pub(super) fn clear(agent: &Path) -> Result<u64, Error> {
    let left = list(agent)?;
    if left.iter().any(|path| path.is_dir()) {
        let real = agent.canonicalize().map_err(PathError::at(agent))?;
        if !end_launches_below(&real) {
            let error = io::Error::other("a package manager of an interrupted run cannot be ended");
            return Err(PathError { path: real, error }.into());
        }
    }
    let mut bytes = 0;
    for path in left {
        if path.is_dir() {
            bytes += size(&path);
            Scratch::adopt(&path).remove()?;
        } else {
            fs::remove_file(&path).map_err(PathError::at(&path))?;
        }
    }
    Ok(bytes)
}

/// What interrupted runs have left of an agent, or what another process is changing.
pub(super) fn list(agent: &Path) -> Result<Vec<PathBuf>, PathError> {
    let items = fs::read_dir(agent).map_err(PathError::at(agent))?.flatten();
    Ok(items.filter(|item| is_unfinished(&item.file_name().to_string_lossy())).map(|item| item.path()).collect())
}

/// Whether this is the name of a directory in which something is being installed, or of a file that will replace
/// another.
pub(super) fn is_unfinished(name: &str) -> bool {
    name.starts_with(NEW) || name.starts_with(".tmp-")
}
