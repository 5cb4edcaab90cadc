//! Directories of one launch.

use std::fs::File;
use std::path::{Path, PathBuf};
#[cfg(target_os = "linux")]
use std::{fs, io};

use super::Scratch;
use crate::sys::fs::{PathError, write_new};
use crate::sys::lock::mark_used;
use crate::sys::private::make_private;

/// Name of the variable by which the processes of a launch are found again. Its value is the path of the sandbox, which
/// exists once.
pub(super) const MARKER: &str = "ACP_REGISTRY_SANDBOX";

/// The FIFO by which a launch says why the program was not started. It is gone when the program begins.
pub(super) const REPORT: &str = "start";

/// All that is in a sandbox, the first in each of them.
pub(super) const PARTS: [&str; 5] = ["work", "home", "tmp", "run", REPORT];

/// The home and the temporary directories of one launch: empty at first, and removed at the end.
///
/// Dropping it removes them too, as far as the system lets it.
#[derive(Debug)]
pub struct Sandbox {
    directory: Scratch,
    home: Home,
    /// As long as it is open, others know that the sandbox will be removed.
    _mark: Option<File>,
}

/// The home of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Home {
    /// One of its own, empty at first. All its processes are found again, wherever they have gone, and ended.
    Empty,
    /// That of the person, for whom the program works: what it writes stays. What it starts in other sessions belongs
    /// to the person as well, such as a browser, and lives on; nothing is limited.
    Persons,
}

impl Sandbox {
    /// Makes the directories below `parent`, readable for the owner alone.
    ///
    /// # Errors
    /// [`PathError`] when `parent` cannot be written to.
    pub fn below(parent: &Path, home: Home) -> Result<Self, PathError> {
        let directory = Scratch::below(parent)?;
        let mark = mark_used(directory.path());
        let sandbox = Self { directory, home, _mark: mark };
        if home == Home::Persons {
            make_private(&sandbox.work()).map_err(PathError::at(sandbox.path()))?;
            return Ok(sandbox);
        }
        for path in [sandbox.work(), sandbox.temporary(), sandbox.runtime()]
            .into_iter()
            .chain(sandbox.homes().into_iter().map(|(_, path)| path))
        {
            make_private(&path).map_err(PathError::at(&path))?;
        }
        Ok(sandbox)
    }

    /// The directory that holds all the others.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// An empty directory to work in.
    #[must_use]
    pub fn work(&self) -> PathBuf {
        self.path().join("work")
    }

    fn temporary(&self) -> PathBuf {
        self.path().join("tmp")
    }

    fn runtime(&self) -> PathBuf {
        self.path().join("run")
    }

    /// Where programs keep what is theirs, on each system.
    fn homes(&self) -> Vec<(&'static str, PathBuf)> {
        let home = self.path().join("home");
        let mut homes = vec![
            ("HOME", home.clone()),
            ("XDG_CONFIG_HOME", home.join(".config")),
            ("XDG_CACHE_HOME", home.join(".cache")),
            ("XDG_DATA_HOME", home.join(".local/share")),
            ("XDG_STATE_HOME", home.join(".local/state")),
        ];
        if cfg!(windows) {
            homes.push(("APPDATA", home.join("AppData/Roaming")));
            homes.push(("LOCALAPPDATA", home.join("AppData/Local")));
            homes.push(("USERPROFILE", home));
        }
        homes
    }

    /// The home of what is started.
    #[must_use]
    pub fn home(&self) -> Home {
        self.home
    }

    /// The variables that lead a program here, and by which its processes are found again; none for one that works in
    /// the person's home.
    #[must_use]
    pub fn variables(&self) -> Vec<(&'static str, PathBuf)> {
        if self.home == Home::Persons {
            return Vec::new();
        }
        let mut variables = self.homes();
        variables.extend(["TMPDIR", "TMP", "TEMP"].map(|name| (name, self.temporary())));
        variables.push(("XDG_RUNTIME_DIR", self.runtime()));
        variables.push((MARKER, self.path().to_owned()));
        variables
    }

    /// Gives all directories to a user of this number. No other user can enter them, nor can this one leave anything
    /// beside them.
    #[cfg(target_os = "linux")]
    pub(super) fn give_to(&self, user: u32) -> io::Result<()> {
        let mut waiting = vec![self.path().to_owned()];
        while let Some(directory) = waiting.pop() {
            for item in fs::read_dir(&directory)? {
                let item = item?;
                // Nothing has run here yet, so that all of it is this program's.
                if item.file_type()?.is_dir() {
                    std::os::unix::fs::lchown(item.path(), Some(user), Some(user))?;
                    waiting.push(item.path());
                }
            }
        }
        let_in(self.path(), user)
    }

    /// Removes everything.
    ///
    /// # Errors
    /// [`PathError`] with what could not be removed.
    pub fn remove(self) -> Result<(), PathError> {
        self.directory.remove()
    }

    /// Leaves everything where it is, for people to look at.
    pub fn keep(self) {
        // By this file, it is not taken for one that was forgotten.
        let _ = write_new(&self.path().join("kept"), b"");
        self.directory.keep();
    }
}

/// Lets a user of this number enter a directory of root's, without seeing what else is in it.
#[cfg(target_os = "linux")]
pub(super) fn let_in(directory: &Path, user: u32) -> io::Result<()> {
    std::os::unix::fs::lchown(directory, None, Some(user))?;
    fs::set_permissions(directory, std::os::unix::fs::PermissionsExt::from_mode(0o710))
}

/// Makes a directory, with those above it, that other users cannot look into.
#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn every_variable_leads_below_the_sandbox_and_exists() {
        let parent = tempfile::tempdir().unwrap();
        let sandbox = Sandbox::below(parent.path(), Home::Empty).unwrap();
        for (name, path) in sandbox.variables() {
            assert!(path.starts_with(sandbox.path()) && path.is_dir(), "{name}");
        }
    }

    #[test]
    fn the_persons_home_is_left_alone() {
        let parent = tempfile::tempdir().unwrap();
        let sandbox = Sandbox::below(parent.path(), Home::Persons).unwrap();
        assert_eq!((sandbox.variables(), sandbox.work().is_dir()), (Vec::new(), true));
        assert_eq!(fs::read_dir(sandbox.path()).unwrap().count(), 1);
    }

    #[test]
    fn nothing_is_left_not_even_what_was_locked() {
        let parent = tempfile::tempdir().unwrap();
        let sandbox = Sandbox::below(parent.path(), Home::Empty).unwrap();
        let locked = sandbox.work().join("a/b");
        fs::create_dir_all(&locked).unwrap();
        fs::write(locked.join("file"), "x").unwrap();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            fs::set_permissions(&locked, fs::Permissions::from_mode(0o000)).unwrap();
            std::os::unix::fs::symlink("/", sandbox.work().join("link")).unwrap();
        }
        sandbox.remove().unwrap();
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);

        drop(Sandbox::below(parent.path(), Home::Empty).unwrap());
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_parent_that_is_not_there_is_named() {
        let error = Sandbox::below("/nowhere/at/all".as_ref(), Home::Empty).unwrap_err();
        assert!(error.to_string().starts_with("/nowhere/at/all: "), "{error}");
    }
}
