//! Where npm and uv keep what they have fetched from one installation to the next.

use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use acp_registry_host::fs::{PathError, files_below, make_private, write_new};
use acp_registry_host::lock::{Acquisition, Lock, mark_used};
use acp_registry_host::owner;
use acp_registry_host::process::Scratch;
use serde::{Deserialize, Serialize};

/// The caches of npm and uv below one directory, shared by all installations and by nothing else.
///
/// Installations trust the content of the caches. npm compares an archive with the integrity value in the description
/// of its package, but takes descriptions from its cache as well; uv does not check again what it has unpacked, and
/// links files into environments instead of copying them. Agents in a sandbox, and those that run as users of their
/// own, cannot write there. An agent that runs as the caller can write there, as it can change all other files of the
/// caller, such as the package managers: checking the cached files would not protect against it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageCache {
    directory: PathBuf,
}

/// The caches during an installation.
pub(super) struct Open {
    pub(super) npm: PathBuf,
    pub(super) uv: PathBuf,
    /// Unpacked packages of npm.
    pub(super) packages: PathBuf,
    /// What the first Node.js of `PATH` has answered.
    pub(super) node: PathBuf,
    /// Keeps [`PackageCache::shrink`] away.
    _mark: fs::File,
}

impl PackageCache {
    /// The caches below a directory, which is made when something is installed.
    #[must_use]
    pub fn at(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into() }
    }

    /// Makes the caches, for their owner only, and marks them as used; `None` where that fails, since caches are
    /// optional, or where other users could change them.
    pub(super) fn open(&self) -> Option<Open> {
        let node = self.directory.join("node.json");
        let [npm, uv, packages] = self.folders();
        for folder in [&npm, &uv, &packages] {
            make_private(folder).ok()?;
            if owner::problem(folder).is_some() {
                return None;
            }
        }
        let marker = self.marker();
        if !marker.exists() {
            // Another installation may have made it.
            let _ = write_new(&marker, b"");
        }
        Some(Open { npm, uv, packages, node, _mark: mark_used(&marker)? })
    }

    /// Removes the caches when they have more bytes than `limit`, without those that installations share, unless something is
    /// being installed. Returns how many bytes are free now.
    ///
    /// # Errors
    /// [`PathError`] when something cannot be read or removed.
    pub fn shrink(&self, limit: u64) -> Result<u64, PathError> {
        if !self.marker().exists() {
            return Ok(0);
        }
        let Acquisition::Mine(_lock) = Lock::ask(&self.marker(), "emptying the caches of npm and uv")? else {
            return Ok(0);
        };
        let size = self.surplus(limit)?;
        if size == 0 {
            return Ok(0);
        }
        let [npm, uv, packages] = self.folders();
        let unused = unused_packages(&packages);
        for path in [npm, uv].into_iter().chain(unused) {
            if path.is_file() {
                fs::remove_file(&path).map_err(PathError::at(&path))?;
            } else {
                Scratch::adopt(&path).remove()?;
            }
        }
        Ok(size)
    }

    /// Empties uv's cache, unless something is being installed. Returns whether it is empty now.
    pub(super) fn empty_uv(&self) -> bool {
        let [_, uv, _] = self.folders();
        if !uv.exists() {
            return true;
        }
        let answer = Lock::ask(&self.marker(), "emptying the cache of uv");
        matches!(answer, Ok(Acquisition::Mine(_))) && Scratch::adopt(&uv).remove().is_ok()
    }

    /// How many bytes [`PackageCache::shrink`] would free; nothing is removed.
    ///
    /// # Errors
    /// [`PathError`] when something cannot be read.
    pub fn surplus(&self, limit: u64) -> Result<u64, PathError> {
        let mut size = 0;
        let [npm, uv, packages] = self.folders();
        for folder in [npm, uv].iter().filter(|folder| folder.exists()) {
            size += files_below(folder)?.iter().map(|(_, bytes)| bytes).sum::<u64>();
        }
        // What installations share is not freed, nor are the lists beside it.
        for path in unused_packages(&packages) {
            size += if path.is_dir() {
                files_below(&path)?.iter().map(|(_, bytes)| bytes).sum::<u64>()
            } else {
                path.symlink_metadata().map_or(0, |file| file.len())
            };
        }
        Ok(if size > limit { size } else { 0 })
    }

    fn folders(&self) -> [PathBuf; 3] {
        ["npm", "uv", "packages"].map(|name| self.directory.join(name))
    }

    fn marker(&self) -> PathBuf {
        self.directory.join("packages.lock")
    }
}

