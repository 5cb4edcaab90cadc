//! One content in several places.

use std::path::Path;
#[cfg(target_os = "linux")]
use std::sync::atomic::{AtomicBool, Ordering};
use std::{fs, io};

/// Puts the content of files into other places: as clones that share blocks where the file system has them, else as hard
/// links, else as copies. The answer of the file system is remembered, so that all files should lie on the same two.
#[derive(Debug, Default)]
pub struct FileSharing {
    #[cfg(target_os = "linux")]
    has_no_clones: AtomicBool,
    is_writable: bool,
}

impl FileSharing {
    /// `is_writable` says that the new files may be changed, so that none is a hard link.
    #[must_use]
    pub fn new(is_writable: bool) -> Self {
        Self { is_writable, ..Self::default() }
    }

    /// Creates a file with the content and the mode of another one.
    ///
    /// # Errors
    /// Returns the error of the operating system; there may then be an incomplete file.
    pub fn share(&self, from: &Path, to: &Path) -> io::Result<()> {
        // The system's copy is a clone where it can be one.
        if self.is_writable || cfg!(target_os = "macos") {
            return copy_new(from, to);
        }
        #[cfg(target_os = "linux")]
        if !self.has_no_clones.load(Ordering::Relaxed) {
            match clone(from, to) {
                Ok(()) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(error),
                Err(_) => self.has_no_clones.store(true, Ordering::Relaxed),
            }
        }
        match fs::hard_link(from, to) {
            Ok(()) => Ok(()),
            Err(error) if [io::ErrorKind::AlreadyExists, io::ErrorKind::NotFound].contains(&error.kind()) => Err(error),
            // Another file system, one without links, or too many links.
            Err(_) => copy_new(from, to),
        }
    }
}

/// Copies a file to a place where there is none.
fn copy_new(from: &Path, to: &Path) -> io::Result<()> {
    if to.symlink_metadata().is_ok() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    fs::copy(from, to).map(drop)
}

#[cfg(target_os = "linux")]
fn clone(from: &Path, to: &Path) -> io::Result<()> {
    let source = fs::File::open(from)?;
    let target = fs::OpenOptions::new().write(true).create_new(true).open(to)?;
    let cloned = rustix::fs::ioctl_ficlone(&target, &source).map_err(io::Error::from);
    let done = cloned.and_then(|()| target.set_permissions(source.metadata()?.permissions()));
    if done.is_err() {
        fs::remove_file(to)?;
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_shared_with_their_mode_and_never_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let [from, to, own] = ["from", "to", "own"].map(|name| folder.path().join(name));
        fs::write(&from, "x").unwrap();
        #[cfg(unix)]
        fs::set_permissions(&from, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        FileSharing::default().share(&from, &to).unwrap();
        let writable = FileSharing::new(true);
        writable.share(&from, &own).unwrap();
        for place in [&to, &own] {
            assert_eq!(fs::read(place).unwrap(), b"x");
            assert_eq!(place.metadata().unwrap().permissions(), from.metadata().unwrap().permissions());
            for sharing in [&FileSharing::default(), &writable] {
                assert_eq!(sharing.share(&from, place).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
            }
        }
        fs::write(&own, "another").unwrap();
        assert_eq!(fs::read(&from).unwrap(), b"x");
        let missing = FileSharing::default().share(&folder.path().join("missing"), &folder.path().join("new"));
        assert_eq!(missing.unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
