//! Unpacked packages of npm, each once, by the digest of its archive.
//!
//! ```text
//! DIRECTORY/ab/cdef…/files.json, files/…    a package: what it has, and its files, which installations share
//! DIRECTORY/ab/cdef….lock, cdef….new        while it is fetched
//! ```
//!
//! A package is renamed to its place when it is whole. Files are not hashed again when they are shared: like the size, the
//! time of the last change says whether one is as it was unpacked, and one that is not is fetched again. Who can write there
//! as the caller can also change what is installed.

use std::collections::BTreeSet;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use acp_registry_archive::{self as archive, Limits, UnsafeReason, unpack_package};
use acp_registry_host::fs::{FileSharing, Folder, PathError, is_full, read_bounded, refuse_cancelled, write_new};
use acp_registry_host::lock::{Acquisition, Lock};
use acp_registry_host::process::Scratch;
use acp_registry_http::{Client, FetchError, Problem, Sink};
use acp_registry_plan::json;
use rayon::prelude::*;
use ring::digest::{Context, SHA512};
use serde::{Deserialize, Serialize};
use url::Url;

use super::cache::{FileState, set_mode};
use super::{Error, cancellable};

/// The largest list of a package's files that is read, in bytes.
const FILES_LIMIT: u64 = 64 << 20;

/// How long another process may take to fetch a package.
const PATIENCE: Duration = Duration::from_mins(30);

const LIST: &str = "files.json";
const FILES: &str = "files";

/// A SHA-512.
pub(super) type Digest = [u8; 64];

/// Why a package, or a tree of them, was not made.
pub(super) enum Stop {
    /// npm can make it.
    ByNpm(String),
    /// npm can make it, or says more of why it cannot be made.
    Doubtful(Error),
    /// npm is not asked either.
    Failed(Error),
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ByNpm(problem) => f.write_str(problem),
            Self::Doubtful(error) | Self::Failed(error) => error.fmt(f),
        }
    }
}

impl From<PathError> for Stop {
    fn from(error: PathError) -> Self {
        // npm would find no more room, and say less of it.
        if is_full(&error.error) || error.error.kind() == io::ErrorKind::FileTooLarge {
            return Self::Failed(error.into());
        }
        Self::Doubtful(error.into())
    }
}

impl From<FetchError> for Stop {
    fn from(error: FetchError) -> Self {
        match error.problem {
            // npm has no limit, and goes to any host.
            Problem::TooLarge { .. } | Problem::Refused(_) => Self::Failed(Error::Fetch(error)),
            _ => Self::Doubtful(Error::Fetch(error)),
        }
    }
}

impl From<archive::Error> for Stop {
    fn from(error: archive::Error) -> Self {
        match error {
            // Of such names, npm keeps what the file system keeps.
            archive::Error::Unsafe { reason: UnsafeReason::CaseCollision { .. }, .. } => Self::ByNpm(error.to_string()),
            archive::Error::Unsafe { .. } | archive::Error::TooLarge(_) => Self::Failed(error.into()),
            archive::Error::Write(error) | archive::Error::Spool(error) => error.into(),
            _ => Self::Doubtful(error.into()),
        }
    }
}

/// The directory.
pub(super) struct PackageStore<'a> {
    pub(super) directory: &'a Path,
}

/// A package that is there.
#[derive(Debug)]
pub(super) struct StoredPackage {
    directory: PathBuf,
    list: FileList,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct FileList {
    schema: u32,
    files: Vec<StoredFile>,
    /// Files that install scripts have removed from the tree.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    removed: Vec<String>,
    /// Directories that they have made or changed, with their permission bits, those above others first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    directories: Vec<(String, u32)>,
    /// The directory of the tree, where a file that install scripts have made names it: it is of use there alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    directory: Option<PathBuf>,
}

/// What install scripts have changed in a tree.
#[derive(Default)]
pub(super) struct TreeChanges {
    /// Files that are new or have changed, below `node_modules`.
    pub(super) files: Vec<String>,
    pub(super) removed: Vec<String>,
    /// Directories that are new or have other permission bits, those above others first.
    pub(super) directories: Vec<(String, u32)>,
    /// The directory of the tree, if a file names it.
    pub(super) directory: Option<PathBuf>,
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredFile(String, FileState);

impl PackageStore<'_> {
    /// Where a package is, or would be.
    fn place(&self, digest: &Digest) -> PathBuf {
        let text: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        self.directory.join(&text[..2]).join(&text[2..])
    }

