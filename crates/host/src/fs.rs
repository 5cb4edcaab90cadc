//! Reads untrusted files, replaces files and directories atomically, and lists what is below a directory. Errors have paths.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use acp_registry_plan::digest::{Hasher, Sha256};
use acp_registry_plan::failure::Failure;
use rayon::prelude::*;

#[cfg(unix)]
use crate::directory::OpenDirectory;
use crate::remove::remove_tree;

/// Number of bytes available to this user on the directory's file system; `None` if unknown.
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

/// What to do if files cannot be made in [`temporary`].
pub const ANOTHER_TEMPORARY: &str = if cfg!(windows) {
    "name a directory that can be written with the variable TEMP"
} else {
    "name a directory that can be written with the variable TMPDIR"
};

/// The system's directory for temporary files, or the one that `TMPDIR` names. An empty `TMPDIR` counts as none.
pub fn temporary() -> PathBuf {
    of(env::temp_dir())
}

/// The standard library takes an empty variable for a path, which would be the working directory.
fn of(named: PathBuf) -> PathBuf {
    if named.as_os_str().is_empty() { Path::new("/tmp").to_owned() } else { named }
}

/// What to do about a full disk.
pub const SPACE: &str = "free space on that disk";

/// The path is taken by something that this program does not create there, and does not follow or overwrite.
#[derive(Debug, thiserror::Error)]
#[error("it is {0}")]
pub(crate) struct InTheWay(pub(crate) &'static str);

/// An I/O error with its path.
#[derive(Debug, thiserror::Error)]
#[error("{}: {error}", path.display())]
pub struct PathError {
    /// The path.
    pub path: PathBuf,
    /// The error of the operating system.
    #[source]
    pub error: io::Error,
}

impl PathError {
    /// How to fix it, if that does not depend on the purpose of the path.
    pub fn remedy(&self) -> Option<&'static str> {
        if is_full(&self.error) {
            return Some(SPACE);
        }
        if self.error.kind() == io::ErrorKind::FileTooLarge {
            return Some("allow larger files, such as with `ulimit -f unlimited`");
        }
        self.error.get_ref()?.is::<InTheWay>().then_some("remove it")
    }

    /// How to fix it, whatever the purpose of the path.
    fn usual_remedy(&self) -> Option<&'static str> {
        self.remedy().or(match self.error.kind() {
            io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => {
                Some("remove the file in its place, or name another path")
            }
            io::ErrorKind::PermissionDenied => {
                Some("make it readable and writable for your user, or name another path")
            }
            io::ErrorKind::ReadOnlyFilesystem => Some("name a path on a disk that can be written"),
            _ => None,
        })
    }

    /// How to fix it where `flag` names the path: the own remedy, otherwise `usual`, or another file or directory.
    pub fn or_another(&self, usual: &str, what: &str, flag: &str) -> String {
        let kind = self.error.kind();
        let usual = match what {
            // A file cannot be made into a directory by changing its permissions.
            "directory" if self.path.is_file() || kind == io::ErrorKind::NotADirectory => "remove the file",
            "directory" if kind == io::ErrorKind::ResourceBusy => "unmount what is mounted there",
            "file" if self.path.is_dir() => "remove the directory",
            _ => usual,
        };
        format!("{}, or name another {what} with {flag}", self.remedy().unwrap_or(usual))
    }

    /// The failure of a file that `flag` names and that cannot be written.
    pub fn unwritable(self, flag: &str) -> Failure {
        let help = self.or_another("create the directory or make it writable", "file", flag);
        Failure::unable(self).help(help)
    }

    /// The error for a path that something else has, which is to be removed. `what` is a kind of thing, such as `a directory`.
    pub fn in_the_way(path: &Path, what: &'static str) -> Self {
        Self::at(path)(io::Error::other(InTheWay(what)))
    }

    /// For use with `map_err`.
    pub fn at(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        |error| Self { path: path.to_owned(), error }
    }
}

/// Whether the disk or the quota is full.
pub fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// The operating system's error without the random name of a temporary file or directory, which means nothing to users.
/// `tempfile` provides the cause only as part of its text.
pub fn without_path(error: io::Error) -> io::Error {
    let text = error.to_string();
    match text.rsplit_once(" at path ") {
        Some((cause, _)) => io::Error::new(error.kind(), cause),
        None => error,
    }
}

/// Refuses to go on with work on a path once another thread has set the flag.
///
/// # Errors
/// [`PathError`] of the kind [`io::ErrorKind::Interrupted`].
pub fn refuse_cancelled(is_cancelled: &AtomicBool, path: &Path) -> Result<(), PathError> {
    if is_cancelled.load(Ordering::Relaxed) {
        return Err(PathError::at(path)(io::ErrorKind::Interrupted.into()));
    }
    Ok(())
}

impl From<PathError> for io::Error {
    fn from(error: PathError) -> Self {
        Self::new(error.error.kind(), error)
    }
}

impl From<PathError> for Failure {
    fn from(error: PathError) -> Self {
        let help = error.usual_remedy();
        Self::unable(error).help_if(help)
    }
}

/// Creates a directory and its missing parents, private to their owner. Existing directories are not changed.
///
/// # Errors
/// Returns the error of the operating system.
pub fn make_private(directory: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory)
}

