//! Removes what is no longer needed.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::directory::{CURRENT, Current, IN_USE, RECEIPT, Waiting};
use super::find::{list_names, names};
use super::integrity::Space;
use super::leftovers::{self, Cleared, foreign, is_version};
use super::{Error, Store, Version};
use acp_registry_host::fs::PathError;
use acp_registry_host::process::Scratch;
use acp_registry_host::{in_use, lock};
use acp_registry_plan::manifest::AgentId;

/// What was removed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Freed {
    /// The versions.
    pub removed: Vec<Removed>,
    /// Versions that were put back because their repair was interrupted.
    pub restored: Vec<Removed>,
    /// Versions that were kept because they are running.
    pub running: Vec<Removed>,
    /// Versions that were kept because settings name their program, with the clients.
    pub named: Vec<(Removed, BTreeSet<String>)>,
    /// Removed versions whose program is named in settings, with the clients: these settings no longer work.
    pub still_named: Vec<(Removed, BTreeSet<String>)>,
    /// The number of leftovers of interrupted runs that were removed.
    pub leftovers: usize,
    /// The bytes that are free now, leftovers of interrupted runs included.
    pub bytes: u64,
    /// Files beside the versions, or beside the files of one, that this program did not make; they are kept.
    pub foreign: Vec<PathBuf>,
}

/// A version, in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Removed {
    /// The agent.
    pub id: String,
    /// Its version.
    pub version: String,
    /// The bytes of its files.
    pub bytes: u64,
    /// The bytes that are free without it; 0 for a version that is kept.
    pub freed: u64,
}

impl Store {
    /// Removes an agent with all its versions. Unless `force`, one that is running is left as it is. Returns `None` if
    /// another process has removed it meanwhile.
    ///
    /// # Errors
    /// [`Error`]; what was removed until then stays removed, and the rest no longer counts as a version.
    pub async fn uninstall(&self, id: &AgentId, force: bool, waiting: &Waiting<'_>) -> Result<Option<Freed>, Error> {
        let agent = self.directory(id);
        if !(agent.is_symlink() || self.is_agent(id)) {
            return Err(self.not_installed(id));
        }
        if self.only_looks {
            self.refuse_foreign_agent(id)?;
            return self.uninstall_locked(id, &agent, force).map(Some).map_err(Error::while_removing);
        }
        let lock = self.lock(id, &format!("uninstalling {id}"), waiting).await?;
        if !agent.is_dir() {
            // Another process has uninstalled the agent while this one waited.
            lock.remove();
            return Ok(None);
        }
        let freed = self.uninstall_locked(id, &agent, force).and_then(|freed| {
            remove_file(&agent.join(CURRENT))?;
            if freed.foreign.is_empty() {
                Scratch::adopt(&agent).remove()?;
            }
            Ok(freed)
        });
        let freed = freed.map_err(Error::while_removing)?;
        lock.remove();
        self.forget_empty();
        Ok(Some(freed))
    }

    fn uninstall_locked(&self, id: &AgentId, agent: &Path, force: bool) -> Result<Freed, Error> {
        Current::refuse_directory(agent)?;
        // This comes first: a package manager that still runs would be taken for the agent, and would continue
        // afterwards.
        let Cleared { bytes, count, restored } = self.clear(agent)?;
        let mut folders = versions(agent)?;
        if self.only_looks {
            folders.extend(restored);
        }
        if !force {
            let is_used = folders.iter().any(|place| lock::is_used(&place.join(IN_USE)));
            // In a directory without a receipt, a package manager of an interrupted run may be working.
            let finished = folders.iter().filter(|place| describe(place, id).is_some());
            let processes: Vec<u32> = finished.flat_map(|place| processes(place)).collect();
            if is_used || !processes.is_empty() {
                return Err(Error::Running { id: id.to_string(), processes });
            }
        }
        let foreign = foreign(agent)?;
        if let Some(file) = foreign.iter().find(|file| file.parent() != Some(agent)) {
            return Err(Error::KeepsVersion { id: id.to_string(), file: file.clone() });
        }
        let mut freed = Freed { bytes, leftovers: count, foreign, ..Freed::default() };
        for place in &folders {
            self.remove_to(&mut freed, place, id)?;
        }
        Ok(freed)
    }

