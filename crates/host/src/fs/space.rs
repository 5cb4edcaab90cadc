//! Free disk space.

use std::path::Path;

/// Number of bytes available to this user on the directory's file system; `None` if unknown.
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
