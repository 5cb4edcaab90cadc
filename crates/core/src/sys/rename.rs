//! Renames files that other programs may have open.

use std::fs;
use std::io;
use std::path::Path;

use super::fs::PathError;

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

/// Writes a file atomically and durably: readers see either the old or the new content, even after a power failure.
///
/// # Errors
/// Returns [`PathError`]; the old file is unchanged then.
pub fn write_durable(path: &Path, bytes: &[u8]) -> Result<(), PathError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let write = || -> io::Result<tempfile::TempPath> {
        let mut file = tempfile::Builder::new().prefix(".tmp-").tempfile_in(folder)?;
        io::Write::write_all(&mut file, bytes)?;
        // Temporary files are private, but other users may need to read this one.
        #[cfg(unix)]
        file.as_file().set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644))?;
        file.as_file().sync_all()?;
        Ok(file.into_temp_path())
    };
    let file = write().map_err(PathError::at(path))?;
    rename(&file, path)?;
    // The temporary name is gone after the rename, so there is nothing to remove.
    let _ = file.keep();
    sync_folder(folder);
    Ok(())
}

/// Makes names in a directory durable. Errors are ignored, since the system does this by itself after a while.
fn sync_folder(folder: &Path) {
    #[cfg(unix)]
    let _ = fs::File::open(folder).and_then(|folder| folder.sync_all());
    #[cfg(not(unix))]
    let _ = folder;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_nothing_else_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        for text in ["old", "new"] {
            write_durable(&path, text.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        assert!(write_durable(&folder.path().join("no/file"), b"").is_err());
        fs::create_dir(folder.path().join("folder")).unwrap();
        assert!(write_durable(&folder.path().join("folder"), b"").is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}
