//! Replaces files atomically.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use super::{PathError, without_path};

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
/// The file may be lost in a power failure, unless [`sync_below`] follows.
///
/// # Errors
/// Returns [`PathError`]; the old file is unchanged then.
pub fn write_atomic_from(making: &Path, path: &Path, bytes: &[u8]) -> Result<(), PathError> {
    replace(making, path, bytes, |_| Ok(()))
}

fn replace(making: &Path, path: &Path, bytes: &[u8], sync: fn(&File) -> io::Result<()>) -> Result<(), PathError> {
    let write = || -> io::Result<tempfile::TempPath> {
        let mut file = temporary_in(making)?;
        file.write_all(bytes)?;
        match path.metadata() {
            Ok(old) => fs::set_permissions(file.path(), old.permissions())?,
            Err(_) => make_readable(file.path())?,
        }
        sync(file.as_file())?;
        Ok(file.into_temp_path())
    };
    let file = write().map_err(PathError::at(path))?;
    rename(&file, path)?;
    // The temporary name is gone after the rename, so there is nothing to remove.
    let _ = file.keep();
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

pub(super) fn parent(path: &Path) -> &Path {
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