    /// Clears what interrupted runs have left of an agent, or only looks at it.
    fn clear(&self, agent: &Path) -> Result<Cleared, Error> {
        if self.only_looks { leftovers::look(agent) } else { leftovers::clear(agent) }
    }

    /// Removes a version, or computes what that would free, and adds it to what was removed.
    fn remove_to(&self, freed: &mut Freed, place: &Path, id: &str) -> Result<(), Error> {
        let (clients, Space { bytes, removable }) = (clients(place), Space::below(place));
        let version = describe(place, id).map(|version| Removed { bytes, freed: removable, ..version });
        if !self.only_looks {
            remove(place)?;
        }
        freed.bytes += removable;
        if !clients.is_empty() {
            freed.still_named.extend(version.clone().map(|version| (version, clients)));
        }
        freed.removed.extend(version);
        Ok(())
    }

    /// Removes every version that is neither current nor running, and what interrupted runs have left. A version whose
    /// program settings name stays unless `even_named`. Agents that another process is changing are skipped.
    /// Returns what was removed, and why some agents could not be cleaned up.
    ///
    /// # Errors
    /// [`PathError`] when the agents cannot be listed.
    pub async fn collect_garbage(&self, even_named: bool) -> Result<(Freed, Vec<(String, Error)>), PathError> {
        let (mut freed, mut failed) = (Freed::default(), Vec::new());
        let mut hurried = self.clone();
        hurried.patience = std::time::Duration::ZERO;
        let names = list_names(&self.agents(), |kind| kind.is_dir() || kind.is_symlink())?.into_iter();
        let ids = names.filter_map(|name| AgentId::try_from(name).ok());
        for id in ids.filter(|id| self.is_agent(id) || self.is_empty_agent(id)) {
            if self.directory(&id).is_symlink() {
                freed.foreign.push(self.directory(&id));
                continue;
            }
            match hurried.collect_agent_garbage(&id, even_named, &mut freed).await.map_err(Error::while_removing) {
                // Another time.
                Err(Error::Locked { .. }) | Ok(()) => {}
                Err(error) => failed.push((id.into(), error)),
            }
        }
        if !self.only_looks {
            self.forget_empty();
        }
        Ok((freed, failed))
    }

    async fn collect_agent_garbage(&self, id: &AgentId, even_named: bool, freed: &mut Freed) -> Result<(), Error> {
        let agent = self.directory(id);
        if self.only_looks {
            self.refuse_foreign_agent(id)?;
            return if agent.is_dir() { self.collect_locked(id, &agent, even_named, freed).map(drop) } else { Ok(()) };
        }
        let lock = self.lock(id, "collecting garbage", &|_| ()).await?;
        if !agent.is_dir() {
            // Another process has uninstalled the agent since the store was listed.
            lock.remove();
            return Ok(());
        }
        let has_current = self.collect_locked(id, &agent, even_named, freed)?;
        // What an installation that never came about has left.
        if !has_current && fs::remove_dir(&agent).is_ok() {
            lock.remove();
        }
        Ok(())
    }

