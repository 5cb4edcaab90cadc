//! Recognises what this program has made, and what interrupted runs have left of it.

use std::path::{Path, PathBuf};
use std::{fs, io};

use acp_registry_host::fs::{PathError, is_unfinished as is_replacement};
use acp_registry_host::process::{Scratch, end_launches_below};
use acp_registry_plan::manifest::AgentId;

use super::directory::{ASIDE, CURRENT, Current, DIGESTS, FILES, IN_USE, NEW, RECEIPT};
use super::integrity::Space;
use super::{Error, Store, Version};

/// What was done about the leftovers of an agent.
#[derive(Default)]
pub(super) struct Cleared {
    /// The number of bytes that were removed.
    pub(super) bytes: u64,
    /// The number of leftovers that held no version to put back.
    pub(super) count: usize,
    /// The versions that were put back.
    pub(super) restored: Vec<PathBuf>,
}

/// Removes what interrupted runs have left of an agent, and puts back a version whose repair was interrupted. The caller
/// holds the agent's lock, so that no other run changes it; package managers of a killed run may still be running, and
/// are ended.
pub(super) fn clear(agent: &Path) -> Result<Cleared, Error> {
    let left = list(agent)?;
    if left.iter().any(|path| path.is_dir()) {
        let real = agent.canonicalize().map_err(PathError::at(agent))?;
        if !end_launches_below(&real) {
            let error = io::Error::other("a package manager of an interrupted run cannot be ended");
            return Err(PathError { path: real, error }.into());
        }
    }
    let mut cleared = Cleared::default();
    for path in left {
        let restored = restorable(agent, &path);
        cleared.count += usize::from(restored.is_empty());
        for (kept, place) in restored {
            cleared.bytes += Space::below(&place).removable;
            restore(&kept, &place)?;
            cleared.restored.push(place);
        }
        if path.is_dir() {
            cleared.bytes += Space::below(&path).removable;
            Scratch::adopt(&path).remove()?;
        } else {
            // It may have gone with the half version that another one has replaced.
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(PathError { path, error }.into()),
                _ => {}
            }
        }
    }
    Ok(cleared)
}

/// What [`clear`] would do. The versions are where they are now.
pub(super) fn look(agent: &Path) -> Result<Cleared, Error> {
    let mut cleared = Cleared::default();
    for path in list(agent)? {
        let restored = restorable(agent, &path);
        cleared.count += usize::from(restored.is_empty());
        cleared.bytes += Space::below(&path).removable;
        for (kept, place) in restored {
            cleared.bytes =
                (cleared.bytes + Space::below(&place).removable).saturating_sub(Space::below(&kept).removable);
            cleared.restored.push(kept);
        }
    }
    Ok(cleared)
}

/// Moves a version back that was put aside. A damaged version may still start, and its receipt has the digests.
fn restore(kept: &Path, place: &Path) -> Result<(), Error> {
    if place.is_dir() {
        Scratch::adopt(place).remove()?;
    }
    Ok(fs::rename(kept, place).map_err(PathError::at(place))?)
}

/// Whether an interrupted repair has put a version aside, and was not finished.
pub(super) fn is_aside(agent: &Path, folder: &str) -> bool {
    let place = agent.join(folder);
    list(agent).is_ok_and(|left| left.iter().any(|left| restorable(agent, left).iter().any(|(_, to)| *to == place)))
}

/// The versions that an interrupted repair has put aside, with their places, unless the new one was finished. What is no
/// version was not put there by this program, and replaces nothing; nor is anything replaced that this program did not make.
pub(super) fn restorable(agent: &Path, left: &Path) -> Vec<(PathBuf, PathBuf)> {
    let (aside, id) = (left.join(ASIDE), agent.file_name().unwrap_or_default().to_string_lossy());
    if aside.is_symlink() {
        return Vec::new();
    }
    let kept = fs::read_dir(aside).into_iter().flatten().flatten();
    let moves = kept.map(|kept| (kept.path(), agent.join(kept.file_name())));
    let is_kept = |kept: &Path| has_name(kept) && matches!(Version::read_version(kept, &id), Ok(Some(_)));
    let is_free = |place: &Path| {
        place.symlink_metadata().is_err() || (is_version(place) && !matches!(Version::read(place), Ok(Some(_))))
    };
    moves.filter(|(kept, place)| is_kept(kept) && is_free(place)).collect()
}

/// What interrupted runs have left of an agent, or what another process is changing.
pub(super) fn list(agent: &Path) -> Result<Vec<PathBuf>, PathError> {
    let mut left = Vec::new();
    for item in fs::read_dir(agent).map_err(PathError::at(agent))?.flatten() {
        let path = item.path();
        if is_left(&item) {
            left.push(path);
        } else if is_version(&path) {
            // A receipt that was to replace the one of the version.
            let items = fs::read_dir(&path).into_iter().flatten().flatten();
            let is_receipt = |item: &fs::DirEntry| item.file_type().is_ok_and(|kind| kind.is_file()) && is_left(item);
            left.extend(items.filter(is_receipt).map(|item| item.path()));
        }
    }
    Ok(left)
}

