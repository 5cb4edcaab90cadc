//! Replaces files atomically.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The path is taken by something that this program does not create there, and does not follow or overwrite.
#[derive(Debug, thiserror::Error)]
#[error("it is {0}")]
pub(in crate::sys) struct InTheWay(pub(in crate::sys) &'static str);

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
    /// Whether the disk or quota is full.
    #[must_use]
    fn is_full(&self) -> bool {
        matches!(self.error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
    }

    /// How to fix it, if that does not depend on the purpose of the path.
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

/// Writes a file atomically: readers see either the old or the new content. Symbolic links are followed. Devices and
/// FIFOs are written to directly.
///
/// # Errors
/// Returns [`PathError`]; the old file is unchanged then.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> Result<(), PathError> {
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if real.metadata().is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir()) {
        let write = || OpenOptions::new().write(true).open(&real)?.write_all(bytes);
        return write().map_err(PathError::at(&real));
    }
    write_atomic_from(parent_of(&real), &real, bytes)
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
        _ => temporary_in(parent_of(&real)).map(drop).map_err(PathError::at(path)),
    }
}

/// Creates a private temporary file. Errors do not contain its name, which means nothing to users.
fn temporary_in(directory: &Path) -> io::Result<tempfile::NamedTempFile> {
    tempfile::Builder::new().prefix(".tmp-").make_in(directory, |path| {
        let mut options = OpenOptions::new();
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.read(true).write(true).create_new(true).open(path)
    })
}

/// Writes a file atomically: creates it in `making`, then renames it to `path`. Both must be on the same file system.
///
/// # Errors
/// Returns [`PathError`]; the old file is unchanged then.
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

/// Creates a file. Anything that exists at the path, such as a link to another file, is left unchanged.
///
/// # Errors
/// Returns [`PathError`] if the path exists or cannot be written.
pub fn write_new(path: &Path, bytes: &[u8]) -> Result<(), PathError> {
    File::create_new(path).and_then(|mut file| file.write_all(bytes)).map_err(PathError::at(path))
}

/// Temporary files are private; published ones are readable by everyone.
#[cfg(unix)]
pub(super) fn make_readable(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;

    let mode = if path.is_dir() { 0o755 } else { 0o644 };
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "the same signature as on Unix")]
pub(super) fn make_readable(_path: &Path) -> io::Result<()> {
    Ok(())
}

pub(super) fn parent_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;

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
