//! Directories accessed through file descriptors.
//!
//! A program that can write to a parent directory can replace a part of a path by a link at any time. A file descriptor
//! still refers to the same directory.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, fchmod, fstat, linkat, mkdirat, openat, renameat, statat, unlinkat,
};
use rustix::io::Errno;

/// An open directory. Names are those of direct entries, and links are never followed, where nothing else is said.
#[derive(Debug)]
pub(crate) struct OpenDirectory(OwnedFd);

impl OpenDirectory {
    /// Opens a directory. A link at the path itself is an error; links in parent directories are followed.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Ok(open_at(CWD, path.as_os_str())?)
    }

    /// Opens a directory, and gives its owner all permissions.
    pub(crate) fn unlock(path: &Path) -> io::Result<Self> {
        Ok(unlock_at(CWD, path.as_os_str())?)
    }

    /// Opens a directory in this one.
    pub(crate) fn enter(&self, name: &OsStr) -> io::Result<Self> {
        Ok(open_at(self.0.as_fd(), name)?)
    }

    /// Opens a directory in this one, and gives its owner all permissions.
    pub(crate) fn enter_unlocked(&self, name: &OsStr) -> io::Result<Self> {
        Ok(unlock_at(self.0.as_fd(), name)?)
    }

    /// Opens a regular file in this directory for reading; `None` for anything else.
    #[cfg(target_os = "linux")]
    pub(crate) fn file(&self, name: &OsStr) -> io::Result<Option<std::fs::File>> {
        let is_file = |stat: rustix::fs::Stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        // Opening a device can have side effects.
        if !is_file(statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW)?) {
            return Ok(None);
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = openat(&self.0, name, flags, Mode::empty())?;
        Ok(is_file(fstat(&file)?).then(|| file.into()))
    }

    /// The size of a file in bytes, when it was changed, 1970 at the earliest, and its permission bits; `None` for what is no
    /// regular file. The path may lead through directories, whose links are followed.
    pub(crate) fn state(&self, path: &str) -> io::Result<Option<(u64, SystemTime, u32)>> {
        let stat = statat(&self.0, path, AtFlags::SYMLINK_NOFOLLOW)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Ok(None);
        }
        let nanoseconds = u32::try_from(stat.st_mtime_nsec).unwrap_or_default();
        let since = u64::try_from(stat.st_mtime).map_or(Duration::ZERO, |seconds| Duration::new(seconds, nanoseconds));
        let changed = UNIX_EPOCH.checked_add(since).unwrap_or(UNIX_EPOCH);
        Ok(Some((u64::try_from(stat.st_size).unwrap_or_default(), changed, stat.st_mode & 0o7777)))
    }

    /// Gives a file a second name, at the same path below another directory. The path may lead through directories, whose
    /// links are followed.
    pub(crate) fn link(&self, path: &str, target: &Self) -> io::Result<()> {
        Ok(linkat(&self.0, path, &target.0, path, AtFlags::empty())?)
    }

    /// The permission bits.
    #[cfg(target_os = "linux")]
    pub(crate) fn mode(&self) -> io::Result<u32> {
        Ok(fstat(&self.0)?.st_mode & 0o7777)
    }

    /// Sets the permission bits.
    #[cfg(target_os = "linux")]
    pub(crate) fn set_mode(&self, mode: u32) -> io::Result<()> {
        Ok(fchmod(&self.0, Mode::from_raw_mode(mode))?)
    }

    /// The names of all entries, and whether each is a directory.
    pub(crate) fn entries(&self) -> io::Result<Vec<(OsString, bool)>> {
        let mut entries = Vec::new();
        for entry in Dir::read_from(&self.0)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            let kind = match entry.file_type() {
                FileType::Unknown => match statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(stat) => FileType::from_raw_mode(stat.st_mode),
                    // The entry was removed meanwhile.
                    Err(_) => continue,
                },
                kind => kind,
            };
            entries.push((name.to_owned(), kind == FileType::Directory));
        }
        Ok(entries)
    }

    /// Creates a directory in this one, private to its owner.
    pub(crate) fn make(&self, name: &OsStr) -> io::Result<Self> {
        mkdirat(&self.0, name, Mode::from_raw_mode(0o700))?;
        self.enter(name)
    }

    /// Moves an entry into another directory.
    pub(crate) fn move_to(&self, name: &OsStr, target: &Self, new: &OsStr) -> io::Result<()> {
        Ok(renameat(&self.0, name, &target.0, new)?)
    }

    /// Removes an entry that is not a directory. A missing entry is not an error.
    pub(crate) fn remove(&self, name: &OsStr) -> io::Result<()> {
        removed(unlinkat(&self.0, name, AtFlags::empty()))
    }

    /// Removes an empty directory. A missing one is not an error.
    pub(crate) fn remove_empty(&self, name: &OsStr) -> io::Result<()> {
        removed(unlinkat(&self.0, name, AtFlags::REMOVEDIR))
    }
}

