//! Leftovers of interrupted runs.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::places::{ASIDE, NEW};
use super::size::size;
use super::{Error, Version};
use acp_registry_core::sys::fs::PathError;
use acp_registry_core::sys::process::{Scratch, end_launches_below};

/// Removes what interrupted runs have left of an agent, and puts back a version whose repair was interrupted. The caller
/// holds the agent's lock, so that no other run changes it; package managers of a killed run may still be running, and
/// are ended. Returns the number of bytes that were removed.
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
            restore(agent, &path)?;
            bytes += size(&path);
            Scratch::adopt(&path).remove()?;
        } else {
            fs::remove_file(&path).map_err(PathError::at(&path))?;
        }
    }
    Ok(bytes)
}

/// The number of bytes that [`clear`] would remove.
pub(super) fn removable(agent: &Path) -> Result<u64, Error> {
    let left = list(agent)?;
    let kept = left
        .iter()
        .flat_map(|path| restorable(agent, path))
        .map(|(kept, place)| size(&kept).saturating_sub(size(&place)));
    let kept: u64 = kept.sum();
    Ok(left.iter().map(|path| size(path)).sum::<u64>().saturating_sub(kept))
}

/// Moves versions back that were put aside. A damaged version may still start, and its receipt has the digests.
fn restore(agent: &Path, left: &Path) -> Result<(), Error> {
    for (kept, place) in restorable(agent, left) {
        if place.is_dir() {
            Scratch::adopt(&place).remove()?;
        }
        fs::rename(&kept, &place).map_err(PathError::at(&place))?;
    }
    Ok(())
}

/// The versions that an interrupted repair has put aside, with their places, unless the new one was finished.
fn restorable(agent: &Path, left: &Path) -> Vec<(PathBuf, PathBuf)> {
    let kept = fs::read_dir(left.join(ASIDE)).into_iter().flatten().flatten();
    let moves = kept.map(|kept| (kept.path(), agent.join(kept.file_name())));
    moves.filter(|(_, place)| !matches!(Version::read(place), Ok(Some(_)))).collect()
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
