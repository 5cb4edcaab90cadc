//! Finds what is installed.

use std::fs::{self, FileType};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use acp_registry_host::fs::PathError;
use acp_registry_host::{lock, owner};
use acp_registry_plan::manifest::AgentId;
use acp_registry_plan::text::quote;

use super::directory::{CURRENT, Current, RECEIPT};
use super::leftovers::{self, is_version};
use super::{Error, Store, Version};
use crate::resolve::Plan;

/// An installed agent.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredAgent {
    /// Its id.
    pub id: AgentId,
    /// The version that is started.
    pub current: Version,
    /// Whether it stays at this version.
    pub is_pinned: bool,
}

/// What the file that names the version which is started still says of it.
#[derive(Debug)]
pub(crate) struct LostVersion {
    /// The version.
    pub(crate) version: String,
    /// The name of its directory.
    pub(crate) folder: String,
    /// Whether the agent stays at this version.
    pub(crate) is_pinned: bool,
}

impl Store {
    /// An installed agent; `None` when it is not installed, or its version is gone.
    ///
    /// # Errors
    /// [`Error`] when that cannot be seen, or its directory is a link.
    pub fn agent(&self, id: &str) -> Result<Option<StoredAgent>, Error> {
        let Ok(id) = id.parse() else { return Ok(None) };
        let directory = self.directory(&id);
        if directory.is_symlink() {
            return Err(Error::Link(directory));
        }
        let Some(Current { folder, is_pinned, .. }) = Current::read(&directory)? else { return Ok(None) };
        let version = Version::read(&directory.join(folder))?;
        Ok(version.map(|current| StoredAgent { id, current, is_pinned }))
    }

    /// The version of an agent that is to be started, where its receipt is gone or cannot be read; `None` where that is not
    /// known.
    pub(crate) fn lost_version(&self, id: &AgentId) -> Option<LostVersion> {
        let agent = self.directory(id);
        let Current { folder, is_pinned, .. } = Current::read(&agent).ok().flatten()?;
        if matches!(Version::read(&agent.join(&folder)), Ok(Some(_))) {
            return None;
        }
        let version = folder.rsplit_once('-')?.0.to_owned();
        Some(LostVersion { version, folder, is_pinned })
    }

    /// What a plan would install, if it is installed and not damaged.
    ///
    /// # Errors
    /// [`Error`] when that cannot be seen.
    pub fn installed(&self, plan: &Plan) -> Result<Option<Version>, Error> {
        match Version::read(&self.place(&plan.id, &plan.folder())) {
            Err(Error::Damaged { .. }) => Ok(None),
            version => Ok(version?.filter(Version::is_whole)),
        }
    }

    /// Whether the version that a plan would install is there: intact, damaged, or put aside by a repair that was
    /// interrupted.
    #[must_use]
    pub fn holds(&self, plan: &Plan) -> bool {
        let (agent, folder) = (self.directory(&plan.id), plan.folder());
        !matches!(Version::read(&agent.join(&folder)), Ok(None)) || leftovers::is_aside(&agent, &folder)
    }

    /// Why none of the installed versions of an agent is started: the file that says which one is missing, or names one
    /// that is gone. `None` where one is started, where nothing is installed, and while the agent is being changed.
    ///
    /// # Errors
    /// [`Error`] when its directory cannot be read.
    pub fn lost(&self, id: &AgentId) -> Result<Option<Error>, Error> {
        if lock::is_used(&self.lock_file(id)) { Ok(None) } else { self.lost_locked(id) }
    }

    /// Like [`Store::lost`], for a caller that holds the agent's lock.
    pub(super) fn lost_locked(&self, id: &AgentId) -> Result<Option<Error>, Error> {
        if self.agent(id)?.is_some() {
            return Ok(None);
        }
        let directory = self.directory(id);
        let message = match Current::read(&directory)? {
            Some(Current { folder, .. }) => {
                let problem = if directory.join(&folder).is_dir() { "has no receipt" } else { "is gone" };
                format!("the version that it names, {}, {problem}", quote(&folder))
            }
            None if self.versions(id)?.is_empty() => return Ok(None),
            None => "it is missing".to_owned(),
        };
        Ok(Some(Error::Damaged { id: id.to_string(), path: directory.join(CURRENT), message }))
    }