fn removed(result: rustix::io::Result<()>) -> io::Result<()> {
    match result {
        Err(Errno::NOENT) => Ok(()),
        result => Ok(result?),
    }
}

fn open_at(parent: BorrowedFd<'_>, name: &OsStr) -> rustix::io::Result<OpenDirectory> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(parent, name, flags, Mode::empty()).map(OpenDirectory)
}

fn unlock_at(parent: BorrowedFd<'_>, name: &OsStr) -> rustix::io::Result<OpenDirectory> {
    let held = match open_at(parent, name) {
        Err(Errno::ACCESS) => {
            unlock_closed(parent, name)?;
            open_at(parent, name)?
        }
        other => other?,
    };
    if !Mode::from_raw_mode(fstat(&held.0)?.st_mode).contains(Mode::RWXU) {
        fchmod(&held.0, Mode::RWXU)?;
    }
    Ok(held)
}

/// Gives the owner all permissions to a directory that cannot be opened.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn unlock_closed(parent: BorrowedFd<'_>, name: &OsStr) -> rustix::io::Result<()> {
    use std::os::fd::AsRawFd as _;

    // A descriptor opened with `O_PATH` needs no read permission. Permissions can be changed through it only by its
    // path in `/proc`.
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let place = openat(parent, name, flags, Mode::empty())?;
    rustix::fs::chmod(format!("/proc/self/fd/{}", place.as_raw_fd()), Mode::RWXU)
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn unlock_closed(parent: BorrowedFd<'_>, name: &OsStr) -> rustix::io::Result<()> {
    rustix::fs::chmodat(parent, name, Mode::RWXU, AtFlags::SYMLINK_NOFOLLOW)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn mode(path: &Path) -> u32 {
        path.metadata().unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn what_takes_the_place_of_a_directory_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let [tree, aside, outside] = ["tree", "aside", "outside"].map(|name| folder.path().join(name));
        for path in [tree.join("inner"), outside.join("inner")] {
            fs::create_dir_all(&path).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(0o000)).unwrap();
        }
        let held = OpenDirectory::open(&tree).unwrap();
        fs::rename(&tree, &aside).unwrap();
        symlink(&outside, &tree).unwrap();
        held.enter_unlocked("inner".as_ref()).unwrap();
        assert_eq!((mode(&aside.join("inner")), mode(&outside.join("inner"))), (0o700, 0));
        unlock_closed(held.0.as_fd(), "inner".as_ref()).unwrap();
        // Links are neither opened nor followed.
        let above = OpenDirectory::open(folder.path()).unwrap();
        assert!(OpenDirectory::open(&tree).is_err() && OpenDirectory::unlock(&tree).is_err());
        assert!(above.enter("tree".as_ref()).is_err() && above.enter_unlocked("tree".as_ref()).is_err());
        assert!(unlock_closed(above.0.as_fd(), "tree".as_ref()).is_err());
        above.move_to("tree".as_ref(), &held, "moved".as_ref()).unwrap();
        assert_eq!(fs::read_link(aside.join("moved")).unwrap(), outside);
        held.remove("moved".as_ref()).unwrap();
        held.remove_empty("inner".as_ref()).unwrap();
        assert_eq!((mode(&outside.join("inner")), held.entries().unwrap()), (0, Vec::new()));
    }
}
