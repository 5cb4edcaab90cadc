//! Whether others could change what is started from the store.

use std::path::{Path, PathBuf};

use super::find::names;
use super::leftovers::is_version;
use super::places::{CURRENT, RECEIPT};
use super::{Error, Store, Version, leftovers};
use acp_registry_host::owner;
use acp_registry_plan::manifest::AgentId;

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
    let below = program.ancestors().take_while(|path| path.starts_with(directory));
    paths.extend(below.map(Path::to_owned));
    paths
}
