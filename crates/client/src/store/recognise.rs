//! Recognises what this program has made, and may therefore remove.

use std::fs;
use std::path::{Path, PathBuf};

use super::current::Current;
use super::places::{CURRENT, DIGESTS, FILES, IN_USE, NEW, RECEIPT};
use super::{Store, leftovers};
use acp_registry_host::fs::PathError;
use acp_registry_plan::manifest::AgentId;

impl Store {
    /// Whether the directory of this name belongs to an agent, or to an unfinished installation.
    pub(super) fn is_agent(&self, id: &AgentId) -> bool {
        let Ok(items) = fs::read_dir(self.directory(id)) else { return false };
        let items: Vec<_> = items.flatten().collect();
        let is_ours = |item: &fs::DirEntry| {
            let name = item.file_name();
            let name = name.to_string_lossy();
            (name == CURRENT && is_record(&item.path())) || name.starts_with(NEW) || is_version(&item.path())
        };
        items.iter().any(is_ours)
    }

    /// Whether the directory of this name is empty and was made for an agent that was never installed.
    pub(super) fn is_empty_agent(&self, id: &AgentId) -> bool {
        let items = fs::read_dir(self.directory(id));
        items.is_ok_and(|mut items| items.next().is_none()) && self.lock_file(id).exists()
    }
}

/// Whether a file names the current version: other files may be called `current` as well.
fn is_record(path: &Path) -> bool {
    Current::read(path.parent().unwrap_or(path)).is_ok_and(|current| current.is_some())
}

/// Whether a directory holds a version, or an unfinished one, judged by its name and by all its files.
pub(super) fn is_version(place: &Path) -> bool {
    let name = place.file_name().unwrap_or_default().to_string_lossy();
    let is_digest =
        |text: &str| text.len() == 12 && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    if !name.rsplit_once('-').is_some_and(|(_, digest)| is_digest(digest)) || place.is_symlink() {
        return false;
    }
    let Ok(mut items) = fs::read_dir(place) else { return false };
    items.all(|item| {
        item.is_ok_and(|item| {
            let name = item.file_name();
            let name = name.to_string_lossy();
            [RECEIPT, FILES, DIGESTS, IN_USE].contains(&&*name) || leftovers::is_unfinished(&name)
        })
    })
}

/// Files in the directory of an agent that are neither a version nor used by this program.
pub(super) fn foreign(agent: &Path) -> Result<Vec<PathBuf>, PathError> {
    let mut foreign = Vec::new();
    for item in fs::read_dir(agent).map_err(PathError::at(agent))? {
        let item = item.map_err(PathError::at(agent))?;
        let name = item.file_name();
        let name = name.to_string_lossy();
        let is_kept = name == CURRENT && item.path().is_file();
        if !is_kept && !leftovers::is_unfinished(&name) && !is_version(&item.path()) {
            foreign.push(item.path());
        }
    }
    foreign.sort_unstable();
    Ok(foreign)
}
