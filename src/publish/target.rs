//! Where trees are published.
#![expect(clippy::unused_async, reason = "other places than directories are asked over the network")]

use std::path::Path;

use super::directory::Directory;
use super::form::Headers;
use super::{Error, LATEST, Notice, Tree, Turns};
use crate::sys::lock::Lock;

/// Where trees are published.
#[derive(Debug)]
pub enum Target {
    /// A directory of this machine.
    Directory(Directory),
}

/// The turn of this publisher, which others wait for.
#[derive(Debug)]
pub(super) enum Turn {
    Locked(Lock),
}

impl Target {
    /// A directory, which is made when something is published.
    #[must_use]
    pub fn directory(path: &Path) -> Self {
        Self::Directory(Directory::new(path))
    }

    /// Refuses to publish a tree into itself, or the other way round.
    pub(super) fn refuse(&self, tree: &Tree) -> Result<(), Error> {
        let Self::Directory(directory) = self;
        // What is not there yet will be where its parent is.
        let real = directory.root().ancestors().find_map(|path| {
            let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
            path.canonicalize().ok()
        });
        let root = real.unwrap_or_default();
        if root.starts_with(tree.root()) || tree.root().starts_with(root.join(LATEST)) {
            return Err(Error::Target(format!("{} is the tree itself, or a part of it", directory.root().display())));
        }
        Ok(())
    }

    /// A name below this target, to be shown to people.
    #[must_use]
    pub fn shown(&self, name: &str) -> String {
        match self {
            Self::Directory(directory) => directory.shown(name),
        }
    }

    /// Whether it tells readers the headers of a file.
    pub(super) fn has_headers(&self) -> bool {
        match self {
            Self::Directory(_) => false,
        }
    }

    /// Writes a file, so that every reader sees the old content or the new one. `form` says what it is.
    pub(super) async fn put(&self, name: &str, bytes: Vec<u8>, _headers: &Headers, _form: &str) -> Result<(), Error> {
        match self {
            Self::Directory(directory) => directory.put(name, &bytes),
        }
    }

    /// Reads a file; `None` when there is none.
    pub(super) async fn get(&self, name: &str) -> Result<Option<Vec<u8>>, Error> {
        match self {
            Self::Directory(directory) => directory.get(name),
        }
    }

    /// Whether a file is there, with this content, in this form.
    pub(super) async fn holds(&self, name: &str, bytes: &[u8], _form: &str) -> Result<bool, Error> {
        match self {
            Self::Directory(directory) => Ok(directory.get(name)?.is_some_and(|found| found == bytes)),
        }
    }

    /// Removes a file, if it is there.
    pub(super) async fn remove(&self, name: &str) -> Result<(), Error> {
        match self {
            Self::Directory(directory) => directory.remove(name),
        }
    }

    /// The files below a folder, by their names there.
    pub(super) async fn list(&self, folder: &str) -> Result<Vec<String>, Error> {
        match self {
            Self::Directory(directory) => directory.list(folder),
        }
    }

    /// The folders.
    pub(super) async fn folders(&self) -> Result<Vec<String>, Error> {
        match self {
            Self::Directory(directory) => directory.folders(),
        }
    }

    /// Waits until no other publisher is at work, and keeps others out from then on.
    pub(super) async fn take_turn(&self, turns: Turns, notice: Notice<'_>) -> Result<Turn, Error> {
        match self {
            Self::Directory(directory) => directory.lock(turns, notice).await.map(Turn::Locked),
        }
    }
}

impl Turn {
    /// Does the work as long as the turn lasts, and gives it back.
    pub(super) async fn during<T>(self, work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        match self {
            Self::Locked(lock) => {
                let done = work.await;
                lock.remove();
                done
            }
        }
    }
}