    /// A package, if it is there.
    pub(super) fn find(&self, digest: &Digest) -> Option<StoredPackage> {
        let directory = self.place(digest);
        let bytes = read_bounded(&directory.join(LIST), &directory, FILES_LIMIT).ok()?;
        let list: FileList = json::whole(&bytes).ok()?;
        let directories = list.directories.iter().map(|directory| &directory.0);
        let mut paths = list.files.iter().map(|file| &file.0).chain(&list.removed).chain(directories);
        let is_safe = paths.all(|path| is_below(path));
        (list.schema == 1 && is_safe).then_some(StoredPackage { directory, list })
    }

    /// Like [`Self::find`], for a package, which has files.
    pub(super) fn find_package(&self, digest: &Digest) -> Option<StoredPackage> {
        self.find(digest).filter(|package| !package.list.files.is_empty())
    }

    /// What install scripts have made in the tree of a directory.
    pub(super) fn find_made(&self, digest: &Digest, directory: &Path) -> Option<StoredPackage> {
        self.find(digest).filter(|made| made.list.directory.as_deref().is_none_or(|place| place == directory))
    }

    /// Fetches a package, unless another process does, and unpacks it.
    pub(super) async fn fetch(
        &self,
        digest: &Digest,
        url: &Url,
        client: &Client,
        limits: &Limits,
        is_stale: bool,
    ) -> Result<StoredPackage, Stop> {
        let place = self.place(digest);
        let lock = place.with_extension("lock");
        let holder = "fetching a package";
        let lock = Lock::wait(&lock, holder, PATIENCE, &|_| ()).await?.map_err(Stop::ByNpm)?;
        let lock = RemovedLock(Some(lock));
        if !is_stale && let Some(package) = self.find_package(digest) {
            return Ok(package);
        }
        let file = tempfile::tempfile_in(self.directory).map_err(PathError::at(self.directory))?;
        let mut sink = Verifying { file: &file, context: Context::new(&SHA512) };
        client.download_from_source(url, limits.compressed, &mut sink).await.map_err(|error| match error.problem {
            Problem::Disk { message, is_full } => {
                let kind = if is_full { io::ErrorKind::StorageFull } else { io::ErrorKind::FileTooLarge };
                PathError::at(self.directory)(io::Error::new(kind, message)).into()
            }
            _ => Stop::from(error),
        })?;
        if sink.context.finish().as_ref() != digest {
            // npm says which package has other bytes.
            return Err(Stop::Doubtful(Error::OtherBytes(acp_registry_http::shown(url))));
        }
        let limits = *limits;
        let work = move |is_cancelled: &AtomicBool| {
            let _lock = lock;
            // A part of a package has no use, and may be what fills the disk.
            unpack(file, &limits, &place, is_cancelled).inspect_err(|_| drop(remove(&place.with_extension("new"))))
        };
        cancellable(work).await.unwrap_or_else(|error| Err(archive::Error::Read(error).into()))
    }