/// How often a directory is made again whose parents other processes remove.
const ATTEMPTS: usize = 10_000;

/// Creates a directory and its missing parents, also while other processes remove those parents because they are empty.
///
/// # Errors
/// Returns the error of the operating system.
pub fn make_all(directory: &Path) -> io::Result<()> {
    let is_removed = |made: &io::Result<()>| made.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
    let mut made = (0..ATTEMPTS).map(|_| fs::create_dir_all(directory)).skip_while(is_removed);
    made.next().unwrap_or_else(|| fs::create_dir_all(directory))
}

/// Lists all regular files below a directory, with their sizes in bytes. Links are not followed, and a directory that is one
/// has no files: callers remove what is listed.
///
/// # Errors
/// Returns [`PathError`] if a directory or file cannot be read.
pub fn files_below(directory: &Path) -> Result<SizedFiles, PathError> {
    Ok(files_and_links_below(directory)?.0)
}

/// Like [`files_below`], with all links below the directory.
///
/// # Errors
/// Returns [`PathError`] if a directory or file cannot be read.
pub fn files_and_links_below(directory: &Path) -> Result<(SizedFiles, Vec<PathBuf>), PathError> {
    let (mut files, mut links) = (Vec::new(), Vec::new());
    let mut waiting: Vec<PathBuf> = Some(directory.to_owned()).into_iter().filter(|path| !path.is_symlink()).collect();
    while !waiting.is_empty() {
        let level: Vec<_> = waiting.par_iter().map(|directory| list(directory)).collect::<Result<_, _>>()?;
        waiting.clear();
        for (folders, found, found_links) in level {
            waiting.extend(folders);
            files.extend(found);
            links.extend(found_links);
        }
    }
    Ok((files, links))
}

/// Regular files with their sizes in bytes.
pub type SizedFiles = Vec<(PathBuf, u64)>;

/// The directories in a directory, its regular files, and its links.
fn list(directory: &Path) -> Result<(Vec<PathBuf>, SizedFiles, Vec<PathBuf>), PathError> {
    let (mut folders, mut files, mut links) = (Vec::new(), Vec::new(), Vec::new());
    for item in fs::read_dir(directory).map_err(PathError::at(directory))? {
        let item = item.map_err(PathError::at(directory))?;
        let kind = item.file_type().map_err(PathError::at(directory))?;
        if kind.is_dir() {
            folders.push(item.path());
        } else if kind.is_file() {
            files.push((item.path(), item.metadata().map_err(PathError::at(directory))?.len()));
        } else if kind.is_symlink() {
            links.push(item.path());
        }
    }
    Ok((folders, files, links))
}

/// Computes the digest of a file, from its current position to its end.
///
/// # Errors
/// Returns an error if the file cannot be read.
pub fn digest(mut file: &File) -> io::Result<Sha256> {
    let mut hasher = Hasher::default();
    let mut buffer = vec![0; 1 << 17];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hasher.finish()),
            count => hasher.update(&buffer[..count]),
        }
    }
}

/// Why a file could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file does not exist.
    #[error("there is no such file")]
    NotFound,
    /// The path is not a regular file.
    #[error("is a {0}, not a regular file")]
    NotAFile(&'static str),
    /// A symbolic link leads out of the directory, or nowhere.
    #[error("is a symbolic link that leads out of the registry, or nowhere")]
    Outside,
    /// The file is larger than the limit.
    #[error("is larger than {limit} bytes")]
    TooLarge {
        /// The limit, in bytes.
        limit: u64,
    },
    /// The operating system returned an error.
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
/// Symbolic links are followed if they lead to a file below `root`, which must be a canonical path. FIFOs and devices
/// do not block.
///
/// # Errors
/// Returns [`ReadError`].
pub fn read_bounded(path: &Path, root: &Path, limit: u64) -> Result<Vec<u8>, ReadError> {
    let (mut file, length) = open_bounded(path, root, limit)?;
    let length = usize::try_from(length).unwrap_or_default();
    let mut bytes = vec![0; length + 1];
    // An error, such as an interruption, comes again or is over.
    let count = file.read(&mut bytes).unwrap_or_default();
    bytes.truncate(count);
    // Files are usually as long as their directory entry says: to ask for more is a third of the calls for a small one.
    if count != length || length == 0 {
        file.take(limit + 1 - count as u64).read_to_end(&mut bytes)?;
    }
    if bytes.len() as u64 > limit {
        return Err(ReadError::TooLarge { limit });
    }
    Ok(bytes)
}

/// Opens a regular file that currently has at most `limit` bytes, and returns its length. Like [`read_bounded`],
/// follows symbolic links only below `root`, a canonical path.
///
/// # Errors
/// Returns [`ReadError`].
pub fn open_bounded(path: &Path, root: &Path, limit: u64) -> Result<(File, u64), ReadError> {
    let file = match open_no_follow(path) {
        Err(error) if is_link_refusal(&error, path) => open_no_follow(&resolve_below(path, root)?)?,
        Err(error) if error.kind() == io::ErrorKind::IsADirectory => return Err(ReadError::NotAFile("directory")),
        other => other?,
    };
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(ReadError::NotAFile(kind_name(metadata.file_type())));
    }
    if metadata.len() > limit {
        return Err(ReadError::TooLarge { limit });
    }
    Ok((file, metadata.len()))
}