/// The directories of unpacked packages whose files no installation shares, and what interrupted downloads have left. What a
/// link leads to is not the cache's.
fn unused_packages(directory: &Path) -> Vec<PathBuf> {
    let below = |directory: &Path| {
        let items = (!directory.is_symlink()).then(|| fs::read_dir(directory).ok()).flatten();
        items.into_iter().flatten().flatten().map(|item| item.path()).collect::<Vec<_>>()
    };
    let is_shared =
        |folder: &PathBuf| files_below(folder).is_ok_and(|files| files.iter().any(|(path, _)| has_other_names(path)));
    below(directory).iter().flat_map(|folder| below(folder)).filter(|package| !is_shared(package)).collect()
}

/// Whether a file is a hard link, whose bytes stay when it is removed.
fn has_other_names(path: &Path) -> bool {
    #[cfg(unix)]
    return path.symlink_metadata().is_ok_and(|found| std::os::unix::fs::MetadataExt::nlink(&found) > 1);
    #[cfg(not(unix))]
    return path.as_os_str().is_empty();
}

/// By what a change of a kept file is seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileState {
    /// Bytes.
    pub(super) size: u64,
    /// When it was changed, in nanoseconds since 1970.
    modified: u64,
    /// Its permission bits, on Unix.
    mode: u32,
}

impl From<(u64, SystemTime, u32)> for FileState {
    fn from((size, modified, mode): (u64, SystemTime, u32)) -> Self {
        let since = modified.duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { size, modified: u64::try_from(since.as_nanos()).unwrap_or(u64::MAX), mode }
    }
}

impl From<&Metadata> for FileState {
    fn from(metadata: &Metadata) -> Self {
        (metadata.len(), metadata.modified().unwrap_or(UNIX_EPOCH), mode(metadata)).into()
    }
}

/// The permission bits of a file, which only Unix has.
pub(super) fn mode(metadata: &Metadata) -> u32 {
    #[cfg(unix)]
    return std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o7777;
    #[cfg(not(unix))]
    {
        let _ = metadata;
        0
    }
}

