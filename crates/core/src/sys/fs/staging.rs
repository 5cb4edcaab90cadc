//! Replacing directories as a whole.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::write::{PathError, make_readable, parent_of};

/// A directory being made beside the one it will replace.
///
/// Until [`Staging::replace`] succeeds the target is untouched; a staging directory that is dropped before leaves nothing
/// behind.
#[derive(Debug)]
pub struct Staging {
    directory: tempfile::TempDir,
    target: PathBuf,
}

impl Staging {
    /// Starts a new version of the directory `target`, whose parent is made if need be. Where `target` is a symbolic
    /// link, the directory it leads to is the one replaced.
    ///
    /// # Errors
    /// [`PathError`] when no directory can be made beside `target`.
    pub fn beside(target: &Path) -> Result<Self, PathError> {
        let target = target.canonicalize().unwrap_or_else(|_| target.to_owned());
        let parent = parent_of(&target);
        fs::create_dir_all(parent).map_err(PathError::at(parent))?;
        let mut prefix = OsString::from(".");
        prefix.push(target.file_name().unwrap_or_default());
        prefix.push(".new-");
        let directory = tempfile::Builder::new().prefix(&prefix).tempdir_in(parent).map_err(PathError::at(parent))?;
        make_readable(directory.path()).map_err(PathError::at(directory.path()))?;
        Ok(Self { directory, target })
    }

    /// The directory to fill.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Puts the new directory in the place of the old one, in one step where the system can, and deletes the old one.
    ///
    /// # Errors
    /// [`PathError`]; the old directory is then still in place.
    pub fn replace(self) -> Result<(), PathError> {
        if exchange(self.directory.path(), &self.target).map_err(PathError::at(&self.target))? {
            // The temporary directory is now the old tree; a failure to delete it does no harm to the new one.
            drop(self.directory);
        } else {
            let _moved_away = self.directory.keep();
        }
        Ok(())
    }
}

impl Staging {
    /// Puts the new directory where nothing is yet, in one step where the system can. Returns whether it has: what is there
    /// already stays as it is.
    ///
    /// # Errors
    /// [`PathError`]; there is then no directory of that name.
    pub fn create(self) -> Result<bool, PathError> {
        let is_created = move_to_free(self.directory.path(), &self.target).map_err(PathError::at(&self.target))?;
        if is_created {
            let _moved_away = self.directory.keep();
        }
        Ok(is_created)
    }
}

/// Moves `new` to `target` if there is nothing. Returns whether there was nothing.
fn move_to_free(new: &Path, target: &Path) -> io::Result<bool> {
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        use rustix::io::Errno;

        match renameat_with(CWD, new, CWD, target, RenameFlags::NOREPLACE) {
            Ok(()) => return Ok(true),
            Err(Errno::EXIST) => return Ok(false),
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
            Err(error) => return Err(error.into()),
        }
    }
    // For file systems that cannot do both in one step: a rename never replaces a directory that holds something.
    if target.symlink_metadata().is_ok() {
        return Ok(false);
    }
    fs::rename(new, target).map(|()| true)
}

/// Moves `new` to `target`. Returns whether an old `target` is now where `new` was.
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn exchange(new: &Path, target: &Path) -> io::Result<bool> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use rustix::io::Errno;

    // Another program may make or remove the target between two attempts; each attempt is atomic.
    for _ in 0..100 {
        match renameat_with(CWD, new, CWD, target, RenameFlags::NOREPLACE) {
            Ok(()) => return Ok(false),
            Err(Errno::EXIST) => {}
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => return rename_twice(new, target),
            Err(error) => return Err(error.into()),
        }
        match renameat_with(CWD, new, CWD, target, RenameFlags::EXCHANGE) {
            Ok(()) => return Ok(true),
            Err(Errno::NOENT) => {}
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => return rename_twice(new, target),
            Err(error) => return Err(error.into()),
        }
    }
    Err(io::Error::other("another program keeps replacing it"))
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn exchange(new: &Path, target: &Path) -> io::Result<bool> {
    rename_twice(new, target)
}

/// For file systems that cannot exchange two names: for a moment there is no target, but never half a one.
fn rename_twice(new: &Path, target: &Path) -> io::Result<bool> {
    let mut old = new.as_os_str().to_owned();
    old.push(".old");
    match fs::rename(target, &old) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return fs::rename(new, target).map(|()| false),
        Err(error) => return Err(error),
    }
    if let Err(error) = fs::rename(new, target) {
        fs::rename(&old, target)?;
        return Err(error);
    }
    // The old tree takes the place that the temporary directory had, and is deleted with it.
    fs::rename(&old, new).map(|()| true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_staging_directory_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("out");
        let staging = Staging::beside(&target).unwrap();
        fs::write(staging.path().join("x"), "x").unwrap();
        drop(staging);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_directory_is_created_only_where_nothing_is() {
        let folder = tempfile::tempdir().unwrap();
        let staged = |name: &str| {
            let staging = Staging::beside(&folder.path().join(name)).unwrap();
            fs::write(staging.path().join("x"), "new").unwrap();
            staging
        };
        assert!(staged("out").create().unwrap());
        fs::write(folder.path().join("out/x"), "old").unwrap();
        fs::create_dir(folder.path().join("empty")).unwrap();
        for name in ["out", "empty"] {
            assert!(!staged(name).create().unwrap(), "{name}");
        }
        assert_eq!(fs::read_to_string(folder.path().join("out/x")).unwrap(), "old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "nothing else is left");
    }

    #[test]
    fn both_ways_of_replacing_end_with_the_new_tree_alone() {
        for swap in [exchange, rename_twice] {
            let folder = tempfile::tempdir().unwrap();
            let (target, new) = (folder.path().join("out"), folder.path().join("new"));
            fs::create_dir(&new).unwrap();
            fs::write(new.join("a"), "1").unwrap();
            assert!(!swap(&new, &target).unwrap());
            fs::create_dir(&new).unwrap();
            fs::write(new.join("b"), "2").unwrap();
            assert!(swap(&new, &target).unwrap());
            assert!(target.join("b").exists() && !target.join("a").exists() && new.join("a").exists());
        }
    }
}
