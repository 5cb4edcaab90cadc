//! Renames files that other programs may have open.

use std::fs;
use std::io;
use std::path::Path;

use super::error::PathError;

/// Renames a file or directory. On Windows, a file cannot be renamed while a virus scanner reads it, so the operation
/// is retried for 10 s.
///
/// # Errors
/// Returns [`PathError`] with the new path.
pub fn rename(from: &Path, to: &Path) -> Result<(), PathError> {
    retry(|| fs::rename(from, to)).map_err(PathError::at(to))
}

#[cfg(windows)]
fn retry(mut action: impl FnMut() -> io::Result<()>) -> io::Result<()> {
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
fn retry(mut action: impl FnMut() -> io::Result<()>) -> io::Result<()> {
    action()
}