/// The first symbolic link among the parent directories of `name`, starting below `root`; `root` itself may be a link.
pub fn linked_folder(root: &Path, name: &str) -> Option<PathBuf> {
    let folders = Path::new(name).parent()?.components().scan(root.to_owned(), |path, part| {
        path.push(part);
        Some(path.clone())
    });
    folders.into_iter().find(|folder| folder.is_symlink())
}

/// The real path of what is, or will be, at a path. `..` leads back from a directory that does not exist yet, as it does once that
/// is made.
pub fn resolve_new(path: &Path) -> PathBuf {
    let mut real = PathBuf::new();
    if path.is_relative() {
        real = Path::new(".").canonicalize().unwrap_or_default();
    }
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                real.pop();
            }
            Component::Prefix(_) => real.push(part),
            Component::RootDir | Component::Normal(_) => {
                real.push(part);
                real = real.canonicalize().unwrap_or(real);
            }
        }
    }
    real
}

/// Resolves a symbolic link.
///
/// # Errors
/// Returns [`ReadError::Outside`] if the target does not exist or is not below `root`, a canonical path.
pub fn resolve_below(path: &Path, root: &Path) -> Result<PathBuf, ReadError> {
    path.canonicalize().ok().filter(|real| real.starts_with(root)).ok_or(ReadError::Outside)
}

/// Opens a regular file that another program may have replaced by something else. Follows links; FIFOs and devices do
/// not block.
///
/// # Errors
/// Returns the error of the operating system, or an error if the path is not a regular file.
pub fn open_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    let file = options.read(true).open(path).map_err(|error| directory_error(error, path))?;
    let kind = file.metadata()?.file_type();
    if kind.is_file() {
        Ok(file)
    } else {
        Err(io::Error::other(format!("is a {}, not a regular file", kind_name(kind))))
    }
}

/// Opens a file or directory for reading. Links are an error; FIFOs do not block.
#[cfg(unix)]
pub(crate) fn open_no_follow(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;

    use rustix::fs::OFlags;

    // Without `NONBLOCK`, opening a FIFO waits for a writer. These flags are small positive numbers on all systems.
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

#[cfg(unix)]
fn is_link_refusal(error: &io::Error, _path: &Path) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error())
}

/// Opens a file for reading. Links are an error.
#[cfg(not(unix))]
pub(crate) fn open_no_follow(path: &Path) -> io::Result<File> {
    if fs::symlink_metadata(path)?.is_symlink() {
        return Err(io::Error::other("symbolic link"));
    }
    OpenOptions::new().read(true).open(path).map_err(|error| directory_error(error, path))
}

/// Windows denies access to directories, as if rights were missing.
fn directory_error(error: io::Error, path: &Path) -> io::Error {
    if cfg!(windows) && path.is_dir() { io::ErrorKind::IsADirectory.into() } else { error }
}

#[cfg(not(unix))]
fn is_link_refusal(_error: &io::Error, path: &Path) -> bool {
    path.is_symlink()
}

/// Reads at an offset, without changing the file's position.
///
/// # Errors
/// Returns the error of the operating system.
#[cfg(unix)]
pub fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, offset)
}

/// Reads at an offset. This changes the file's position, so all who use the file meanwhile must name offsets.
#[cfg(windows)]
pub fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, offset)
}

/// Writes at an offset, wherever the file's position is.
///
/// # Errors
/// Returns the error of the operating system.
#[cfg(unix)]
pub fn write_all_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, offset)
}

/// Writes at an offset, wherever the file's position is.
#[cfg(windows)]
pub fn write_all_at(file: &File, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        let count = std::os::windows::fs::FileExt::seek_write(file, bytes, offset)?;
        if count == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        (bytes, offset) = (&bytes[count..], offset + count as u64);
    }
    Ok(())
}

fn kind_name(kind: fs::FileType) -> &'static str {
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

/// Writes a file atomically and durably: readers see either the old or the new content, even after a power failure.
/// Symbolic links are followed. Devices and FIFOs are written to directly.
///
/// # Errors
/// Returns [`PathError`]; the old file is unchanged then.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> Result<(), PathError> {
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if real.metadata().is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir()) {
        let write = || OpenOptions::new().write(true).open(&real)?.write_all(bytes);
        return write().map_err(PathError::at(&real));
    }
    write_durable(&real, bytes)
}

/// Like [`write_atomic`], but replaces whatever has the path, such as a symbolic link.
///
/// # Errors
/// Returns [`PathError`]; the old file is unchanged then.
pub fn write_durable(path: &Path, bytes: &[u8]) -> Result<(), PathError> {
    replace(parent(path), path, bytes, File::sync_all)?;
    sync_folder(parent(path));
    Ok(())
}

/// Makes names in a directory durable. Errors are ignored, since the system does this by itself after a while.
fn sync_folder(folder: &Path) {
    if cfg!(unix) {
        let _ = File::open(folder).and_then(|folder| folder.sync_all());
    }
}