    /// The ids of agents that have any files, in the order of their names.
    ///
    /// # Errors
    /// [`PathError`] when the directory cannot be read; a missing directory counts as empty.
    pub fn ids(&self) -> Result<Vec<AgentId>, PathError> {
        // A link is not followed, and reported by those who look at it.
        let names = list_names(&self.agents(), |kind| kind.is_dir() || kind.is_symlink())?.into_iter();
        Ok(names.filter_map(|name| AgentId::try_from(name).ok()).filter(|id| self.is_agent(id)).collect())
    }

    /// Every installed version of an agent.
    ///
    /// # Errors
    /// [`Error`] when the directory cannot be read. Damaged versions are passed over.
    pub fn versions(&self, id: &str) -> Result<Vec<Version>, Error> {
        let Ok(id) = id.parse() else { return Ok(Vec::new()) };
        let directory = self.directory(&id);
        let folders = names(&directory)?;
        let folders = folders.iter().filter(|name| !name.starts_with('.'));
        Ok(folders.filter_map(|name| Version::read(&directory.join(name)).ok().flatten()).collect())
    }
}

/// The names of directories in a directory, in order; none when it is not there.
pub(super) fn names(directory: &Path) -> Result<Vec<String>, PathError> {
    list_names(directory, |kind| kind.is_dir())
}

/// The names of what is of a kind in a directory, in order; none when it is not there.
pub(super) fn list_names(directory: &Path, is_wanted: impl Fn(FileType) -> bool) -> Result<Vec<String>, PathError> {
    let items = match fs::read_dir(directory) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        items => items.map_err(PathError::at(directory))?,
    };
    let mut names = Vec::new();
    for item in items {
        let item = item.map_err(PathError::at(directory))?;
        let kind = item.file_type().map_err(PathError::at(directory))?;
        if is_wanted(kind)
            && let Ok(name) = item.file_name().into_string()
        {
            names.push(name);
        }
    }
    names.sort_unstable();
    Ok(names)
}

impl Store {
    /// Refuses a store in which other people can change what is started, unless [`Store::trusts_others`]: its directory,
    /// those of agents and, of `version`, everything on the way to its program belong to this user or to the superuser,
    /// and no one else may write to them. Not checked on Windows, where directories have other rights.
    ///
    /// # Errors
    /// [`Error::Foreign`]
    pub fn refuse_foreign(&self, version: Option<&Version>) -> Result<(), Error> {
        let mut paths = vec![self.root().to_owned(), self.agents()];
        if let Some(version) = version {
            paths.extend(to_program(version));
        }
        self.refuse(paths)
    }

    /// Refuses the directory of an agent by the same rules, with its versions and unfinished installations. Every
    /// change of an agent begins with this check: a superuser who removes or moves what another user can change acts
    /// for that user.
    ///
    /// # Errors
    /// [`Error::Foreign`], or [`Error::Path`] when the directory cannot be read.
    pub fn refuse_foreign_agent(&self, id: &AgentId) -> Result<(), Error> {
        let agent = self.directory(id);
        let is_ours = |name: &String| leftovers::is_unfinished(name) || is_version(&agent.join(name));
        let inner: Vec<String> = names(&agent)?.into_iter().filter(is_ours).collect();
        let inner = inner.into_iter().map(|name| agent.join(name));
        self.refuse([self.root().to_owned(), self.agents(), agent.clone()].into_iter().chain(inner))
    }

    fn refuse(&self, paths: impl IntoIterator<Item = PathBuf>) -> Result<(), Error> {
        let mut paths = paths.into_iter().filter(|_| !self.trusts_others);
        let found = paths.find_map(|path| Some((owner::problem(&path)?, path)));
        found.map_or(Ok(()), |(problem, path)| Err(Error::Foreign { path, problem }))
    }
}

/// All paths between the store and the program of a version that decide what is started.
fn to_program(version: &Version) -> Vec<PathBuf> {
    let directory = &version.directory;
    let program = version.program();
    let agent = directory.parent().unwrap_or(directory);
    let mut paths = vec![agent.to_owned(), agent.join(CURRENT), directory.join(RECEIPT)];
    for file in [Some(program), version.link()].into_iter().flatten() {
        let below = file.ancestors().take_while(|path| path.starts_with(directory));
        paths.extend(below.map(Path::to_owned));
    }
    paths
}