    /// Keeps what install scripts have changed in a tree, by a digest of all that they depend on, unless another process does.
    pub(super) fn keep(
        &self,
        digest: &Digest,
        tree: &Path,
        changes: TreeChanges,
        is_cancelled: &AtomicBool,
    ) -> Result<(), Stop> {
        let place = self.place(digest);
        let lock = place.with_extension("lock");
        if let Some(folder) = lock.parent() {
            fs::create_dir_all(folder).map_err(PathError::at(folder))?;
        }
        let Acquisition::Mine(lock) = Lock::ask(&lock, "keeping what install scripts have made")? else {
            return Ok(());
        };
        let _lock = RemovedLock(Some(lock));
        let new = place.with_extension("new");
        remove(&new)?;
        let copied = copy_changes(tree, changes, &new, is_cancelled);
        // A part has no use.
        copied.and_then(|list| finish(&list, &new, &place)).inspect_err(|_| drop(remove(&new)))
    }
}

/// Copies what has changed in a tree to a new directory. Returns its list.
fn copy_changes(tree: &Path, changes: TreeChanges, new: &Path, is_cancelled: &AtomicBool) -> Result<FileList, Stop> {
    let TreeChanges { files, removed, directories, directory } = changes;
    let kept = Vec::with_capacity(files.len());
    let mut list = FileList { schema: 1, files: kept, removed, directories, directory };
    for path in files {
        refuse_cancelled(is_cancelled, tree)?;
        let (from, to) = (tree.join(&path), new.join(FILES).join(&path));
        let folder = to.parent().unwrap_or(&to);
        fs::create_dir_all(folder).map_err(PathError::at(folder))?;
        fs::copy(&from, &to).map_err(PathError::at(&from))?;
        let metadata = to.symlink_metadata().map_err(PathError::at(&to))?;
        list.files.push(StoredFile(path, FileState::from(&metadata)));
    }
    fs::create_dir_all(new.join(FILES)).map_err(PathError::at(new))?;
    Ok(list)
}

/// Unpacks a package beside its place, where nothing else writes, and then moves it there.
fn unpack(file: File, limits: &Limits, place: &Path, is_cancelled: &AtomicBool) -> Result<StoredPackage, Stop> {
    let new = place.with_extension("new");
    remove(&new)?;
    let files = new.join(FILES);
    fs::create_dir_all(&files).map_err(PathError::at(&files))?;
    let listing = unpack_package(file, limits, &files, is_cancelled)?;
    let mut list = FileList { schema: 1, ..FileList::default() };
    for entry in listing.entries.into_iter().filter(|entry| entry.kind == archive::EntryKind::File) {
        let path = files.join(&entry.path);
        let metadata = path.symlink_metadata().map_err(PathError::at(&path))?;
        list.files.push(StoredFile(entry.path, FileState::from(&metadata)));
    }
    if list.files.is_empty() {
        return Err(Stop::ByNpm("a package has no files".to_owned()));
    }
    list.files.sort_by(|a, b| a.0.cmp(&b.0));
    list.files.dedup_by(|a, b| a.0 == b.0);
    finish(&list, &new, place)?;
    Ok(StoredPackage { directory: place.to_owned(), list })
}

/// Moves new files to their place, with their list.
fn finish(list: &FileList, new: &Path, place: &Path) -> Result<(), Stop> {
    write_new(&new.join(LIST), json::to_string(list).as_bytes())?;
    // What is there is damaged.
    remove(place)?;
    fs::rename(new, place).map_err(PathError::at(place))?;
    Ok(())
}

/// Whether a path of a list leads below the directory that it is for.
fn is_below(path: &str) -> bool {
    Path::new(path).components().all(|part| matches!(part, Component::Normal(_)))
}

/// Removes a directory, also one with directories that may not be written to, or what is in its place.
pub(super) fn remove(directory: &Path) -> Result<(), PathError> {
    match directory.symlink_metadata() {
        Ok(found) if found.is_dir() => Scratch::adopt(directory).remove(),
        Ok(_) => fs::remove_file(directory).map_err(PathError::at(directory)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(PathError::at(directory)(error)),
    }
}

impl StoredPackage {
    /// Whether it has a file.
    pub(super) fn has(&self, path: &str) -> bool {
        self.list.files.binary_search_by(|file| file.0.as_str().cmp(path)).is_ok()
    }

    /// How many files it has, and their bytes.
    pub(super) fn size(&self) -> (u64, u64) {
        let bytes = self.list.files.iter().map(|file| file.1.size).fold(0, u64::saturating_add);
        (self.list.files.len() as u64, bytes)
    }

    /// Whether all files are as they were unpacked.
    pub(super) fn is_intact(&self) -> bool {
        self.open().is_ok_and(|files| self.list.files.iter().all(|file| file.is_unchanged(&files)))
    }

    fn open(&self) -> Result<Folder, PathError> {
        let files = self.directory.join(FILES);
        Folder::open(&files).map_err(PathError::at(&files))
    }

    /// Puts its files into a new directory. Returns whether all of them are as they were unpacked.
    pub(super) fn share(
        &self,
        into: &Path,
        sharing: &FileSharing,
        is_cancelled: &AtomicBool,
    ) -> Result<bool, PathError> {
        self.put(into, sharing, false, is_cancelled)
    }

    /// Changes a tree as install scripts have. Returns whether all files are as they were kept.
    pub(super) fn apply(
        &self,
        tree: &Path,
        sharing: &FileSharing,
        is_cancelled: &AtomicBool,
    ) -> Result<bool, PathError> {
        for path in &self.list.removed {
            let path = tree.join(path);
            fs::remove_file(&path).map_err(PathError::at(&path))?;
        }
        if !self.put(tree, sharing, true, is_cancelled)? {
            return Ok(false);
        }
        for (path, _) in &self.list.directories {
            refuse_cancelled(is_cancelled, tree)?;
            let place = tree.join(path);
            fs::create_dir_all(&place).map_err(PathError::at(&place))?;
        }
        // Nothing can be put into some of them afterwards.
        for (path, mode) in self.list.directories.iter().rev() {
            let place = tree.join(path);
            set_mode(&place, *mode).map_err(PathError::at(&place))?;
        }
        Ok(true)
    }

    fn put(
        &self,
        into: &Path,
        sharing: &FileSharing,
        replaces: bool,
        is_cancelled: &AtomicBool,
    ) -> Result<bool, PathError> {
        let folders: BTreeSet<&str> =
            self.list.files.iter().filter_map(|file| Some(file.0.rsplit_once('/')?.0)).chain([""]).collect();
        for folder in folders {
            refuse_cancelled(is_cancelled, into)?;
            let place = into.join(folder);
            fs::create_dir_all(&place).map_err(PathError::at(&place))?;
        }
        // Another process fetches it again.
        let Ok(from) = self.open() else { return Ok(false) };
        let to = Folder::open(into).map_err(PathError::at(into))?;
        // A bundle is one package of many files.
        let put = |file: &StoredFile| {
            refuse_cancelled(is_cancelled, into)?;
            if !file.is_unchanged(&from) {
                return Ok(false);
            }
            if replaces {
                let _ = fs::remove_file(into.join(&file.0));
            }
            match sharing.share(&file.0, &from, &to) {
                // Another process fetches it again.
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
                shared => shared.map(|()| true).map_err(PathError::at(&into.join(&file.0))),
            }
        };
        self.list.files.par_iter().map(put).try_reduce(|| true, |one, other| Ok(one && other))
    }
}

impl StoredFile {
    /// Whether it is as it was unpacked.
    fn is_unchanged(&self, files: &Folder) -> bool {
        files.state(&self.0).is_ok_and(|found| found.map(FileState::from) == Some(self.1))
    }
}

/// A lock whose file goes with it.
struct RemovedLock(Option<Lock>);

impl Drop for RemovedLock {
    fn drop(&mut self) {
        if let Some(lock) = self.0.take() {
            lock.remove();
        }
    }
}

/// Takes a download to a file, and computes its digest.
struct Verifying<'a> {
    file: &'a File,
    context: Context,
}

impl Sink for Verifying<'_> {
    fn begin(&mut self, _length: Option<u64>) {}

    fn take(&mut self, piece: &[u8]) -> io::Result<()> {
        self.context.update(piece);
        self.file.write_all(piece)
    }
}
