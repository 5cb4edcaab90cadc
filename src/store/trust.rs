//! Whether others could change what is started from the store.

use std::path::{Path, PathBuf};

use super::places::{CURRENT, RECEIPT};
use super::{Error, Store, Version};
use crate::sys::owner;

impl Store {
    /// Refuses a store in which other people can change what is started, unless [`Store::trusts_others`]: its directory,
    /// those of agents and, of `version`, everything on the way to its program belong to this user or to the superuser,
    /// and no one else may write to them. Not checked on Windows, where directories have other rights.
    ///
    /// # Errors
    /// [`Error::Foreign`]
    pub fn refuse_foreign(&self, version: Option<&Version>) -> Result<(), Error> {
        if self.trusts_others {
            return Ok(());
        }
        let mut paths = vec![self.root().to_owned(), self.agents()];
        if let Some(version) = version {
            paths.extend(to_program(version));
        }
        let found = paths.into_iter().find_map(|path| Some((owner::problem(&path)?, path)));
        found.map_or(Ok(()), |(problem, path)| Err(Error::Foreign { path, problem }))
    }
}

/// Everything between the store and the program of a version that decides what is started.
fn to_program(version: &Version) -> Vec<PathBuf> {
    let directory = &version.directory;
    let program = version.program();
    let agent = directory.parent().unwrap_or(directory);
    let mut paths = vec![agent.to_owned(), agent.join(CURRENT), directory.join(RECEIPT)];
    let below = program.ancestors().take_while(|path| path.starts_with(directory));
    paths.extend(below.map(Path::to_owned));
    paths
}
