//! Directories for programs, which are removed afterwards whatever the programs did to them.

use std::path::Path;
use std::time::Duration;
use std::{fs, thread};

use super::UserDirectory;
use crate::fs::{PathError, without_path};
use crate::remove::remove_tree;

/// Maximum number of attempts to remove a directory, since a process that is being ended may still write to it.
const ATTEMPTS: usize = 5;

/// Prefix of the names of temporary directories.
pub(super) const PREFIX: &str = "acp-registry-";

/// A directory that is empty at first, and removed at the end.
///
/// Dropping it removes it too, as far as possible.
#[derive(Debug)]
pub struct Scratch {
    place: UserDirectory,
    is_over: bool,
}

impl Scratch {
    /// Creates a directory with a random name below `parent`, private to its owner.
    ///
    /// # Errors
    /// Returns [`PathError`] if `parent` cannot be written to.
    pub fn below(parent: &Path) -> Result<Self, PathError> {
        let mut builder = tempfile::Builder::new();
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
        let directory = builder.prefix(PREFIX).tempdir_in(parent);
        let directory = directory.map_err(|error| PathError::at(parent)(without_path(error)))?;
        Ok(Self::adopt(&directory.keep()))
    }

    /// Creates this directory, private to its owner.
    ///
    /// # Errors
    /// Returns [`PathError`] if it exists, or cannot be created.
    pub fn at(path: &Path) -> Result<Self, PathError> {
        #[cfg_attr(not(unix), expect(unused_mut, reason = "elsewhere, directories have no mode"))]
        let mut builder = fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(path).map_err(PathError::at(path))?;
        Ok(Self::adopt(path))
    }

    /// Takes over a directory that exists, or will.
    pub fn adopt(path: &Path) -> Self {
        Self { place: UserDirectory::new(path.to_owned()), is_over: false }
    }

    /// The path of the directory.
    pub fn path(&self) -> &Path {
        self.place.path()
    }

    /// The directory as a place for the files of programs that run at once.
    pub fn place(&self) -> UserDirectory {
        self.place.clone()
    }

    /// Removes the directory.
    ///
    /// # Errors
    /// Returns [`PathError`] if something could not be removed.
    pub fn remove(mut self) -> Result<(), PathError> {
        self.clear()
    }

    /// Keeps the directory, for inspection.
    pub fn keep(mut self) {
        self.is_over = true;
    }

    fn clear(&mut self) -> Result<(), PathError> {
        let path = self.path().to_owned();
        for attempt in 1..=ATTEMPTS {
            match remove_tree(&path) {
                Ok(()) => break,
                Err(error) if attempt == ATTEMPTS => return Err(PathError { path, error }),
                Err(_) if attempt > 1 => thread::sleep(Duration::from_millis(20)),
                Err(_) => {}
            }
        }
        // Dropping has nothing left to do.
        self.is_over = true;
        Ok(())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if !self.is_over {
            // Callers that need the error call `remove`.
            let _ = self.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn it_is_private_to_its_owner() {
        use std::os::unix::fs::PermissionsExt as _;

        let parent = tempfile::tempdir().unwrap();
        let named = parent.path().join("a");
        for scratch in [Scratch::below(parent.path()).unwrap(), Scratch::at(&named).unwrap()] {
            assert_eq!(scratch.path().metadata().unwrap().permissions().mode() & 0o777, 0o700);
        }
    }

    #[test]
    fn a_named_directory_is_new_or_refused_and_stays_when_it_is_kept() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("a");
        Scratch::at(&path).unwrap().keep();
        assert!(path.is_dir());
        assert!(Scratch::at(&path).unwrap_err().to_string().contains("a: "));
        fs::remove_dir(&path).unwrap();
        drop(Scratch::at(&path).unwrap());
        assert!(!path.exists());
    }
}
