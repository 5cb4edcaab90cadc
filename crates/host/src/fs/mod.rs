//! Reads untrusted files, replaces files and directories atomically, and lists what is below a directory. Errors have paths.

mod read;
mod share;
mod staging;
mod write;

use std::path::{Path, PathBuf};
use std::{env, fs, io};

use acp_registry_plan::failure::Failure;
pub(crate) use read::open_no_follow;
pub use read::{ReadError, linked_folder, open_bounded, open_file, read_at, read_bounded, resolve_below, write_all_at};
pub use share::FileSharing;
pub use staging::Staging;
pub use write::{check_writable, rename, sync_below, write_atomic, write_atomic_from, write_durable, write_new};

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
        // A file cannot be made into a directory by changing its permissions.
        let is_file = what == "directory" && self.path.is_file();
        let usual = if is_file { "remove the file" } else { usual };
        format!("{}, or name another {what} with {flag}", self.remedy().unwrap_or(usual))
    }

    /// The failure of a file that `flag` names and that cannot be written.
    pub fn unwritable(self, flag: &str) -> Failure {
        let help = self.or_another("create the directory or make it writable", "file", flag);
        Failure::unable(self).help(help)
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

/// Lists all regular files below a directory, with their sizes in bytes. Links are not followed.
///
/// # Errors
/// Returns [`PathError`] if a directory or file cannot be read.
pub fn files_below(directory: &Path) -> Result<Vec<(PathBuf, u64)>, PathError> {
    let mut files = Vec::new();
    let mut waiting = vec![directory.to_owned()];
    while let Some(directory) = waiting.pop() {
        for item in fs::read_dir(&directory).map_err(PathError::at(&directory))? {
            let item = item.map_err(PathError::at(&directory))?;
            let kind = item.file_type().map_err(PathError::at(&directory))?;
            if kind.is_dir() {
                waiting.push(item.path());
            } else if kind.is_file() {
                let size = item.metadata().map_err(PathError::at(&directory))?.len();
                files.push((item.path(), size));
            }
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_variable_names_no_directory() {
        assert_eq!(of(PathBuf::new()), Path::new("/tmp"));
        assert_eq!(of("here".into()), Path::new("here"));
        assert!(!temporary().as_os_str().is_empty());
    }
}