/// Whether an interrupted run has left this: a directory of its work, or a file that was to replace another. A link is neither.
fn is_left(item: &fs::DirEntry) -> bool {
    let name = item.file_name();
    let name = name.to_string_lossy();
    item.file_type()
        .is_ok_and(|kind| (kind.is_dir() && name.starts_with(NEW)) || (kind.is_file() && is_replacement(&name)))
}

/// Whether this is the name of a directory in which something is being installed, or of a file that will replace
/// another.
pub(super) fn is_unfinished(name: &str) -> bool {
    name.starts_with(NEW) || is_replacement(name)
}

impl Store {
    /// Whether the directory of this name belongs to an agent, or to an unfinished installation.
    pub(super) fn is_agent(&self, id: &AgentId) -> bool {
        let directory = self.directory(id);
        let items = match fs::read_dir(&directory) {
            Ok(items) => items,
            // It has the name of one.
            Err(error) => return error.kind() == io::ErrorKind::PermissionDenied,
        };
        // Other files may be called `current` as well.
        let is_record = || Current::read(&directory).is_ok_and(|current| current.is_some());
        let items: Vec<_> = items.flatten().collect();
        let is_ours = |item: &fs::DirEntry| {
            let name = item.file_name();
            let name = name.to_string_lossy();
            (name == CURRENT && is_record()) || (name.starts_with(NEW) && is_left(item)) || is_version(&item.path())
        };
        items.iter().any(is_ours)
    }

    /// Whether the directory of this name is empty and was made for an agent that was never installed.
    pub(super) fn is_empty_agent(&self, id: &AgentId) -> bool {
        let items = fs::read_dir(self.directory(id));
        items.is_ok_and(|mut items| items.next().is_none()) && self.lock_file(id).exists()
    }
}

/// Whether a directory has the name of a version.
fn has_name(place: &Path) -> bool {
    let name = place.file_name().unwrap_or_default().to_string_lossy();
    let is_digest =
        |text: &str| text.len() == 12 && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    name.rsplit_once('-').is_some_and(|(_, digest)| is_digest(digest))
}

/// Whether a directory holds a version, or an unfinished one, judged by its name and by all its files.
pub(super) fn is_version(place: &Path) -> bool {
    if !has_name(place) || place.is_symlink() {
        return false;
    }
    let Ok(mut items) = fs::read_dir(place) else { return false };
    items.all(|item| item.is_ok_and(|item| is_of_version(&item)))
}

/// Whether a version has a file of this name.
fn is_of_version(item: &fs::DirEntry) -> bool {
    let name = item.file_name();
    let name = name.to_string_lossy();
    [RECEIPT, FILES, DIGESTS, IN_USE].contains(&&*name) || is_unfinished(&name)
}

/// What is in the place of a version that this program did not make, or beside the files of one: it would go with what is
/// replaced there. A link goes only where it has the place of the version that is started, which cannot be repaired otherwise.
pub(super) fn foreign_in_place(place: &Path) -> Option<PathBuf> {
    let kind = place.symlink_metadata().ok()?.file_type();
    if kind.is_symlink() {
        let current = Current::read(place.parent()?).ok().flatten();
        let is_current = current.is_some_and(|current| place.file_name() == Some(current.folder.as_ref()));
        return (!is_current).then(|| place.to_owned());
    }
    if !kind.is_dir() {
        return Some(place.to_owned());
    }
    let items = fs::read_dir(place).into_iter().flatten().flatten();
    items.filter(|item| !is_of_version(item)).map(|item| item.path()).min()
}

/// Files in the directory of an agent that are neither a version nor used by this program. In a version, those beside its own.
pub(super) fn foreign(agent: &Path) -> Result<Vec<PathBuf>, PathError> {
    let mut foreign = Vec::new();
    for item in fs::read_dir(agent).map_err(PathError::at(agent))? {
        let item = item.map_err(PathError::at(agent))?;
        let name = item.file_name();
        let name = name.to_string_lossy();
        // A directory in its place is reported as what it is.
        let is_kept = name == CURRENT && (item.path().is_file() || item.path().is_dir());
        if is_kept || is_left(&item) || is_version(&item.path()) {
            continue;
        }
        if matches!(Version::read(&item.path()), Ok(Some(_))) {
            let items = fs::read_dir(item.path()).map_err(PathError::at(&item.path()))?;
            foreign.extend(items.flatten().filter(|item| !is_of_version(item)).map(|item| item.path()));
        } else {
            foreign.push(item.path());
        }
    }
    foreign.sort_unstable();
    Ok(foreign)
}
