//! Removes directories that programs have filled, and may still write to.

use std::io;
use std::path::Path;

/// Removes a directory and everything in it, or any other file. Directories without permissions for the owner are made
/// accessible. Links are never followed, even if a program replaces directories by links meanwhile.
///
/// # Errors
/// Returns the first error; all other entries are removed.
pub(crate) fn remove_tree(path: &Path) -> io::Result<()> {
    remove_tree_but_last(path, &[])
}

/// Like [`remove_tree`]; on Unix, entries of the directory with these names go after all others. What a killed process leaves is
/// then known by them.
pub(crate) fn remove_tree_but_last(path: &Path, last: &[&str]) -> io::Result<()> {
    match remove(path, last) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

/// The standard library uses handles here too.
#[cfg(not(unix))]
fn remove(path: &Path, _last: &[&str]) -> io::Result<()> {
    std::fs::remove_dir_all(path)
}

#[cfg(unix)]
fn remove(path: &Path, last: &[&str]) -> io::Result<()> {
    use std::fs;

    match super::directory::OpenDirectory::unlock(path) {
        Ok(root) => unix::empty(&root, last)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(error),
        Err(error) => return fs::remove_file(path).map_err(|_| error),
    }
    fs::remove_dir(path)
}

#[cfg(unix)]
mod unix {
    use std::ffi::{OsStr, OsString};
    use std::io;
    use std::rc::Rc;

    use crate::directory::OpenDirectory;

    /// Maximum depth before nested directories are moved up. Each level keeps a file descriptor open.
    const DEPTH: usize = 64;

    /// Maximum number of directories to move up, since a program may keep creating deeper ones.
    const MOVES: u64 = 1 << 17;

    /// Removes everything in a directory. Returns the first error after everything else is removed.
    pub(super) fn empty(root: &OpenDirectory, last: &[&str]) -> io::Result<()> {
        let name = OsString::from(format!("acp-registry-{:016x}", fastrand::u64(..)));
        let mut removal = Removal { root, name, shallow: None, moved: 0, first: None };
        removal.empty(root, last);
        let mut next = 0;
        while let Some(shallow) = removal.shallow.clone().filter(|_| next < removal.moved) {
            let name = OsString::from(next.to_string());
            if let Some(directory) = removal.note(shallow.enter_unlocked(&name)) {
                removal.empty(&directory, &[]);
            }
            removal.note(shallow.remove_empty(&name));
            next += 1;
        }
        if removal.shallow.is_some() {
            let result = root.remove_empty(&removal.name);
            removal.note(result);
        }
        removal.first.map_or(Ok(()), Err)
    }

    struct Removal<'a> {
        root: &'a OpenDirectory,
        /// A directory in the root, created when needed, to which deeply nested directories are moved.
        shallow: Option<Rc<OpenDirectory>>,
        name: OsString,
        /// Number of directories moved there. They are named by number.
        moved: u64,
        first: Option<io::Error>,
    }

    impl Removal<'_> {
        fn empty(&mut self, top: &OpenDirectory, last: &[&str]) {
            let mut open: Vec<(OpenDirectory, OsString)> = Vec::new();
            let mut entries = self.entries(top);
            // They are taken from the end.
            entries.sort_by_key(|(name, _)| !last.iter().any(|last| name == last));
            let mut waiting = vec![entries];
            while let Some(entries) = waiting.last_mut() {
                let here = open.last().map_or(top, |(directory, _)| directory);
                match entries.pop() {
                    Some((name, false)) => {
                        self.note(here.remove(&name));
                    }
                    Some((name, true)) => match here.enter_unlocked(&name) {
                        Ok(_) if open.len() >= DEPTH => {
                            let result = self.move_up(here, &name);
                            self.note(result);
                        }
                        Ok(directory) => {
                            waiting.push(self.entries(&directory));
                            open.push((directory, name));
                        }
                        // The directory was replaced by something else, or removed.
                        Err(error) => {
                            self.note(here.remove(&name).map_err(|_| error));
                        }
                    },
                    None => {
                        waiting.pop();
                        if let Some((_, name)) = open.pop() {
                            let above = open.last().map_or(top, |(directory, _)| directory);
                            self.note(above.remove_empty(&name));
                        }
                    }
                }
            }
        }

        fn entries(&mut self, directory: &OpenDirectory) -> Vec<(OsString, bool)> {
            self.note(directory.entries()).unwrap_or_default()
        }

        fn move_up(&mut self, from: &OpenDirectory, name: &OsStr) -> io::Result<()> {
            if self.moved >= MOVES {
                return Err(io::Error::other("directories lie too deep within each other"));
            }
            let shallow = match &self.shallow {
                Some(shallow) => shallow,
                None => self.shallow.insert(Rc::new(self.root.make(&self.name)?)),
            };
            from.move_to(name, shallow, self.moved.to_string().as_ref())?;
            self.moved += 1;
            Ok(())
        }

        /// Keeps the first error.
        fn note<T>(&mut self, result: io::Result<T>) -> Option<T> {
            match result {
                Ok(value) => return Some(value),
                Err(error) => drop(self.first.get_or_insert(error)),
            }
            None
        }
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _, symlink};
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::thread;

    use rustix::fs::CWD;

    use super::*;
    use crate::directory::OpenDirectory;

    fn close(path: &Path) {
        fs::set_permissions(path, Permissions::from_mode(0o000)).unwrap();
    }

    /// A directory with entries that must not be touched.
    fn outside(folder: &Path) -> std::path::PathBuf {
        let outside = folder.join("outside");
        fs::create_dir_all(outside.join("closed")).unwrap();
        fs::write(outside.join("file"), "mine").unwrap();
        close(&outside.join("closed"));
        fs::set_permissions(&outside, Permissions::from_mode(0o555)).unwrap();
        outside
    }

    fn assert_untouched(outside: &Path) {
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o7777;
        assert_eq!((mode(outside), mode(&outside.join("closed"))), (0o555, 0));
        assert_eq!(fs::read_to_string(outside.join("file")).unwrap(), "mine");
        assert_eq!(fs::read_dir(outside).unwrap().count(), 2);
    }

    #[test]
    fn everything_goes_and_what_links_lead_to_stays() {
        let folder = tempfile::tempdir().unwrap();
        let outside = outside(folder.path());
        let tree = folder.path().join("tree");
        fs::create_dir_all(tree.join("a/b")).unwrap();
        fs::write(tree.join("a/b/file"), "").unwrap();
        symlink(&outside, tree.join("a/link")).unwrap();
        for path in ["a/b", "a", ""] {
            close(&tree.join(path));
        }
        remove_tree(&tree).unwrap();
        assert!(!tree.exists());
        // The path does not exist, is a link, or is a file.
        remove_tree(&tree).unwrap();
        symlink(&outside, &tree).unwrap();
        remove_tree(&tree).unwrap();
        fs::write(&tree, "").unwrap();
        remove_tree(&tree).unwrap();
        assert!(tree.symlink_metadata().is_err());
        assert_untouched(&outside);
    }

    /// Deeper than the limit of open files of a process.
    #[test]
    fn what_lies_deep_goes() {
        let folder = tempfile::tempdir().unwrap();
        let tree = folder.path().join("tree");
        fs::create_dir(&tree).unwrap();
        let mut directory = OpenDirectory::open(&tree).unwrap();
        for _ in 0..3_000 {
            directory = directory.make(OsStr::new("a")).unwrap();
        }
        drop(directory);
        remove_tree(&tree).unwrap();
        assert!(!tree.exists());
    }

    /// A thread keeps replacing directories by links and back.
    #[test]
    fn links_that_take_the_place_of_directories_are_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let outside = outside(folder.path());
        let tree = folder.path().join("tree");
        let deep = tree.join("d/".repeat(70));
        let (is_over, swaps) = (AtomicBool::new(false), AtomicUsize::new(0));
        thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    for place in [&tree, &deep] {
                        let (x, y) = (place.join("x"), place.join("y"));
                        let _ = fs::create_dir_all(place);
                        let _ = fs::DirBuilder::new().mode(0o000).create(&x);
                        let _ = symlink(&outside, &y);
                        for _ in 0..20 {
                            let _ = rustix::fs::renameat_with(CWD, &x, CWD, &y, rustix::fs::RenameFlags::EXCHANGE);
                            swaps.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                }
            });
            while swaps.load(Ordering::Relaxed) < 20_000 {
                // May fail while the other thread writes.
                let _ = remove_tree(&tree);
            }
            is_over.store(true, Ordering::Relaxed);
        });
        remove_tree(&tree).unwrap();
        assert_untouched(&outside);
    }
}
