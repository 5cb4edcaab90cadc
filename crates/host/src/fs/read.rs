//! Reads untrusted files, with a size limit and without following links out of a directory.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

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
    let (file, length) = open_bounded(path, root, limit)?;
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or_default() + 1);
    file.take(limit + 1).read_to_end(&mut bytes)?;
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