    /// Whether the agent has a current version, besides.
    fn collect_locked(&self, id: &AgentId, agent: &Path, even_named: bool, freed: &mut Freed) -> Result<bool, Error> {
        let current = Current::read(agent)?.map(|current| current.folder);
        let cleared = self.clear(agent)?;
        freed.bytes += cleared.bytes;
        freed.leftovers += cleared.count;
        freed.restored.extend(cleared.restored.iter().filter_map(|place| describe(place, id)));
        freed.foreign.extend(foreign(agent)?);
        // Without the current version, it is not known which one is needed. A dry run puts none back.
        let is_put_back = cleared.restored.iter().any(|place| place.file_name() == current.as_ref().map(OsStr::new));
        if !is_put_back
            && !self.versions(id)?.is_empty()
            && let Some(lost) = self.lost_locked(id)?
        {
            return Err(lost);
        }
        let kept = current.as_ref().map(|folder| agent.join(folder));
        for place in versions(agent)?.into_iter().filter(|place| Some(place) != kept.as_ref()) {
            if lock::is_used(&place.join(IN_USE)) || !processes(&place).is_empty() {
                freed.running.extend(describe(&place, id));
                continue;
            }
            let clients = clients(&place);
            if !even_named
                && !clients.is_empty()
                && let Some(version) = describe(&place, id)
            {
                freed.named.push((version, clients));
                continue;
            }
            self.remove_to(freed, &place, id)?;
        }
        Ok(current.is_some())
    }
}

/// The directories of versions, and of what was to become one.
fn versions(agent: &Path) -> Result<Vec<PathBuf>, PathError> {
    Ok(names(agent)?.into_iter().map(|name| agent.join(name)).filter(|place| is_version(place)).collect())
}

fn processes(folder: &Path) -> Vec<u32> {
    // Processes know real paths only.
    folder.canonicalize().map(|folder| in_use::processes_in(&folder)).unwrap_or_default()
}

fn describe(place: &Path, id: &str) -> Option<Removed> {
    let receipt = Version::read_version(place, id).ok().flatten()?.receipt;
    Some(Removed { id: id.to_owned(), version: receipt.version, bytes: receipt.size, freed: 0 })
}

/// The clients whose settings name the program of a version.
fn clients(place: &Path) -> BTreeSet<String> {
    let named_by = Version::read(place).ok().flatten().map(|version| version.receipt.named_by).unwrap_or_default();
    named_by.iter().map(|named| named.split_once(' ').map_or(&**named, |(client, _)| client).to_owned()).collect()
}

/// Removes a version, the receipt first, so that an interruption never leaves half a version.
fn remove(place: &Path) -> Result<(), Error> {
    remove_file(&place.join(RECEIPT))?;
    Ok(Scratch::adopt(place).remove()?)
}

fn remove_file(path: &Path) -> Result<(), PathError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(PathError::at(path)(error)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_agent_that_goes_meanwhile_is_no_error_and_leaves_no_lock() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::at(folder.path().join("data")).unwrap();
        let mut freed = Freed::default();
        store.collect_agent_garbage(&"gone".parse().unwrap(), false, &mut freed).await.unwrap();
        assert_eq!(freed, Freed::default());
        // Windows does not remove a file that is open.
        assert_eq!(fs::read_dir(store.agents()).unwrap().count(), usize::from(cfg!(windows)));
    }

    #[tokio::test]
    async fn an_agent_that_another_process_uninstalls_first_is_no_error() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::at(folder.path().join("data")).unwrap();
        let id: AgentId = "a".parse().unwrap();
        fs::create_dir_all(store.place(&id, "1.0.0-0123456789ab")).unwrap();
        fs::write(store.directory(&id).join(CURRENT), "{}").unwrap();
        let other = store.lock(&id, "uninstalling a", &|_| ()).await.unwrap();
        let waits = |_: &str| fs::remove_dir_all(store.directory(&id)).unwrap();
        let first = async {
            while store.directory(&id).exists() {
                tokio::task::yield_now().await;
            }
            drop(other);
        };
        let (freed, ()) = tokio::join!(store.uninstall(&id, false, &waits), first);
        assert_eq!(freed.unwrap(), None);
    }

    #[test]
    fn files_that_cannot_be_removed_are_named_with_a_remedy() {
        let path = Path::new("data/agents/a/1.0.0").to_owned();
        let denied = PathError { path, error: ErrorKind::PermissionDenied.into() };
        let error = Error::from(denied).while_removing();
        assert!(error.to_string().contains("1.0.0: permission denied"), "{error}");
        assert_eq!(error.remedy().unwrap(), "make its directory writable, then try again");
    }
}
