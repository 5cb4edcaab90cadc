//! The directory of agents: the names in it, the lock of an agent, and which version of it is started.

use std::path::{Path, PathBuf};
use std::time::Duration;

use acp_registry_host::fs::{PathError, ReadError, read_bounded, write_durable};
use acp_registry_host::lock::Lock;
use acp_registry_plan::json;
use acp_registry_plan::manifest::AgentId;
use serde::{Deserialize, Serialize};

use super::Error;

pub(super) const RECEIPT: &str = "receipt.json";
pub(super) const FILES: &str = "files";
pub(super) const DIGESTS: &str = "files.json";
pub(super) const IN_USE: &str = "in-use";
pub(super) const CURRENT: &str = "current";

/// The prefix of directories in which something is being installed.
pub(super) const NEW: &str = ".new-";

/// The directory in there with the old files of a version that is being repaired, below the name of its place.
pub(super) const ASIDE: &str = "aside";

/// How long another process that changes the same agent is waited for, unless a caller says otherwise.
pub(crate) const PATIENCE: Duration = Duration::from_mins(5);

/// Is told once which process is waited for.
pub type Waiting<'a> = dyn Fn(&str) + Sync + 'a;

/// Installed agents below one directory.
#[derive(Debug, Clone)]
pub struct Store {
    root: PathBuf,
    /// How long another process that changes the same agent is waited for.
    pub patience: Duration,
    /// Whether agents are started although other people can change them, see [`Store::refuse_foreign`].
    pub trusts_others: bool,
    /// Where the registry of what is installed from now on publishes the versions that it recalls; receipts keep it, and with it
    /// the registry.
    pub revocations: Option<String>,
    /// Whether [`Store::uninstall`] and [`Store::collect_garbage`] only report what they would remove.
    pub only_looks: bool,
}

impl Store {
    /// The store below a directory, which is made when something is installed.
    ///
    /// # Errors
    /// [`PathError`] when the directory is relative, and the working directory is unknown.
    pub fn at(root: impl AsRef<Path>) -> Result<Self, PathError> {
        let root = root.as_ref();
        let root = std::path::absolute(root).map_err(PathError::at(root))?;
        Ok(Self { root, patience: PATIENCE, trusts_others: false, revocations: None, only_looks: false })
    }

    /// The directory.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The error for an agent that is not there.
    pub(crate) fn not_installed(&self, id: &str) -> Error {
        Error::NotInstalled { id: id.to_owned(), root: self.root.clone() }
    }

    pub(super) fn agents(&self) -> PathBuf {
        self.root().join("agents")
    }

    /// The directory of an agent.
    #[must_use]
    pub fn directory(&self, id: &AgentId) -> PathBuf {
        self.agents().join(id.as_str())
    }

    /// Where a version will be, or is.
    #[must_use]
    pub fn place(&self, id: &AgentId, folder: &str) -> PathBuf {
        self.directory(id).join(folder)
    }

    /// Where what is installed will be, or is, in the place of a version.
    #[must_use]
    pub fn files(place: &Path) -> PathBuf {
        place.join(FILES)
    }

    pub(super) fn lock_file(&self, id: &AgentId) -> PathBuf {
        self.agents().join(format!(".{id}.lock"))
    }

    /// Waits for the lock of an agent, unless other people can change its directory. `what` describes this process to
    /// others meanwhile, and `wait` is called once with who is waited for.
    pub(super) async fn lock(&self, id: &AgentId, what: &str, wait: &Waiting<'_>) -> Result<Lock, Error> {
        let directory = self.directory(id);
        if directory.is_symlink() {
            return Err(Error::Link(directory));
        }
        self.refuse_foreign_agent(id)?;
        let lock = Lock::wait(&self.lock_file(id), what, self.patience, wait).await?;
        lock.map_err(|holder| Error::Locked { id: id.to_string(), holder, waited: self.patience })
    }

    /// Makes the newest intact version of an agent the current one, if the file that names it is missing, cannot be
    /// read, or names a missing version. Returns the version; `None` when there is a current version, even a damaged
    /// one, or no other version.
    ///
    /// # Errors
    /// [`Error`]; the agent has not changed then.
    pub async fn restore_current(&self, id: &AgentId, waiting: &Waiting<'_>) -> Result<Option<String>, Error> {
        let agent = self.directory(id);
        if !agent.is_dir() || agent.is_symlink() {
            return Ok(None);
        }
        let _lock = self.lock(id, &format!("repairing {id}"), waiting).await?;
        Current::refuse_directory(&agent)?;
        let current = Current::read(&agent).ok().flatten();
        if current.as_ref().is_some_and(|current| agent.join(&current.folder).exists()) {
            return Ok(None);
        }
        let mut versions = self.versions(id)?;
        versions.retain(|version| version.is_for_here() && version.seems_intact());
        // All of these times are in UTC and in seconds.
        let Some(newest) = versions.into_iter().max_by(|a, b| a.receipt.installed_at.cmp(&b.receipt.installed_at))
        else {
            return Ok(None);
        };
        let is_pinned = current.is_some_and(|current| current.is_pinned);
        Current::new(newest.folder(), is_pinned).write(&agent)?;
        Ok(Some(newest.receipt.version))
    }
}

/// The largest file that names the version which is started, in bytes.
const CURRENT_LIMIT: u64 = 1 << 16;

/// What to do with the mark that keeps an agent at its version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PinChange {
    /// Leave it as it is.
    Keep,
    /// Keep the agent at its version from now on.
    Set,
    /// Let it be updated again.
    Clear,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Current {
    schema: u32,
    /// The name of the version's directory.
    pub(super) folder: String,
    pub(super) is_pinned: bool,
}

impl Current {
    pub(super) fn new(folder: String, is_pinned: bool) -> Self {
        Self { schema: 1, folder, is_pinned }
    }

    /// Reads which version of an agent is started; `None` when none is.
    pub(super) fn read(agent: &Path) -> Result<Option<Self>, Error> {
        let path = agent.join(CURRENT);
        let id = agent.file_name().unwrap_or_default().to_string_lossy();
        let damaged = |message: String| Error::Damaged { id: id.clone().into_owned(), path: path.clone(), message };
        let bytes = match read_bounded(&path, agent, CURRENT_LIMIT) {
            Ok(bytes) => bytes,
            Err(ReadError::NotFound) => return Ok(None),
            Err(ReadError::NotAFile(_)) if path.is_dir() => {
                return Err(PathError::in_the_way(&path, "a directory").into());
            }
            Err(ReadError::Io(error)) => return Err(PathError { path, error }.into()),
            Err(error) => return Err(damaged(error.to_string())),
        };
        let current: Self = serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
        if current.schema != 1 {
            return Err(damaged(format!("form {} is of another version of this program", current.schema)));
        }
        let is_name = !current.folder.is_empty() && !current.folder.starts_with('.');
        if !is_name || current.folder.contains(['/', '\\']) {
            return Err(damaged("it names no version".to_owned()));
        }
        Ok(Some(current))
    }

    /// Refuses a directory in the place of the file, before something is done that ends with writing or removing the file.
    pub(super) fn refuse_directory(agent: &Path) -> Result<(), Error> {
        let path = agent.join(CURRENT);
        let is_there = path.symlink_metadata().is_ok_and(|found| found.is_dir());
        if is_there { Err(PathError::in_the_way(&path, "a directory").into()) } else { Ok(()) }
    }

    /// Swaps the version.
    pub(super) fn write(&self, agent: &Path) -> Result<(), Error> {
        Ok(write_durable(&agent.join(CURRENT), json::to_string(self).as_bytes())?)
    }
}
