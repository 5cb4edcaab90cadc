//! The directory of agents: the names in it, and the lock of an agent.

use std::path::{Path, PathBuf};
use std::time::Duration;

use acp_registry_host::fs::PathError;
use acp_registry_host::lock::Lock;
use acp_registry_plan::manifest::AgentId;

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

/// Installed agents below one directory.
#[derive(Debug, Clone)]
pub struct Store {
    root: PathBuf,
    /// How long another process that changes the same agent is waited for.
    pub patience: Duration,
    /// Whether agents are started although other people can change them, see [`Store::refuse_foreign`].
    pub trusts_others: bool,
    /// Where the registry of what is installed from now on publishes the versions that it recalls; receipts keep it.
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
    pub(super) async fn lock(&self, id: &AgentId, what: &str, wait: &(dyn Fn(&str) + Sync)) -> Result<Lock, Error> {
        let directory = self.directory(id);
        if directory.is_symlink() {
            return Err(Error::Link(directory));
        }
        self.refuse_foreign_agent(id)?;
        let lock = Lock::wait(&self.lock_file(id), what, self.patience, wait).await?;
        lock.map_err(|holder| Error::Locked { id: id.to_string(), holder, waited: self.patience })
    }
}
