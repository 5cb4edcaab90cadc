//! Reading what strangers wrote, within bounds and without following links.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
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