/// Makes everything below a directory durable. Where the system can, this is one call for the whole file system.
///
/// # Errors
/// Returns [`PathError`] if the system could not write something.
#[cfg(target_os = "linux")]
pub fn sync_below(directory: &Path) -> Result<(), PathError> {
    let sync = |folder: File| rustix::fs::syncfs(folder).map_err(io::Error::from);
    File::open(directory).and_then(sync).map_err(PathError::at(directory))
}

/// Makes everything below a directory durable.
///
/// # Errors
/// Returns [`PathError`] if the system could not write something.
#[cfg(not(target_os = "linux"))]
pub fn sync_below(directory: &Path) -> Result<(), PathError> {
    for item in fs::read_dir(directory).map_err(PathError::at(directory))? {
        let path = item.map_err(PathError::at(directory))?.path();
        let metadata = path.symlink_metadata().map_err(PathError::at(&path))?;
        if metadata.is_dir() {
            sync_below(&path)?;
        } else if metadata.is_file() {
            // Windows needs the right to write.
            let file = OpenOptions::new().read(true).write(cfg!(windows)).open(&path);
            file.and_then(|file| file.sync_all()).map_err(PathError::at(&path))?;
        }
    }
    sync_folder(directory);
    Ok(())
}

/// Checks that [`write_atomic`] can write a file, before the work whose result it will hold.
///
/// # Errors
/// Returns [`PathError`] if it cannot.
pub fn check_writable(path: &Path) -> Result<(), PathError> {
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    match real.metadata() {
        Ok(metadata) if metadata.is_dir() => Err(PathError::at(path)(io::ErrorKind::IsADirectory.into())),
        // Opening a FIFO would block until it has a reader.
        Ok(metadata) if !metadata.is_file() => Ok(()),
        // Without a name where the system can, so that a killed run leaves nothing.
        _ => tempfile::tempfile_in(parent(&real)).map(drop).map_err(without_path).map_err(PathError::at(path)),
    }
}

/// The start of the names of files that will replace others.
const UNFINISHED: &str = ".tmp-";

/// How many random letters and digits such a name ends in.
const RANDOM: usize = 6;

/// Whether this is the name of a file that was to replace another.
pub fn is_unfinished(name: &str) -> bool {
    name.starts_with(UNFINISHED)
}

/// How the names of files begin that will replace the one at a path; a name that is long already is left out.
fn prefix(path: &Path) -> OsString {
    let mut prefix = OsString::from(UNFINISHED);
    if let Some(name) = path.file_name().filter(|name| name.len() < 200) {
        prefix.push(name);
        prefix.push("-");
    }
    prefix
}

/// Whether a name is this prefix with random letters and digits.
fn is_random(name: &OsStr, prefix: &OsStr) -> bool {
    let rest = name.as_encoded_bytes().strip_prefix(prefix.as_encoded_bytes());
    rest.is_some_and(|rest| rest.len() == RANDOM && rest.iter().all(u8::is_ascii_alphanumeric))
}

/// Removes what killed runs of [`write_atomic`] have left of a file. The caller knows that no other process writes the file,
/// such as by a lock. Only regular files are removed, and what cannot be removed stays.
pub fn clear_unfinished(path: &Path) {
    let prefix = prefix(path);
    for item in fs::read_dir(parent(path)).into_iter().flatten().flatten() {
        let is_own = prefix != UNFINISHED && is_random(&item.file_name(), &prefix);
        if is_own && item.file_type().is_ok_and(|kind| kind.is_file()) {
            let _ = fs::remove_file(item.path());
        }
    }
}

/// Creates a private temporary file that will replace the one at `path`. Errors do not contain its name, which means nothing
/// to users.
fn temporary_in(directory: &Path, path: &Path) -> io::Result<tempfile::NamedTempFile> {
    tempfile::Builder::new().prefix(&prefix(path)).rand_bytes(RANDOM).make_in(directory, |path| {
        let mut options = OpenOptions::new();
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.read(true).write(true).create_new(true).open(path)
    })
}

/// Writes a file atomically: creates it in `making`, then renames it to `path`. Both must be on the same file system.
/// The file may be lost in a power failure, unless [`sync_below`] follows.
///
/// # Errors
/// Returns [`PathError`]; the old file is unchanged then.
pub fn write_atomic_from(making: &Path, path: &Path, bytes: &[u8]) -> Result<(), PathError> {
    replace(making, path, bytes, |_| Ok(()))
}

fn replace(making: &Path, path: &Path, bytes: &[u8], sync: fn(&File) -> io::Result<()>) -> Result<(), PathError> {
    // Who may replace a file of another user without being the superuser shares the directory with that user.
    let owner = |file: &File, old: &fs::Metadata| keep_owner(file, old).or(Ok(()));
    Replacement::write(making, path, path, bytes, owner, sync)?.put()
}

/// A file that is written, and takes a path in one step. Until then, nothing at the path changes.
#[derive(Debug)]
pub struct Replacement {
    file: tempfile::TempPath,
    path: PathBuf,
}

