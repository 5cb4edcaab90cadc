//! Directories of one launch.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{io, thread};

use tempfile::TempDir;

use crate::sys::fs::PathError;

/// Name of the variable by which the processes of a launch are found again. Its value is the path of the sandbox, which
/// exists once.
pub(super) const MARKER: &str = "ACP_REGISTRY_SANDBOX";

/// How often removing is tried: a process that is just being ended may still write.
const ATTEMPTS: usize = 5;

/// How deep directories may lie within each other before they are brought up to be removed.
const DEPTH: usize = 64;

/// The home and the temporary directories of one launch: empty at first, and removed at the end.
///
/// Dropping it removes them too, as far as the system lets it.
#[derive(Debug)]
pub struct Sandbox {
    directory: TempDir,
}

impl Sandbox {
    /// Makes the directories below `parent`, readable for the owner alone.
    ///
    /// # Errors
    /// [`PathError`] when `parent` cannot be written to.
    pub fn below(parent: &Path) -> Result<Self, PathError> {
        let directory =
            tempfile::Builder::new().prefix("acp-registry-").tempdir_in(parent).map_err(PathError::at(parent))?;
        let sandbox = Self { directory };
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

    /// The variables that lead a program here, and by which its processes are found again.
    #[must_use]
    pub fn variables(&self) -> Vec<(&'static str, PathBuf)> {
        let mut variables = self.homes();
        variables.extend(["TMPDIR", "TMP", "TEMP"].map(|name| (name, self.temporary())));
        variables.push(("XDG_RUNTIME_DIR", self.runtime()));
        variables.push((MARKER, self.path().to_owned()));
        variables
    }

    /// Removes everything.
    ///
    /// # Errors
    /// [`PathError`] with what could not be removed.
    pub fn remove(mut self) -> Result<(), PathError> {
        self.clear()
    }

    fn clear(&mut self) -> Result<(), PathError> {
        let path = self.path().to_owned();
        for attempt in 1..=ATTEMPTS {
            match fs::remove_dir_all(&path) {
                Ok(()) => break,
                Err(error) if error.kind() == io::ErrorKind::NotFound => break,
                Err(error) if attempt == ATTEMPTS => return Err(PathError { path, error }),
                Err(_) => {
                    // The program may have put a link to somebody else's directory here.
                    if fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_dir()) {
                        unlock(&path);
                        loosen(&path);
                    }
                    if attempt > 1 {
                        thread::sleep(Duration::from_millis(20));
                    }
                }
            }
        }
        // Nothing is left for the guard to do.
        self.directory.disable_cleanup(true);
        Ok(())
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        // Whoever wants to know calls `remove`.
        let _ = self.clear();
    }
}

/// Makes a directory, with those above it, that nobody else can look into.
fn make_private(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Makes a tree removable: gives the owner back all rights to the directories, and brings up what lies too deep for the
/// open files or the stack of a process.
fn loosen(root: &Path) {
    let Ok(shallow) = tempfile::tempdir_in(root) else { return };
    let shallow = shallow.keep();
    let mut waiting = vec![(root.to_owned(), 0)];
    let mut moved = 0_u64;
    while let Some((directory, depth)) = waiting.pop() {
        let Ok(items) = fs::read_dir(&directory) else { continue };
        // Says "directory" of real directories only, so that no link is followed.
        for item in items.flatten().filter(|item| item.file_type().is_ok_and(|kind| kind.is_dir())) {
            let path = item.path();
            unlock(&path);
            let nearer = shallow.join(moved.to_string());
            if depth >= DEPTH && fs::rename(&path, &nearer).is_ok() {
                moved += 1;
                waiting.push((nearer, 0));
            } else {
                waiting.push((path, depth + 1));
            }
        }
    }
}

fn unlock(directory: &Path) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let _ = fs::set_permissions(directory, fs::Permissions::from_mode(0o700));
    }
    #[cfg(not(unix))]
    let _ = directory;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_variable_leads_below_the_sandbox_and_exists() {
        let parent = tempfile::tempdir().unwrap();
        let sandbox = Sandbox::below(parent.path()).unwrap();
        for (name, path) in sandbox.variables() {
            assert!(path.starts_with(sandbox.path()) && path.is_dir(), "{name}");
        }
    }

    #[test]
    fn nothing_is_left_not_even_what_was_locked() {
        let parent = tempfile::tempdir().unwrap();
        let sandbox = Sandbox::below(parent.path()).unwrap();
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

        drop(Sandbox::below(parent.path()).unwrap());
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_lies_too_deep_is_brought_up() {
        fn depth(directory: &Path) -> usize {
            let items = fs::read_dir(directory).unwrap().map(|item| item.unwrap().path());
            items.filter(|path| path.is_dir()).map(|path| 1 + depth(&path)).max().unwrap_or(0)
        }
        let sandbox = Sandbox::below(tempfile::tempdir().unwrap().keep().as_path()).unwrap();
        let deep = sandbox.work().join("a/".repeat(500));
        fs::create_dir_all(&deep).unwrap();
        loosen(sandbox.path());
        assert!(!deep.exists());
        assert!(depth(sandbox.path()) <= DEPTH + 3, "{}", depth(sandbox.path()));
        let parent = sandbox.path().parent().unwrap().to_owned();
        sandbox.remove().unwrap();
        fs::remove_dir(parent).unwrap();
    }

    #[test]
    fn a_parent_that_is_not_there_is_named() {
        let error = Sandbox::below("/nowhere/at/all".as_ref()).unwrap_err();
        assert!(error.to_string().starts_with("/nowhere/at/all: "), "{error}");
    }
}
