//! Files: reading what strangers wrote, and replacing what programs read.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// Why a file of a registry was not read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// There is no such file.
    #[error("there is no such file")]
    NotFound,
    /// The name belongs to something other than a file.
    #[error("is a {0}, not a regular file")]
    NotAFile(&'static str),
    /// A symbolic link leads out of the directory that was to be read.
    #[error("is a symbolic link that leads out of the registry, or nowhere")]
    Outside,
    /// The file is larger than the limit, in bytes.
    #[error("is larger than {limit} bytes")]
    TooLarge {
        /// The limit.
        limit: u64,
    },
    /// The operating system refused.
    #[error("cannot be read: {0}")]
    Io(io::Error),
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::NotFound { Self::NotFound } else { Self::Io(error) }
    }
}

/// Reads a regular file of at most `limit` bytes.
///
/// Symbolic links are followed as long as they end below `root`, which must be a canonical path. Neither a FIFO nor a
/// device makes this call wait.
///
/// # Errors
/// [`ReadError`], each case by its own name.
pub fn read_bounded(path: &Path, root: &Path, limit: u64) -> Result<Vec<u8>, ReadError> {
    let (file, length) = open_bounded(path, root, limit)?;
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or_default() + 1);
    file.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(ReadError::TooLarge { limit });
    }
    Ok(bytes)
}

/// Opens a regular file that has at most `limit` bytes now, and tells how many. As for [`read_bounded`], it must be below
/// `root`, a canonical path.
///
/// # Errors
/// [`ReadError`], each case by its own name.
pub fn open_bounded(path: &Path, root: &Path, limit: u64) -> Result<(File, u64), ReadError> {
    let file = match open_no_follow(path) {
        Err(error) if is_link_refusal(&error, path) => open_no_follow(&resolve_below(path, root)?)?,
        other => other?,
    };
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(ReadError::NotAFile(kind_of(metadata.file_type())));
    }
    if metadata.len() > limit {
        return Err(ReadError::TooLarge { limit });
    }
    Ok((file, metadata.len()))
}

/// The first symbolic link among the folders that a name goes through, from `root` on, which itself may be one.
#[must_use]
pub fn linked_folder(root: &Path, name: &str) -> Option<PathBuf> {
    let folders = Path::new(name).parent()?.components().scan(root.to_owned(), |path, part| {
        path.push(part);
        Some(path.clone())
    });
    folders.into_iter().find(|folder| folder.is_symlink())
}

/// The real path behind a symbolic link.
///
/// # Errors
/// [`ReadError::Outside`] when it is not below `root`, a canonical path, or there is nothing.
pub fn resolve_below(path: &Path, root: &Path) -> Result<PathBuf, ReadError> {
    path.canonicalize().ok().filter(|real| real.starts_with(root)).ok_or(ReadError::Outside)
}

/// Opens a regular file that a program may have replaced by something else. Links are followed; neither a FIFO nor a device
/// makes this call wait.
///
/// # Errors
/// What the operating system says, or that it is not a regular file.
pub fn open_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    let file = options.read(true).open(path)?;
    let kind = file.metadata()?.file_type();
    if kind.is_file() { Ok(file) } else { Err(io::Error::other(format!("is a {}, not a regular file", kind_of(kind)))) }
}

/// Opens a file or directory for reading. A link is an error; a FIFO does not make this call wait.
#[cfg(unix)]
pub(crate) fn open_no_follow(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;

    use rustix::fs::OFlags;

    // Without NONBLOCK, opening a FIFO waits for a writer. The flags are small positive numbers on every system.
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

#[cfg(unix)]
fn is_link_refusal(error: &io::Error, _path: &Path) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error())
}

/// Opens a file for reading. A link is an error.
#[cfg(not(unix))]
pub(crate) fn open_no_follow(path: &Path) -> io::Result<File> {
    if fs::symlink_metadata(path)?.is_symlink() {
        return Err(io::Error::other("symbolic link"));
    }
    OpenOptions::new().read(true).open(path)
}