impl Replacement {
    /// Writes a file durably beside its path. It has the owner, the group and the mode of the file `like`, if that exists.
    ///
    /// # Errors
    /// Returns [`PathError`], also when the owner and the group cannot be kept.
    pub fn new(path: &Path, like: &Path, bytes: &[u8]) -> Result<Self, PathError> {
        Self::write(parent(path), path, like, bytes, keep_owner, File::sync_all)
    }

    /// Writes a file beside its path. It may be lost in a power failure until [`sync_below`] has made it durable.
    ///
    /// # Errors
    /// Returns [`PathError`].
    pub fn unsynced(path: &Path, bytes: &[u8]) -> Result<Self, PathError> {
        Self::write(parent(path), path, path, bytes, |_, _| Ok(()), |_| Ok(()))
    }

    fn write(
        making: &Path,
        path: &Path,
        like: &Path,
        bytes: &[u8],
        owner: fn(&File, &fs::Metadata) -> io::Result<()>,
        sync: fn(&File) -> io::Result<()>,
    ) -> Result<Self, PathError> {
        let write = || -> io::Result<tempfile::TempPath> {
            let mut file = temporary_in(making, path)?;
            file.write_all(bytes)?;
            match like.metadata() {
                Ok(old) => {
                    // Before the mode, some bits of which this removes.
                    owner(file.as_file(), &old)?;
                    fs::set_permissions(file.path(), old.permissions())?;
                }
                Err(_) => make_readable(file.path())?,
            }
            sync(file.as_file())?;
            Ok(file.into_temp_path())
        };
        Ok(Self { file: write().map_err(without_path).map_err(PathError::at(path))?, path: path.to_owned() })
    }

    /// Replaces what is at the path.
    ///
    /// # Errors
    /// Returns [`PathError`]; the old file is unchanged then.
    pub fn put(self) -> Result<(), PathError> {
        rename(&self.file, &self.path)?;
        // The temporary name is gone after the rename, so there is nothing to remove.
        let _ = self.file.keep();
        Ok(())
    }

    /// Takes the path if nothing is there, atomically if the system supports it. Returns `false`, and leaves what is there
    /// unchanged, if something is.
    ///
    /// # Errors
    /// Returns [`PathError`]; nothing is at the path then.
    pub fn put_new(self) -> Result<bool, PathError> {
        let is_put = retry(|| move_to_free(&self.file, &self.path)).map_err(PathError::at(&self.path))?;
        if is_put {
            let _ = self.file.keep();
        }
        Ok(is_put)
    }
}

/// Gives a new file the owner and the group of an old one.
#[cfg(unix)]
fn keep_owner(file: &File, old: &fs::Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt as _, fchown};

    let new = file.metadata()?;
    if (new.uid(), new.gid()) == (old.uid(), old.gid()) {
        return Ok(());
    }
    fchown(file, Some(old.uid()), Some(old.gid()))
}

#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "the same signature as on Unix")]
fn keep_owner(_file: &File, _old: &fs::Metadata) -> io::Result<()> {
    Ok(())
}

/// Creates a file. Anything that exists at the path, such as a link to another file, is left unchanged.
///
/// # Errors
/// Returns [`PathError`] if the path exists or cannot be written.
pub fn write_new(path: &Path, bytes: &[u8]) -> Result<(), PathError> {
    File::create_new(path).and_then(|mut file| file.write_all(bytes)).map_err(PathError::at(path))
}

/// Temporary files are private; published ones are readable by everyone.
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

fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Renames a file or directory. On Windows, a file cannot be renamed while a virus scanner reads it, so the operation
/// is retried for 10 s.
///
/// # Errors
/// Returns [`PathError`] with the new path.
pub fn rename(from: &Path, to: &Path) -> Result<(), PathError> {
    retry(|| fs::rename(from, to)).map_err(PathError::at(to))
}

#[cfg(windows)]
fn retry<T>(mut action: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    use std::thread::sleep;
    use std::time::{Duration, Instant};

    let until = Instant::now() + Duration::from_secs(10);
    let mut wait = Duration::from_millis(10);
    loop {
        match action() {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied && Instant::now() < until => {
                sleep(wait);
                wait = (wait * 2).min(Duration::from_secs(1));
            }
            other => return other,
        }
    }
}

#[cfg(not(windows))]
fn retry<T>(mut action: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    action()
}

/// Puts the content of files into other places: as clones that share blocks where the file system has them, else as hard
/// links, else as copies. The answer of the file system is remembered, so that all files should lie on the same two.
#[derive(Debug, Default)]
pub struct FileSharing {
    #[cfg(target_os = "linux")]
    has_no_clones: AtomicBool,
    is_writable: bool,
}

impl FileSharing {
    /// `is_writable` says that the new files may be changed, so that none is a hard link.
    #[must_use]
    pub fn new(is_writable: bool) -> Self {
        Self { is_writable, ..Self::default() }
    }

