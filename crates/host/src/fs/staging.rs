//! Replaces directories atomically.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::{fs, io};

use super::write::{make_readable, parent};
use super::{PathError, without_path};

/// A new directory next to the one that it will replace.
///
/// The target is not changed until [`Staging::replace`] succeeds. If the staging directory is dropped before, it is
/// deleted.
#[derive(Debug)]
pub struct Staging {
    directory: tempfile::TempDir,
    target: PathBuf,
}

impl Staging {
    /// Creates a staging directory for `target`, whose parent is created if missing. If `target` is a symbolic link,
    /// the directory that it leads to will be replaced.
    ///
    /// # Errors
    /// Returns [`PathError`] if the directory cannot be created.
    pub fn beside(target: &Path) -> Result<Self, PathError> {
        let named = target;
        let target = target.canonicalize().unwrap_or_else(|_| target.to_owned());
        let parent = parent(&target);
        fs::create_dir_all(parent).map_err(PathError::at(parent))?;
        let mut prefix = OsString::from(".");
        prefix.push(target.file_name().unwrap_or_default());
        prefix.push(".new-");
        let directory = tempfile::Builder::new().prefix(&prefix).tempdir_in(parent);
        let directory = directory.map_err(without_path).map_err(PathError::at(named))?;
        make_readable(directory.path()).map_err(PathError::at(directory.path()))?;
        Ok(Self { directory, target })
    }

    /// The directory to fill.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Replaces the target, atomically if the system supports it, and deletes the old directory.
    ///
    /// # Errors
    /// Returns [`PathError`]; the old directory is still in place then.
    pub fn replace(self) -> Result<(), PathError> {
        if exchange(self.directory.path(), &self.target).map_err(PathError::at(&self.target))? {
            // The temporary directory now holds the old tree. Failing to delete it does not affect the new one.
            drop(self.directory);
        } else {
            let _moved_away = self.directory.keep();
        }
        Ok(())
    }
}

impl Staging {
    /// Moves the staging directory to the target if that does not exist, atomically if the system supports it. Returns
    /// `false`, and leaves the target unchanged, if it exists.
    ///
    /// # Errors
    /// Returns [`PathError`]; the target does not exist then.
    pub fn create(self) -> Result<bool, PathError> {
        let is_created = move_to_free(self.directory.path(), &self.target).map_err(PathError::at(&self.target))?;
        if is_created {
            let _moved_away = self.directory.keep();
        }
        Ok(is_created)
    }
}

/// Moves `new` to `target` if that does not exist. Returns whether it was moved.
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
    // For file systems that cannot do this atomically: `rename` never replaces a directory with contents.
    if target.symlink_metadata().is_ok() {
        return Ok(false);
    }
    fs::rename(new, target).map(|()| true)
}

/// Moves `new` to `target`. Returns whether the old `target` is now at `new`.
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn exchange(new: &Path, target: &Path) -> io::Result<bool> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use rustix::io::Errno;

    // Another program may create or remove the target between attempts; each attempt is atomic.
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

/// For file systems that cannot exchange two directories: the target is missing for a moment, but never incomplete.
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
    // Move the old tree to the path of the temporary directory, which is deleted afterwards.
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

    #[cfg(target_os = "linux")]
    #[test]
    fn an_error_names_the_path_that_was_given_and_no_temporary_one() {
        let error = Staging::beside(Path::new("/proc/x")).unwrap_err().to_string();
        assert!(error.starts_with("/proc/x: ") && error.ends_with("(os error 2)"), "{error}");
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