#[cfg(not(unix))]
fn is_link_refusal(_error: &io::Error, path: &Path) -> bool {
    path.is_symlink()
}

/// Reads from a place of a file, whatever others who have it open read at the same time.
///
/// # Errors
/// What the operating system says.
#[cfg(unix)]
pub fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, offset)
}

/// The same. It moves the position at which others read, who must therefore do as this does.
#[cfg(windows)]
pub fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, offset)
}

fn kind_of(kind: fs::FileType) -> &'static str {
    if kind.is_dir() {
        return "directory";
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt as _;
        if kind.is_fifo() {
            return "FIFO";
        }
        if kind.is_socket() {
            return "socket";
        }
    }
    "special file"
}

/// How many bytes may still be written below a directory; `None` where that cannot be told.
#[must_use]
pub fn available(directory: &Path) -> Option<u64> {
    #[cfg(unix)]
    {
        let disk = rustix::fs::statvfs(directory).ok()?;
        disk.f_bavail.checked_mul(disk.f_frsize)
    }
    #[cfg(not(unix))]
    {
        let _ = directory;
        None
    }
}

/// What is at a path is not what this program makes there, and is not followed or overwritten.
#[derive(Debug, thiserror::Error)]
#[error("it is {0}")]
pub(super) struct InTheWay(pub(super) &'static str);

/// A path with the error that the operating system gave for it.
#[derive(Debug, thiserror::Error)]
#[error("{}: {error}", path.display())]
pub struct PathError {
    /// The path that was being worked on.
    pub path: PathBuf,
    /// What the operating system said.
    #[source]
    pub error: io::Error,
}

impl PathError {
    /// Whether nothing more can be written to the disk.
    #[must_use]
    pub fn is_full(&self) -> bool {
        matches!(self.error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
    }

    /// What to do about it, where that is the same whatever the path is for.
    #[must_use]
    pub fn remedy(&self) -> Option<&'static str> {
        if self.is_full() {
            return Some("free space on that disk");
        }
        self.error.get_ref()?.is::<InTheWay>().then_some("remove it")
    }

    /// For use with `map_err`.
    pub fn at(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        |error| Self { path: path.to_owned(), error }
    }
}

/// Writes a file so that every reader sees either the old or the new content, whole. A symbolic link is followed; into a
/// device or a FIFO the bytes are written as they come.
///
/// # Errors
/// [`PathError`]; the old file is then still there.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> Result<(), PathError> {
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if real.metadata().is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir()) {
        let write = || OpenOptions::new().write(true).open(&real)?.write_all(bytes);
        return write().map_err(PathError::at(&real));
    }
    write_atomic_from(parent_of(&real), &real, bytes)
}

/// Finds out whether [`write_atomic`] could write a file now, before the work whose result goes there.
///
/// # Errors
/// [`PathError`] when it could not.
pub fn check_writable(path: &Path) -> Result<(), PathError> {
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    match real.metadata() {
        Ok(metadata) if metadata.is_dir() => Err(PathError::at(path)(io::ErrorKind::IsADirectory.into())),
        // Opening a FIFO would wait for its reader.
        Ok(metadata) if !metadata.is_file() => Ok(()),
        _ => temporary_in(parent_of(&real)).map(drop).map_err(PathError::at(path)),
    }
}

/// A temporary file, private to its owner. Its name is not in the error: it says nothing to the person.
fn temporary_in(directory: &Path) -> io::Result<tempfile::NamedTempFile> {
    tempfile::Builder::new().prefix(".tmp-").make_in(directory, |path| {
        let mut options = OpenOptions::new();
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.read(true).write(true).create_new(true).open(path)
    })
}