    /// Creates a file with the content and the mode of the one at the same path below another directory.
    ///
    /// # Errors
    /// Returns the error of the operating system; there may then be an incomplete file.
    pub fn share(&self, path: &str, from: &Folder, to: &Folder) -> io::Result<()> {
        // The system's copy is a clone where it can be one.
        if self.is_writable || cfg!(target_os = "macos") {
            return copy_new(&from.path.join(path), &to.path.join(path));
        }
        #[cfg(target_os = "linux")]
        if !self.has_no_clones.load(Ordering::Relaxed) {
            match clone(&from.path.join(path), &to.path.join(path)) {
                Ok(()) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(error),
                Err(_) => self.has_no_clones.store(true, Ordering::Relaxed),
            }
        }
        match from.link(path, to) {
            Ok(()) => Ok(()),
            Err(error) if [io::ErrorKind::AlreadyExists, io::ErrorKind::NotFound].contains(&error.kind()) => Err(error),
            // Another file system, one without links, or too many links.
            Err(_) => copy_new(&from.path.join(path), &to.path.join(path)),
        }
    }
}

/// A directory that stays open, so that the system looks up only what is below it: a package has thousands of files.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    #[cfg(unix)]
    open: OpenDirectory,
}

impl Folder {
    /// Opens a directory.
    ///
    /// # Errors
    /// Returns the error of the operating system.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self {
            #[cfg(unix)]
            open: OpenDirectory::open(path)?,
            path: path.to_owned(),
        })
    }

    /// The size of a file in bytes, when it was changed, 1970 at the earliest, and its permission bits, which only Unix has;
    /// `None` for what is no regular file.
    ///
    /// # Errors
    /// Returns the error of the operating system.
    pub fn state(&self, path: &str) -> io::Result<Option<(u64, SystemTime, u32)>> {
        #[cfg(unix)]
        return self.open.state(path);
        #[cfg(not(unix))]
        {
            let found = self.path.join(path).symlink_metadata()?;
            found.is_file().then(|| Ok((found.len(), found.modified()?, 0))).transpose()
        }
    }

    /// Gives a file a second name, at the same path below another directory.
    fn link(&self, path: &str, to: &Self) -> io::Result<()> {
        #[cfg(unix)]
        return self.open.link(path, &to.open);
        #[cfg(not(unix))]
        return fs::hard_link(self.path.join(path), to.path.join(path));
    }
}

/// Copies a file to a place where there is none.
fn copy_new(from: &Path, to: &Path) -> io::Result<()> {
    if to.symlink_metadata().is_ok() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    fs::copy(from, to).map(drop)
}

#[cfg(target_os = "linux")]
fn clone(from: &Path, to: &Path) -> io::Result<()> {
    let source = File::open(from)?;
    let target = OpenOptions::new().write(true).create_new(true).open(to)?;
    let cloned = rustix::fs::ioctl_ficlone(&target, &source).map_err(io::Error::from);
    let done = cloned.and_then(|()| target.set_permissions(source.metadata()?.permissions()));
    if done.is_err() {
        fs::remove_file(to)?;
    }
    done
}

/// A new directory next to the one that it will replace.
///
/// The target is not changed until [`Staging::replace`] succeeds. If the staging directory is dropped before, it is
/// deleted. If the process is killed, the next one for the same target deletes it, where directories can be locked.
#[derive(Debug)]
pub struct Staging {
    directory: tempfile::TempDir,
    target: PathBuf,
    /// The lock of the directory, which tells others that it is in use.
    _mark: Option<File>,
}

/// Minimum age of a staging directory that another process deletes. A younger one may not be locked yet.
const SETTLED: Duration = Duration::from_mins(1);

/// Deletes the staging directories of killed processes.
fn remove_abandoned(parent: &Path, prefix: &OsStr) {
    for item in fs::read_dir(parent).into_iter().flatten().flatten() {
        let age = || item.metadata().and_then(|metadata| metadata.modified()).ok()?.elapsed().ok();
        if !is_random(&item.file_name(), prefix)
            || !item.file_type().is_ok_and(|kind| kind.is_dir())
            || age().is_none_or(|age| age < SETTLED)
        {
            continue;
        }
        // Held until the end, so that only one process deletes it.
        if let Ok(directory) = open_no_follow(&item.path())
            && directory.try_lock().is_ok()
        {
            let _ = remove_tree(&item.path());
        }
    }
}

impl Staging {
    /// Creates a staging directory for `target`, whose parent is created if missing. If `target` is a symbolic link,
    /// the directory that it leads to will be replaced.
    ///
    /// # Errors
    /// Returns [`PathError`] if the directory cannot be created.
    pub fn beside(target: &Path) -> Result<Self, PathError> {
        let named = target;
        let target = target.canonicalize().unwrap_or_else(|_| target.to_owned());
        let parent = parent(&target);
        fs::create_dir_all(parent).map_err(PathError::at(parent))?;
        let mut prefix = OsString::from(".");
        prefix.push(target.file_name().unwrap_or_default());
        prefix.push(".new-");
        remove_abandoned(parent, &prefix);
        let directory = tempfile::Builder::new().prefix(&prefix).rand_bytes(RANDOM).tempdir_in(parent);
        let directory = directory.map_err(without_path).map_err(PathError::at(named))?;
        let mark = open_no_follow(directory.path()).ok().filter(|mark| mark.try_lock_shared().is_ok());
        make_readable(directory.path()).map_err(PathError::at(directory.path()))?;
        Ok(Self { directory, target, _mark: mark })
    }