/// Sets the permission bits of a file or directory.
pub(super) fn set_mode(path: &Path, mode: u32) -> std::io::Result<()> {
    #[cfg(unix)]
    return fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode));
    #[cfg(not(unix))]
    {
        let _ = (path, mode);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asks again while a child of another test, which is this process until it becomes its program, has a lock.
    fn asked<T>(ask: impl Fn() -> Option<T>) -> T {
        loop {
            if let Some(answer) = ask() {
                return answer;
            }
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_cache_is_emptied_when_it_is_too_large_and_not_in_use() {
        let folder = tempfile::tempdir().unwrap();
        let cache = PackageCache::at(folder.path().join("a/b"));
        assert_eq!(cache.shrink(0).unwrap(), 0);
        let open = asked(|| cache.open());
        fs::create_dir(open.npm.join("x")).unwrap();
        fs::write(open.npm.join("x/y"), [0; 60]).unwrap();
        fs::write(open.uv.join("z"), [0; 40]).unwrap();
        assert_eq!(cache.shrink(10).unwrap(), 0);
        drop(open);
        assert_eq!(cache.shrink(100).unwrap(), 0);
        assert_eq!((cache.surplus(99).unwrap(), cache.surplus(100).unwrap()), (100, 0));
        assert_eq!(asked(|| Some(cache.shrink(99).unwrap()).filter(|bytes| *bytes > 0)), 100);
        assert!(!folder.path().join("a/b/npm").exists() && !folder.path().join("a/b/uv").exists());
        let open = asked(|| cache.open());
        fs::write(open.uv.join("z"), "x").unwrap();
        assert!(!cache.empty_uv(), "something is being installed");
        drop(open);
        asked(|| cache.empty_uv().then_some(()));
        assert!(cache.empty_uv(), "it is empty");
        assert!(folder.path().join("a/b/npm").exists() && !folder.path().join("a/b/uv").exists());
        fs::write(folder.path().join("file"), "").unwrap();
        assert!(PackageCache::at(folder.path().join("file")).open().is_none());
    }

    #[cfg(unix)]
    #[test]
    fn packages_that_installations_share_stay_and_count_for_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let cache = PackageCache::at(folder.path().join("a"));
        let open = asked(|| cache.open());
        for (name, bytes) in [("ab/shared", 60), ("ab/unused", 40), ("cd/left.new", 5)] {
            let package = open.packages.join(name).join("files");
            fs::create_dir_all(&package).unwrap();
            fs::write(package.join("file"), vec![0; bytes]).unwrap();
        }
        fs::write(open.packages.join("cd/left.lock"), "").unwrap();
        // It stays with the files that it lists.
        fs::write(open.packages.join("ab/shared/files.json"), "list").unwrap();
        fs::hard_link(open.packages.join("ab/shared/files/file"), folder.path().join("installed")).unwrap();
        drop(open);
        assert_eq!((cache.surplus(44).unwrap(), cache.surplus(45).unwrap()), (45, 0));
        assert_eq!(asked(|| Some(cache.shrink(44).unwrap()).filter(|bytes| *bytes > 0)), 45);
        let packages = folder.path().join("a/packages");
        let left = files_below(&packages).unwrap();
        assert_eq!(
            left.iter().map(|(path, _)| path.strip_prefix(&packages).unwrap().to_str().unwrap()).collect::<Vec<_>>(),
            ["ab/shared/files.json", "ab/shared/files/file"]
        );
        fs::remove_file(folder.path().join("installed")).unwrap();
        assert_eq!(asked(|| Some(cache.shrink(0).unwrap()).filter(|bytes| *bytes > 0)), 64);
    }

    #[cfg(unix)]
    #[test]
    fn what_a_link_in_a_cache_leads_to_stays_and_counts_for_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let pictures = folder.path().join("pictures");
        fs::create_dir_all(pictures.join("2025")).unwrap();
        fs::write(pictures.join("2025/a.jpg"), [0; 60]).unwrap();
        for place in ["npm", "uv", "packages", "packages/ab", "packages/ab/mine"] {
            let cache = PackageCache::at(folder.path().join(place.replace('/', "-")));
            let open = asked(|| cache.open());
            fs::write(open.npm.join("own"), [0; 1000]).unwrap();
            let link = cache.directory.join(place);
            fs::create_dir_all(&link).unwrap();
            fs::remove_dir_all(&link).unwrap();
            std::os::unix::fs::symlink(&pictures, &link).unwrap();
            drop(open);
            let size = cache.surplus(0).unwrap();
            assert!(size == if place == "npm" { 0 } else { 1000 }, "{place}: {size}");
            cache.shrink(0).unwrap();
            assert!(pictures.join("2025/a.jpg").exists(), "{place}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn it_is_private_to_its_owner() {
        use std::os::unix::fs::PermissionsExt as _;

        let folder = tempfile::tempdir().unwrap();
        let open = PackageCache::at(folder.path().join("a")).open().unwrap();
        for path in [&open.npm, &open.uv] {
            assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        }
        // A user who can write there decides what is installed.
        let cache = PackageCache::at(folder.path().join("a"));
        for path in [open.uv, open.npm] {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
            assert!(cache.open().is_none());
            fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
        }
        assert!(cache.open().is_some());
    }
}
