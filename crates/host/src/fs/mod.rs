//! Reads untrusted files, and replaces files and directories atomically.

mod error;
mod read;
mod staging;
mod write;

use std::env;
use std::path::{Path, PathBuf};

pub(super) use error::InTheWay;
pub use error::{PathError, SPACE, is_full, without_path};
pub(crate) use read::open_no_follow;
pub use read::{ReadError, linked_folder, open_bounded, open_file, read_at, read_bounded, resolve_below, write_all_at};
pub use staging::Staging;
pub use write::rename;
pub use write::{check_writable, sync_below, write_atomic, write_atomic_from, write_durable, write_new};

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
