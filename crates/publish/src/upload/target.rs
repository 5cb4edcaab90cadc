//! Destinations of published trees: a local directory, or a bucket.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use acp_registry_host::fs::{
    PathError, ReadError, linked_folder, read_bounded, resolve_new, sync_below, write_atomic_from,
};
use acp_registry_host::lock::{Acquisition, Lock};
use acp_registry_plan::sums::{CONTENT, SUMS, SUMS_LIMIT};
use acp_registry_plan::text::printable;
use time::OffsetDateTime;

use super::bucket::{Bucket, Store};
use super::headers::Headers;
use super::lease::Lease;
use super::{BuiltTree, Error, LATEST, LeaseTimes, Notice, UploadEvent};

/// The destination of published trees.
#[derive(Debug)]
pub enum UploadTarget {
    /// A directory on this machine.
    Directory(Directory),
    /// A bucket, or a prefix in a bucket.
    Store(Box<Store>),
    /// Files in memory, for tests.
    #[cfg(test)]
    Memory(super::crashes::Memory),
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
        Self::Directory(Directory { root: path.to_owned() })
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
        let root = resolve_new(&directory.root);
        if root.starts_with(tree.root()) || tree.root().starts_with(root.join(LATEST)) {
            let message = format!("{} is the tree itself, or a part of it", directory.root.display());
            let remedy = "name another directory with --to".to_owned();
            return Err(Error::Target { message, remedy });
        }
        Ok(())
    }

    /// Refuses symbolic links in place of the folders of `latest/`.
    pub(super) fn refuse_links<'a>(&self, files: impl Iterator<Item = &'a str>) -> Result<(), Error> {
        if let Self::Directory(directory) = self { directory.refuse_links(files) } else { Ok(()) }
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
        matches!(self, Self::Store(_))
    }

    /// Whether the target returns `Content-Encoding` with what is stored compressed. Tries it with a small file.
    pub(super) async fn keeps_encodings(&self) -> Result<bool, Error> {
        if let Self::Store(store) = self { store.keeps_encodings().await } else { Ok(false) }
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
        if let Self::Store(store) = self { store.copy(from, to, headers, form).await } else { false }
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

    /// Whether the file exists with these bytes and, if the target stores headers, in this form. What a store has recorded of the
    /// form counts, unless it is doubted.
    pub(super) async fn holds(
        &self,
        name: &str,
        bytes: &[u8],
        headers: &Headers,
        form: (&str, bool),
    ) -> Result<bool, Error> {
        match self {
            Self::Directory(directory) => directory.holds(name, bytes),
            Self::Store(store) => store.holds(name, bytes, headers, form).await,
            #[cfg(test)]
            Self::Memory(memory) => Ok(memory.get(name).is_some_and(|found| found == bytes)),
        }
    }

    /// Makes what was put durable, before files are put that name it. A store confirms only what is durable.
    pub(super) fn sync(&self) -> Result<(), Error> {
        if let Self::Directory(directory) = self { directory.sync() } else { Ok(()) }
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

/// Where files are written before they are renamed into place.
const MAKING: &str = ".acp-registry/making";

const LOCK: &str = ".acp-registry/lock";

/// Interval between two attempts to take a lock that another publisher holds.
const INTERVAL: Duration = Duration::from_millis(100);

/// A local directory as a target.
#[derive(Debug)]
pub struct Directory {
    root: PathBuf,
}

impl Directory {
    pub(super) fn shown(&self, name: &str) -> String {
        self.root.join(name).display().to_string()
    }

    /// Returns the path of a file. Refuses names whose folders are symbolic links, which could lead outside the
    /// target.
    fn path(&self, name: &str) -> Result<PathBuf, Error> {
        match linked_folder(&self.root, name) {
            Some(link) => Err(Error::Link(link.display().to_string())),
            None => Ok(self.root.join(name)),
        }
    }

    /// Refuses symbolic links among the folders of `latest/`, `content/` and `.acp-registry/`, before anything is changed.
    pub(super) fn refuse_links<'a>(&self, files: impl Iterator<Item = &'a str>) -> Result<(), Error> {
        self.path(&format!("{MAKING}/x"))?;
        self.path(&format!("{CONTENT}/x"))?;
        let folders: BTreeSet<&str> = files.filter_map(|name| Some(name.rsplit_once('/')?.0)).chain([""]).collect();
        folders.into_iter().try_for_each(|folder| self.path(&format!("{LATEST}/{folder}/x")).map(drop))
    }

    pub(super) fn put(&self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        self.path(&format!("{MAKING}/x"))?;
        let path = self.path(name)?;
        let folder = path.parent().unwrap_or(&self.root);
        let making = self.root.join(MAKING);
        for folder in [folder, &making] {
            fs::create_dir_all(folder).map_err(PathError::at(folder))?;
        }
        Ok(write_atomic_from(&making, &path, bytes)?)
    }

    /// Makes everything that was put durable.
    pub(super) fn sync(&self) -> Result<(), Error> {
        if self.root.is_dir() { Ok(sync_below(&self.root)?) } else { Ok(()) }
    }

    pub(super) fn get(&self, name: &str, limit: u64) -> Result<Option<Vec<u8>>, Error> {
        let path = self.path(name)?;
        let root = match self.root.canonicalize() {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            other => other.map_err(PathError::at(&self.root))?,
        };
        match read_bounded(&path, &root, limit) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(ReadError::NotFound) => Ok(None),
            Err(error) => Err(Error::ReadTarget { path: path.display().to_string(), error }),
        }
    }

    /// Whether the name is a regular file with these bytes, not a symbolic link.
    pub(super) fn holds(&self, name: &str, bytes: &[u8]) -> Result<bool, Error> {
        if self.path(name)?.is_symlink() {
            return Ok(false);
        }
        match self.get(name, bytes.len() as u64) {
            Err(Error::ReadTarget { error: ReadError::TooLarge { .. }, .. }) => Ok(false),
            found => Ok(found?.is_some_and(|found| found == bytes)),
        }
    }

    /// Modification time in seconds since 1970; `None` if the file system does not know it.
    pub(super) fn modified(&self, name: &str) -> Result<Option<i64>, Error> {
        let modified = self.path(name)?.symlink_metadata().and_then(|metadata| metadata.modified());
        Ok(modified.ok().map(|time| OffsetDateTime::from(time).unix_timestamp()))
    }

    pub(super) fn remove(&self, name: &str) -> Result<(), Error> {
        let path = self.path(name)?;
        // A directory of this name was not published by this program, and stays.
        if path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()) {
            return Ok(());
        }
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(PathError { path, error }.into()),
            _ => {}
        }
        // Removes parent folders that are empty now; `remove_dir` fails for others.
        for folder in path.ancestors().skip(1).take_while(|folder| **folder != self.root) {
            if fs::remove_dir(folder).is_err() {
                break;
            }
        }
        Ok(())
    }

    pub(super) fn list(&self, folder: &str) -> Result<Vec<String>, Error> {
        self.path(&format!("{folder}/x"))?;
        let mut found = Vec::new();
        let mut folders = vec![String::new()];
        while let Some(below) = folders.pop() {
            for (name, is_folder) in items(&self.root.join(folder).join(&below))? {
                let name = if below.is_empty() { name } else { format!("{below}/{name}") };
                if is_folder { folders.push(name) } else { found.push(name) }
            }
        }
        Ok(found)
    }

    /// The names of the files directly in a folder.
    pub(super) fn names(&self, folder: &str) -> Result<Vec<String>, Error> {
        self.path(&format!("{folder}/x"))?;
        let files = items(&self.root.join(folder))?.into_iter().filter(|(_, is_folder)| !is_folder);
        Ok(files.map(|(name, _)| name).collect())
    }

    pub(super) fn folders(&self) -> Result<Vec<String>, Error> {
        let folders = items(&self.root)?.into_iter().filter(|(_, is_folder)| *is_folder);
        Ok(folders.map(|(name, _)| name).collect())
    }

    /// Waits for the lock, then removes temporary files that a killed publisher left behind.
    pub(super) async fn lock(&self, turns: LeaseTimes, notice: Notice<'_>) -> Result<Lock, Error> {
        let path = self.path(LOCK)?;
        let folder = path.parent().unwrap_or(&self.root);
        fs::create_dir_all(folder).map_err(PathError::at(folder))?;
        let began = Instant::now();
        let mut is_told = false;
        loop {
            match Lock::ask(&path, "publish")? {
                Acquisition::Mine(lock) => {
                    let making = self.root.join(MAKING);
                    match fs::remove_dir_all(&making) {
                        Err(error) if error.kind() != ErrorKind::NotFound => {
                            return Err(PathError::at(&making)(error).into());
                        }
                        _ => return Ok(lock),
                    }
                }
                Acquisition::Held(holder) => {
                    let holder = printable(&holder).into_owned();
                    if began.elapsed() >= turns.wait {
                        return Err(Error::Busy { place: self.shown(""), holder });
                    }
                    if !is_told {
                        is_told = true;
                        notice(UploadEvent::Waiting(holder));
                    }
                    tokio::time::sleep(INTERVAL).await;
                }
            }
        }
    }
}

/// The names in a folder, and whether each is a folder; empty if the folder does not exist. Names that are not UTF-8
/// are skipped, because no published file has one.
fn items(folder: &Path) -> Result<Vec<(String, bool)>, Error> {
    let items = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        items => items.map_err(PathError::at(folder))?,
    };
    let mut found = Vec::new();
    for item in items {
        let item = item.map_err(PathError::at(folder))?;
        let is_folder = item.file_type().map_err(PathError::at(folder))?.is_dir();
        found.extend(item.file_name().into_string().ok().map(|name| (name, is_folder)));
    }
    Ok(found)
}