    /// The directory to fill.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Replaces the target, atomically if the system supports it, and deletes the old directory.
    ///
    /// # Errors
    /// Returns [`PathError`]; the old directory is still in place then.
    pub fn replace(self) -> Result<(), PathError> {
        if exchange(self.directory.path(), &self.target).map_err(PathError::at(&self.target))? {
            // The temporary directory now holds the old tree. Failing to delete it does not affect the new one.
            drop(self.directory);
        } else {
            let _moved_away = self.directory.keep();
        }
        Ok(())
    }

    /// Moves the staging directory to the target if that does not exist, atomically if the system supports it. Returns
    /// `false`, and leaves the target unchanged, if it exists.
    ///
    /// # Errors
    /// Returns [`PathError`]; the target does not exist then.
    pub fn create(self) -> Result<bool, PathError> {
        let is_created = move_to_free(self.directory.path(), &self.target).map_err(PathError::at(&self.target))?;
        if is_created {
            let _moved_away = self.directory.keep();
        }
        Ok(is_created)
    }
}

/// Moves `new` to `target` if that does not exist. Returns whether it was moved.
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
    // For file systems that cannot do this atomically: `rename` never replaces a directory with contents, and a file that
    // appears in between is rare.
    if target.symlink_metadata().is_ok() {
        return Ok(false);
    }
    fs::rename(new, target).map(|()| true)
}

/// Moves `new` to `target`. Returns whether the old `target` is now at `new`.
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn exchange(new: &Path, target: &Path) -> io::Result<bool> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use rustix::io::Errno;

    // Another program may create or remove the target between attempts; each attempt is atomic.
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

/// For file systems that cannot exchange two directories: the target is missing for a moment, but never incomplete.
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
    // Move the old tree to the path of the temporary directory, which is deleted afterwards.
    fs::rename(&old, new).map(|()| true)
}

#[cfg(test)]
mod tests {
    use std::io::{Seek as _, SeekFrom};

    use super::*;

