//! Destinations of published trees.

use std::path::Path;

use super::bucket::{Bucket, Store};
use super::directory::Directory;
use super::headers::Headers;
use super::lease::Lease;
use super::{BuiltTree, Error, LATEST, LeaseTimes, Notice};
use acp_registry_host::lock::Lock;
use acp_registry_plan::sums::{SUMS, SUMS_LIMIT};

/// The destination of published trees.
#[derive(Debug)]
pub enum UploadTarget {
    /// A directory on this machine.
    Directory(Directory),
    /// A bucket, or a prefix in a bucket.
    Store(Box<Store>),
    /// Files in memory, for tests.
    #[cfg(test)]
    Memory(super::memory::Memory),
}

/// The exclusive right to write to a target. Other publishers wait until it is given back.
#[derive(Debug)]
pub(super) enum Turn<'a> {
    Locked(Lock, &'a Directory),
    Leased(Lease<'a>),
    #[cfg(test)]
    Free,
}

impl UploadTarget {
    /// A directory, which is created by the first [`publish()`](super::publish()).
    pub fn directory(path: &Path) -> Self {
        Self::Directory(Directory::new(path))
    }

    /// A bucket. Sends no request yet.
    ///
    /// # Errors
    /// [`Error::Target`] if the address or the endpoint is invalid.
    pub fn bucket(bucket: Bucket) -> Result<Self, Error> {
        Ok(Self::Store(Box::new(Store::open(bucket)?)))
    }

    /// Refuses a target inside the tree, and a tree inside the target's `latest/`.
    pub(super) fn refuse(&self, tree: &BuiltTree) -> Result<(), Error> {
        let Self::Directory(directory) = self else { return Ok(()) };
        // A path that does not exist yet is resolved through its nearest existing parent.
        let real = directory.root().ancestors().find_map(|path| {
            let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
            path.canonicalize().ok()
        });
        let root = real.unwrap_or_default();
        if root.starts_with(tree.root()) || tree.root().starts_with(root.join(LATEST)) {
            let message = format!("{} is the tree itself, or a part of it", directory.root().display());
            let remedy = "name another directory with --to".to_owned();
            return Err(Error::Target { message, remedy });
        }
        Ok(())
    }

    /// Refuses symbolic links in place of the folders of `latest/`.
    pub(super) fn refuse_links<'a>(&self, files: impl Iterator<Item = &'a str>) -> Result<(), Error> {
        match self {
            Self::Directory(directory) => directory.refuse_links(files),
            Self::Store(_) => Ok(()),
            #[cfg(test)]
            Self::Memory(_) => Ok(()),
        }
    }

    /// The path or address of a name in this target, for messages.
    pub fn shown(&self, name: &str) -> String {
        match self {
            Self::Directory(directory) => directory.shown(name),
            Self::Store(store) => store.shown(name),
            #[cfg(test)]
            Self::Memory(_) => name.to_owned(),
        }
    }

    /// Whether the target stores response headers with files.
    pub(super) fn has_headers(&self) -> bool {
        match self {
            Self::Directory(_) => false,
            Self::Store(_) => true,
            #[cfg(test)]
            Self::Memory(_) => false,
        }
    }

    /// Whether the target returns `Content-Encoding` with what is stored compressed. Tries it with a small file.
    pub(super) async fn keeps_encodings(&self) -> Result<bool, Error> {
        match self {
            Self::Store(store) => store.keeps_encodings().await,
            Self::Directory(_) => Ok(false),
            #[cfg(test)]
            Self::Memory(_) => Ok(false),
        }
    }

    /// Writes a file atomically. `form` is the fingerprint that is stored with it, if the target stores headers.
    pub(super) async fn put(&self, name: &str, bytes: Vec<u8>, headers: &Headers, form: &str) -> Result<(), Error> {
        match self {
            Self::Directory(directory) => directory.put(name, &bytes),
            Self::Store(store) => store.put(name, bytes, headers, form).await,
            #[cfg(test)]
            Self::Memory(memory) => memory.put(name, bytes),
        }
    }

    /// Copies a large file that this run has sent, if the target can do so by itself. If not, it must be sent again.
    pub(super) async fn copy(&self, from: &str, to: &str, headers: &Headers, form: &str) -> bool {
        match self {
            Self::Store(store) => store.copy(from, to, headers, form).await,
            Self::Directory(_) => false,
            #[cfg(test)]
            Self::Memory(_) => false,
        }
    }

    /// Reads the content of a file, of at most `limit` bytes; `None` if it does not exist.
    pub(super) async fn get(&self, name: &str, limit: u64) -> Result<Option<Vec<u8>>, Error> {
        match self {
            Self::Directory(directory) => directory.get(name, limit),
            Self::Store(store) => store.get(name, limit).await,
            #[cfg(test)]
            Self::Memory(memory) => Ok(memory.get(name)),
        }
    }

    /// Reads the list of digests in a folder; `None` if it does not exist.
    pub(super) async fn sums(&self, folder: &str) -> Result<Option<Vec<u8>>, Error> {
        self.get(&format!("{folder}/{SUMS}"), SUMS_LIMIT).await
    }

    /// Whether the file exists with these bytes and, if the target stores headers, in this form.
    pub(super) async fn holds(&self, name: &str, bytes: &[u8], headers: &Headers, form: &str) -> Result<bool, Error> {
        match self {
            Self::Directory(directory) => directory.holds(name, bytes),
            Self::Store(store) => store.holds(name, bytes, headers, form).await,
            #[cfg(test)]
            Self::Memory(memory) => Ok(memory.get(name).is_some_and(|found| found == bytes)),
        }
    }

    /// Makes what was put durable, before files are put that name it. A store confirms only what is durable.
    pub(super) fn sync(&self) -> Result<(), Error> {
        match self {
            Self::Directory(directory) => directory.sync(),
            Self::Store(_) => Ok(()),
            #[cfg(test)]
            Self::Memory(_) => Ok(()),
        }
    }

    /// When a file was last modified, in seconds since 1970; `None` if it does not exist.
    pub(super) async fn modified(&self, name: &str) -> Result<Option<i64>, Error> {
        match self {
            Self::Directory(directory) => directory.modified(name),
            Self::Store(store) => store.modified(name).await,
            #[cfg(test)]
            Self::Memory(memory) => Ok(memory.get(name).map(|_| 0)),
        }
    }

    /// Removes a file, if it exists.
    pub(super) async fn remove(&self, name: &str) -> Result<(), Error> {
        match self {
            Self::Directory(directory) => directory.remove(name),
            Self::Store(store) => store.remove(name).await,
            #[cfg(test)]
            Self::Memory(memory) => memory.remove(name),
        }
    }

    /// The files below a folder, as paths relative to it.
    pub(super) async fn list(&self, folder: &str) -> Result<Vec<String>, Error> {
        match self {
            Self::Directory(directory) => directory.list(folder),
            Self::Store(store) => store.list(folder).await,
            #[cfg(test)]
            Self::Memory(memory) => Ok(memory.list(folder)),
        }
    }

    /// The files directly in a folder, and since when no other publisher can be about to need them, in seconds since
    /// 1970: a lease can be lost, a lock cannot.
    pub(super) async fn list_dated(&self, folder: &str) -> Result<Vec<(String, i64)>, Error> {
        let free = |names: Vec<String>| names.into_iter().map(|name| (name, 0)).collect();
        match self {
            Self::Directory(directory) => directory.names(folder).map(free),
            Self::Store(store) => store.list_dated(folder).await,
            #[cfg(test)]
            Self::Memory(memory) => Ok(free(memory.list(folder))),
        }
    }

    /// The names of the top-level folders.
    pub(super) async fn folders(&self) -> Result<Vec<String>, Error> {
        match self {
            Self::Directory(directory) => directory.folders(),
            Self::Store(store) => store.folders().await,
            #[cfg(test)]
            Self::Memory(memory) => Ok(memory.folders()),
        }
    }

    /// Waits until no other publisher is writing, then locks the target.
    pub(super) async fn take_turn(&self, turns: LeaseTimes, notice: Notice<'_>) -> Result<Turn<'_>, Error> {
        match self {
            Self::Directory(directory) => Ok(Turn::Locked(directory.lock(turns, notice).await?, directory)),
            Self::Store(store) => Lease::take(store, turns, notice).await.map(Turn::Leased),
            #[cfg(test)]
            Self::Memory(_) => Ok(Turn::Free),
        }
    }
}

impl Turn<'_> {
    /// Runs `work`, then gives the turn back. If a lease is lost, `work` is dropped with [`Error::Lost`].
    pub(super) async fn during<T>(self, work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        match self {
            Self::Leased(lease) => lease.during(work).await,
            #[cfg(test)]
            Self::Free => work.await,
            Self::Locked(lock, directory) => {
                let done = work.await.and_then(|done| directory.sync().map(|()| done));
                lock.remove();
                done
            }
        }
    }
}