/// Makes a file in the directory `making`, and then moves it to `path`, so that every reader sees either the old or the new
/// content, whole. Both are on the same file system.
///
/// # Errors
/// [`PathError`]; the old file is then still there.
pub fn write_atomic_from(making: &Path, path: &Path, bytes: &[u8]) -> Result<(), PathError> {
    let write = || -> io::Result<()> {
        let mut file = temporary_in(making)?;
        file.write_all(bytes)?;
        match path.metadata() {
            Ok(old) => fs::set_permissions(file.path(), old.permissions())?,
            Err(_) => make_readable(file.path())?,
        }
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    };
    write().map_err(PathError::at(path))
}

/// Writes a file where nothing is yet: what a program has put there, such as a link to another file, stays as it is.
///
/// # Errors
/// [`PathError`], also when there is something.
pub fn write_new(path: &Path, bytes: &[u8]) -> Result<(), PathError> {
    File::create_new(path).and_then(|mut file| file.write_all(bytes)).map_err(PathError::at(path))
}

/// Temporary files are private to their owner; published ones are for everybody.
#[cfg(unix)]
fn make_readable(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;

    let mode = if path.is_dir() { 0o755 } else { 0o644 };
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "the same signature as on Unix")]
fn make_readable(_path: &Path) -> io::Result<()> {
    Ok(())
}

fn parent_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A directory being made beside the one it will replace.
///
/// Until [`Staging::replace`] succeeds the target is untouched; a staging directory that is dropped before leaves nothing
/// behind.
#[derive(Debug)]
pub struct Staging {
    directory: tempfile::TempDir,
    target: PathBuf,
}

impl Staging {
    /// Starts a new version of the directory `target`, whose parent is made if need be. Where `target` is a symbolic
    /// link, the directory it leads to is the one replaced.
    ///
    /// # Errors
    /// [`PathError`] when no directory can be made beside `target`.
    pub fn beside(target: &Path) -> Result<Self, PathError> {
        let target = target.canonicalize().unwrap_or_else(|_| target.to_owned());
        let parent = parent_of(&target);
        fs::create_dir_all(parent).map_err(PathError::at(parent))?;
        let mut prefix = OsString::from(".");
        prefix.push(target.file_name().unwrap_or_default());
        prefix.push(".new-");
        let directory = tempfile::Builder::new().prefix(&prefix).tempdir_in(parent).map_err(PathError::at(parent))?;
        make_readable(directory.path()).map_err(PathError::at(directory.path()))?;
        Ok(Self { directory, target })
    }

    /// The directory to fill.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Puts the new directory in the place of the old one, in one step where the system can, and deletes the old one.
    ///
    /// # Errors
    /// [`PathError`]; the old directory is then still in place.
    pub fn replace(self) -> Result<(), PathError> {
        if exchange(self.directory.path(), &self.target).map_err(PathError::at(&self.target))? {
            // The temporary directory is now the old tree; a failure to delete it does no harm to the new one.
            drop(self.directory);
        } else {
            let _moved_away = self.directory.keep();
        }
        Ok(())
    }
}

impl Staging {
    /// Puts the new directory where nothing is yet, in one step where the system can. Returns whether it has: what is there
    /// already stays as it is.
    ///
    /// # Errors
    /// [`PathError`]; there is then no directory of that name.
    pub fn create(self) -> Result<bool, PathError> {
        let is_created = move_to_free(self.directory.path(), &self.target).map_err(PathError::at(&self.target))?;
        if is_created {
            let _moved_away = self.directory.keep();
        }
        Ok(is_created)
    }
}

/// Moves `new` to `target` if there is nothing. Returns whether there was nothing.
fn move_to_free(new: &Path, target: &Path) -> io::Result<bool> {
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        use rustix::io::Errno;

        match renameat_with(CWD, new, CWD, target, RenameFlags::NOREPLACE) {
            Ok(()) => return Ok(true),
            Err(Errno::EXIST) => return Ok(false),
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
            Err(error) => return Err(error.into()),
        }
    }
    // For file systems that cannot do both in one step: a rename never replaces a directory that holds something.
    if target.symlink_metadata().is_ok() {
        return Ok(false);
    }
    fs::rename(new, target).map(|()| true)
}

