//! Errors of files, with their paths.

use acp_registry_plan::failure::Failure;
use std::io;
use std::path::{Path, PathBuf};

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
