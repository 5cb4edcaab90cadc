//! Directories that programs fill, and that are removed afterwards whatever they have done to them.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{io, thread};

use crate::sys::fs::PathError;

/// How often removing is tried: a process that is just being ended may still write.
const ATTEMPTS: usize = 5;

/// How deep directories may lie within each other before they are brought up to be removed.
const DEPTH: usize = 64;

/// How the names of directories begin that nobody has named.
pub(super) const PREFIX: &str = "acp-registry-";

/// A directory that is empty at first, and removed at the end.
///
/// Dropping it removes it too, as far as the system lets it.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
    is_over: bool,
}

impl Scratch {
    /// Makes a directory of a new name below `parent`, readable for the owner alone.
    ///
    /// # Errors
    /// [`PathError`] when `parent` cannot be written to.
    pub fn below(parent: &Path) -> Result<Self, PathError> {
        let mut builder = tempfile::Builder::new();
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
        let directory = builder.prefix(PREFIX).tempdir_in(parent).map_err(PathError::at(parent))?;
        Ok(Self { path: directory.keep(), is_over: false })
    }

    /// Makes this directory, readable for the owner alone.
    ///
    /// # Errors
    /// [`PathError`] when it is there already, or cannot be made.
    pub fn at(path: &Path) -> Result<Self, PathError> {
        #[cfg_attr(not(unix), expect(unused_mut, reason = "elsewhere, directories have no mode"))]
        let mut builder = fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(path).map_err(PathError::at(path))?;
        Ok(Self { path: path.to_owned(), is_over: false })
    }

    /// Takes over a directory that is there, or will be.
    #[must_use]
    pub fn adopt(path: &Path) -> Self {
        Self { path: path.to_owned(), is_over: false }
    }

    /// The directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes everything.
    ///
    /// # Errors
    /// [`PathError`] with what could not be removed.
    pub fn remove(mut self) -> Result<(), PathError> {
        self.clear()
    }

    /// Leaves everything where it is, for people to look at.
    pub fn keep(mut self) {
        self.is_over = true;
    }

    fn clear(&mut self) -> Result<(), PathError> {
        let path = self.path.clone();
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
        self.is_over = true;
        Ok(())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if !self.is_over {
            // Whoever wants to know calls `remove`.
            let _ = self.clear();
        }
    }
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
    fn what_lies_too_deep_is_brought_up() {
        fn depth(directory: &Path) -> usize {
            let items = fs::read_dir(directory).unwrap().map(|item| item.unwrap().path());
            items.filter(|path| path.is_dir()).map(|path| 1 + depth(&path)).max().unwrap_or(0)
        }
        let scratch = Scratch::below(tempfile::tempdir().unwrap().keep().as_path()).unwrap();
        let deep = scratch.path().join("a/".repeat(500));
        fs::create_dir_all(&deep).unwrap();
        loosen(scratch.path());
        assert!(!deep.exists());
        assert!(depth(scratch.path()) <= DEPTH + 3, "{}", depth(scratch.path()));
        let parent = scratch.path().parent().unwrap().to_owned();
        scratch.remove().unwrap();
        fs::remove_dir(parent).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn nobody_else_can_look_into_it() {
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