/// Moves `new` to `target`. Returns whether an old `target` is now where `new` was.
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn exchange(new: &Path, target: &Path) -> io::Result<bool> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use rustix::io::Errno;

    // Another program may make or remove the target between two attempts; each attempt is atomic.
    for _ in 0..100 {
        match renameat_with(CWD, new, CWD, target, RenameFlags::NOREPLACE) {
            Ok(()) => return Ok(false),
            Err(Errno::EXIST) => {}
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => return rename_twice(new, target),
            Err(error) => return Err(error.into()),
        }
        match renameat_with(CWD, new, CWD, target, RenameFlags::EXCHANGE) {
            Ok(()) => return Ok(true),
            Err(Errno::NOENT) => {}
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => return rename_twice(new, target),
            Err(error) => return Err(error.into()),
        }
    }
    Err(io::Error::other("another program keeps replacing it"))
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn exchange(new: &Path, target: &Path) -> io::Result<bool> {
    rename_twice(new, target)
}

/// For file systems that cannot exchange two names: for a moment there is no target, but never half a one.
fn rename_twice(new: &Path, target: &Path) -> io::Result<bool> {
    let mut old = new.as_os_str().to_owned();
    old.push(".old");
    match fs::rename(target, &old) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return fs::rename(new, target).map(|()| false),
        Err(error) => return Err(error),
    }
    if let Err(error) = fs::rename(new, target) {
        fs::rename(&old, target)?;
        return Err(error);
    }
    // The old tree takes the place that the temporary directory had, and is deleted with it.
    fs::rename(&old, new).map(|()| true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_staging_directory_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("out");
        let staging = Staging::beside(&target).unwrap();
        fs::write(staging.path().join("x"), "x").unwrap();
        drop(staging);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_directory_is_created_only_where_nothing_is() {
        let folder = tempfile::tempdir().unwrap();
        let staged = |name: &str| {
            let staging = Staging::beside(&folder.path().join(name)).unwrap();
            fs::write(staging.path().join("x"), "new").unwrap();
            staging
        };
        assert!(staged("out").create().unwrap());
        fs::write(folder.path().join("out/x"), "old").unwrap();
        fs::create_dir(folder.path().join("empty")).unwrap();
        for name in ["out", "empty"] {
            assert!(!staged(name).create().unwrap(), "{name}");
        }
        assert_eq!(fs::read_to_string(folder.path().join("out/x")).unwrap(), "old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "nothing else is left");
    }

    #[test]
    fn both_ways_of_replacing_end_with_the_new_tree_alone() {
        for swap in [exchange, rename_twice] {
            let folder = tempfile::tempdir().unwrap();
            let (target, new) = (folder.path().join("out"), folder.path().join("new"));
            fs::create_dir(&new).unwrap();
            fs::write(new.join("a"), "1").unwrap();
            assert!(!swap(&new, &target).unwrap());
            fs::create_dir(&new).unwrap();
            fs::write(new.join("b"), "2").unwrap();
            assert!(swap(&new, &target).unwrap());
            assert!(target.join("b").exists() && !target.join("a").exists() && new.join("a").exists());
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_file_keeps_its_mode() {
        use std::os::unix::fs::PermissionsExt as _;

        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        write_atomic(&path, b"new").unwrap();
        assert_eq!(mode(), 0o644);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        write_atomic(&path, b"newer").unwrap();
        assert_eq!(mode(), 0o600);
    }

    #[test]
    fn a_failed_write_keeps_the_old_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        write_atomic(&path, b"old").unwrap();
        fs::create_dir(folder.path().join("dir")).unwrap();
        fs::write(folder.path().join("dir/x"), "x").unwrap();
        assert!(write_atomic(&folder.path().join("dir"), b"new").is_err());
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}