    #[test]
    fn a_file_has_the_digest_of_its_rest() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"something").unwrap();
        assert_eq!(digest(&file).unwrap(), Sha256::of(""));
        file.seek(SeekFrom::Start(4)).unwrap();
        assert_eq!(digest(&file).unwrap(), Sha256::of("thing"));
    }

    #[test]
    fn a_directory_is_made_while_its_empty_parents_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let (parent, is_over) = (folder.path().join("a/b"), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    let _ = fs::remove_dir(&parent).and_then(|()| fs::remove_dir(parent.parent().unwrap()));
                }
            });
            let made: io::Result<Vec<()>> =
                (0..300).map(|_| make_all(&parent.join("c")).and_then(|()| fs::remove_dir(parent.join("c")))).collect();
            is_over.store(true, Ordering::Relaxed);
            made.unwrap();
        });
        // A name that cannot be one is an error at once.
        assert!(make_all(&folder.path().join("x".repeat(300))).is_err());
    }

    #[test]
    fn an_empty_variable_names_no_directory() {
        assert_eq!(of(PathBuf::new()), Path::new("/tmp"));
        assert_eq!(of("here".into()), Path::new("here"));
        assert!(!temporary().as_os_str().is_empty());
    }

    #[test]
    fn what_a_killed_run_has_left_of_a_file_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        temporary_in(folder.path(), &path).unwrap().keep().unwrap();
        temporary_in(folder.path(), &folder.path().join("other")).unwrap().keep().unwrap();
        // With a long name, it is not known of which file it is.
        let long = folder.path().join("x".repeat(250));
        temporary_in(folder.path(), &long).unwrap().keep().unwrap();
        for (path, rest) in [(&long, 3), (&path, 2)] {
            clear_unfinished(path);
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), rest);
        }
    }

    #[test]
    fn a_new_file_takes_its_path_only_where_nothing_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        for (text, is_put) in [("one", true), ("two", false)] {
            let file = Replacement::new(&path, &path, text.as_bytes()).unwrap();
            assert_eq!(file.put_new().unwrap(), is_put);
            assert_eq!(fs::read_to_string(&path).unwrap(), "one");
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        }
        let lost = Replacement::new(&folder.path().join("a"), &path, b"").unwrap();
        fs::remove_file(&lost.file).unwrap();
        assert!(lost.put_new().is_err());
    }

    #[test]
    fn a_durable_file_is_replaced_whole_and_nothing_else_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        for text in ["old", "new"] {
            write_durable(&path, text.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        sync_below(folder.path()).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        assert!(write_durable(&folder.path().join("no/file"), b"").is_err());
        assert!(sync_below(&folder.path().join("no")).is_err());
        fs::create_dir(folder.path().join("folder")).unwrap();
        assert!(write_durable(&folder.path().join("folder"), b"").is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_limit_of_the_size_of_files_has_a_remedy() {
        let error = PathError::at(Path::new("a"))(io::ErrorKind::FileTooLarge.into());
        assert!(error.remedy().unwrap().contains("ulimit -f"));
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

    #[test]
    fn files_are_shared_with_their_mode_and_never_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let [from, to, own] = ["from", "to", "own"].map(|name| folder.path().join(name));
        for place in [&from, &to, &own] {
            fs::create_dir_all(place.join("a")).unwrap();
        }
        let file = from.join("a/x");
        fs::write(&file, "x").unwrap();
        #[cfg(unix)]
        fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let (shared, writable) = (FileSharing::default(), FileSharing::new(true));
        let [from, to, own] = [from, to, own].map(|path| Folder::open(&path).unwrap());
        for (sharing, to) in [(&shared, &to), (&writable, &own)] {
            sharing.share("a/x", &from, to).unwrap();
            assert_eq!(sharing.share("missing", &from, to).unwrap_err().kind(), io::ErrorKind::NotFound);
        }
        let metadata = file.metadata().unwrap();
        for to in [&to, &own] {
            let place = to.path.join("a/x");
            assert_eq!(fs::read(&place).unwrap(), b"x");
            assert_eq!(place.metadata().unwrap().permissions(), metadata.permissions());
            for sharing in [&shared, &writable] {
                let again = sharing.share("a/x", &from, to).unwrap_err();
                assert_eq!(again.kind(), io::ErrorKind::AlreadyExists);
            }
        }
        fs::write(own.path.join("a/x"), "another").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"x");
        let (size, changed, _) = from.state("a/x").unwrap().unwrap();
        assert_eq!((size, changed), (1, metadata.modified().unwrap()));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;

            fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
            let early = SystemTime::UNIX_EPOCH - Duration::from_millis(1500);
            File::options().write(true).open(&file).unwrap().set_modified(early).unwrap();
            assert_eq!(from.state("a/x").unwrap(), Some((1, SystemTime::UNIX_EPOCH, 0o640)));
        }
        assert_eq!(from.state("a").unwrap(), None);
        assert_eq!(from.state("missing").unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn the_remedy_for_a_path_is_that_for_its_error() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        let remedy = |path: &Path, kind: io::ErrorKind, what: &str| {
            PathError::at(path)(kind.into()).or_another("make it writable", what, "--flag")
        };
        for (path, kind, what, begins) in [
            (
                &*file,
                io::ErrorKind::PermissionDenied,
                "directory",
                "remove the file, or name another directory with --flag",
            ),
            (&file.join("x"), io::ErrorKind::NotADirectory, "directory", "remove the file, "),
            (folder.path(), io::ErrorKind::ResourceBusy, "directory", "unmount what is mounted there, "),
            (folder.path(), io::ErrorKind::IsADirectory, "file", "remove the directory, or name another file"),
            (&file, io::ErrorKind::PermissionDenied, "file", "make it writable, "),
        ] {
            assert!(remedy(path, kind, what).starts_with(begins), "{kind}: {}", remedy(path, kind, what));
        }
    }

    #[test]
    fn a_dropped_staging_directory_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("out");
        let staging = Staging::beside(&target).unwrap();
        fs::write(staging.path().join("x"), "x").unwrap();
        drop(staging);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[cfg(unix)]
    #[test]
    fn what_a_killed_process_has_staged_goes_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let make = |name: &str, age: Duration| {
            let path = folder.path().join(name);
            fs::create_dir(&path).unwrap();
            fs::write(path.join("x"), "x").unwrap();
            File::open(&path).unwrap().set_modified(SystemTime::now() - age).unwrap();
            path
        };
        let target = folder.path().join("out");
        let left = make(".out.new-Ab12Cd", SETTLED * 2);
        let stay = [
            make(".out.new-Young1", Duration::ZERO),
            make(".out.new-Ab12Cd.old", SETTLED * 2),
            make(".out.new-longer1", SETTLED * 2),
            make(".other.new-Ab12Cd", SETTLED * 2),
            make("out.new-Ab12Cd", SETTLED * 2),
        ];
        fs::write(folder.path().join(".out.new-aFile1"), "").unwrap();
        std::os::unix::fs::symlink(&stay[3], folder.path().join(".out.new-aLink1")).unwrap();
        let one = Staging::beside(&target).unwrap();
        File::open(one.path()).unwrap().set_modified(SystemTime::now() - SETTLED * 2).unwrap();
        let two = Staging::beside(&target).unwrap();
        assert!(!left.exists() && one.path().is_dir() && stay.iter().all(|path| path.join("x").is_file()));
        drop((one, two));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), stay.len() + 2);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn an_error_names_the_path_that_was_given_and_no_temporary_one() {
        let error = Staging::beside(Path::new("/proc/x")).unwrap_err().to_string();
        assert!(error.starts_with("/proc/x: ") && error.ends_with("(os error 2)"), "{error}");
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

    #[test]
    fn what_does_not_exist_yet_has_the_path_that_it_will_have() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir(root.join("there")).unwrap();
        for (path, real) in [
            ("there", "there"),
            ("there/../there/new", "there/new"),
            ("new/x", "new/x"),
            ("new/../there", "there"),
            ("new/./x/../../there/y", "there/y"),
            ("new/..", ""),
        ] {
            assert_eq!(resolve_new(&folder.path().join(path)), root.join(real), "{path}");
        }
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("there", root.join("link")).unwrap();
            assert_eq!(resolve_new(&root.join("new/../link/x")), root.join("there/x"));
        }
        assert_eq!(resolve_new(Path::new("new/../x")), Path::new(".").canonicalize().unwrap().join("x"));
    }
}
