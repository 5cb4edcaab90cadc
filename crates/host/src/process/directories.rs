//! The directories of a launch: its own ([`LaunchDirectories`]), one that is removed whatever a program did to it ([`Scratch`]), and
//! one that several programs with users of their own may enter. What else a program may read is in `isolation.rs`.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use std::{io, thread};

use super::Canaries;
use crate::fs::{PathError, make_private, without_path, write_new};
use crate::lock::mark_used;
use crate::remove::remove_tree_but_last;

#[cfg(target_os = "linux")]
use {
    super::canaries::{Watch, files},
    super::own_user::OwnUser,
    std::sync::{Mutex, PoisonError},
};

/// The environment variable that identifies the processes of a launch. Its value is the unique path of the sandbox.
pub(super) const MARKER: &str = "ACP_REGISTRY_SANDBOX";

/// The FIFO for the launcher's report, which is removed when the program starts.
pub(super) const REPORT: &str = "start";

/// All entries of a sandbox; each sandbox has the first, which is removed last.
pub(super) const PARTS: [&str; 5] = ["work", "home", "tmp", "run", REPORT];

/// The home and temporary directories of one launch: empty at first, and removed at the end.
///
/// Dropping it removes them too, as far as possible.
#[derive(Debug)]
pub struct LaunchDirectories {
    // Declared before the directory, so that it is dropped while the files are there.
    #[cfg(target_os = "linux")]
    watch: Option<Watch>,
    directory: Scratch,
    home: Home,
    /// Marks the sandbox as in use while it is open.
    _mark: Option<File>,
}

/// The home directory of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Home {
    /// A home of its own, empty at first. All processes are found and ended, even in other sessions.
    Empty,
    /// The user's home, for a program that works on the user's behalf. Its files are kept, and processes that it starts
    /// in other sessions, such as a browser, keep running. No limits are set.
    Persons,
}

impl LaunchDirectories {
    /// Creates the directories below `parent`, private to their owner.
    ///
    /// # Errors
    /// Returns [`PathError`] if `parent` cannot be written to.
    pub fn below(parent: &Path, home: Home) -> Result<Self, PathError> {
        let directory = Scratch::below(parent)?;
        let mark = mark_used(directory.path());
        let sandbox = Self {
            #[cfg(target_os = "linux")]
            watch: None,
            directory,
            home,
            _mark: mark,
        };
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

    /// The directory that contains all others.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// An empty working directory.
    pub fn work(&self) -> PathBuf {
        self.path().join("work")
    }

    fn temporary(&self) -> PathBuf {
        self.path().join("tmp")
    }

    fn runtime(&self) -> PathBuf {
        self.path().join("run")
    }

    /// The home directories, with their environment variables on each system.
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

    /// The home of the program.
    pub fn home(&self) -> Home {
        self.home
    }

    /// The environment variables that point to these directories and identify the processes; empty for
    /// [`Home::Persons`].
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

    /// Creates a file in an empty home, before the program starts.
    ///
    /// # Errors
    /// Returns [`PathError`] if the path is absolute or contains `..`, if the home is the user's, or if the file cannot
    /// be created.
    pub fn add_to_home(&self, path: &str, text: &str) -> Result<(), PathError> {
        let home = self.path().join("home");
        let file = home.join(path);
        let is_below = Path::new(path).components().all(|part| matches!(part, std::path::Component::Normal(_)));
        if !is_below || path.is_empty() || self.home == Home::Persons {
            let error = io::Error::new(io::ErrorKind::InvalidInput, "the path does not lead below the private home");
            return Err(PathError::at(&file)(error));
        }
        if let Some(parent) = file.parent() {
            make_private(parent).map_err(PathError::at(parent))?;
        }
        write_new(&file, text.as_bytes())
    }

    /// Creates canary files in an empty home, before the program starts, and watches them until the sandbox is removed or kept.
    /// What the program then leaves in that home is recorded as well, so that everything else must be there before. Where files of these names exist, they stay as they are. A system that cannot watch is a problem of `canaries`.
    ///
    /// # Errors
    /// Returns [`PathError`] if a file cannot be created.
    #[cfg(target_os = "linux")]
    pub fn plant(&mut self, canaries: &Arc<Canaries>) -> Result<(), PathError> {
        if self.home == Home::Persons {
            return Ok(());
        }
        let mut watch = match Watch::new(canaries) {
            Ok(watch) => watch,
            Err(error) => {
                canaries.fail(error.to_string());
                return Ok(());
            }
        };
        for (file, text) in files() {
            let path = self.path().join("home").join(file);
            if path.symlink_metadata().is_ok() {
                continue;
            }
            self.add_to_home(file, &text)?;
            if let Err(error) = watch.add(file, &path) {
                canaries.fail(error.to_string());
            }
        }
        watch.remember(self.path().join("home"));
        self.watch = Some(watch);
        Ok(())
    }

    /// Creates nothing, since only Linux tells who opens a file.
    ///
    /// # Errors
    /// Never.
    #[cfg(not(target_os = "linux"))]
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "the same call as on Linux")]
    pub fn plant(&mut self, _canaries: &Arc<Canaries>) -> Result<(), PathError> {
        Ok(())
    }

    /// Makes a user the owner of all directories and files. No other user can enter them, and this one cannot create files next
    /// to them.
    #[cfg(target_os = "linux")]
    pub(super) fn give_to(&self, user: u32) -> io::Result<()> {
        let mut waiting = vec![self.path().to_owned()];
        while let Some(directory) = waiting.pop() {
            for item in fs::read_dir(&directory)? {
                let item = item?;
                // No program has run here yet, so all entries were created by this program.
                std::os::unix::fs::lchown(item.path(), Some(user), Some(user))?;
                if item.file_type()?.is_dir() {
                    waiting.push(item.path());
                }
            }
        }
        let_in(self.path(), user)
    }

    /// Removes everything.
    ///
    /// # Errors
    /// Returns [`PathError`] if something could not be removed.
    pub fn remove(self) -> Result<(), PathError> {
        #[cfg(target_os = "linux")]
        drop(self.watch);
        self.directory.remove()
    }

    /// Keeps everything, for inspection.
    pub fn keep(self) {
        // With this file, `remove_abandoned` does not consider the sandbox as abandoned.
        let _ = write_new(&self.path().join("kept"), b"");
        self.directory.keep();
    }
}

/// Maximum number of attempts to remove a directory, since a process that is being ended may still write to it.
const ATTEMPTS: usize = 5;

/// The directory in a [`Scratch`] that contains an installation. Sandboxes are next to it.
pub const INSTALLED: &str = "install";

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
            match remove_tree_but_last(&path, &[PARTS[0], INSTALLED]) {
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

/// A directory of the caller with files for programs that may run at once, each as its own user. They become members of
/// one group, which belongs to the directory while a clone of this exists.
#[derive(Debug, Clone)]
pub struct UserDirectory {
    path: PathBuf,
    #[cfg(target_os = "linux")]
    group: Arc<Mutex<Option<OwnUser>>>,
}

impl UserDirectory {
    pub(super) fn new(path: PathBuf) -> Self {
        Self {
            path,
            #[cfg(target_os = "linux")]
            group: Arc::default(),
        }
    }

    /// The path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Allows the members of the group to enter the directory, and returns the group.
    #[cfg(target_os = "linux")]
    pub(super) fn group(&self) -> io::Result<u32> {
        let mut group = self.group.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(group) = &*group {
            return Ok(group.number());
        }
        // The number of a user that no program gets is the number of a group without other members.
        let taken = OwnUser::take()?;
        let_in(&self.path, taken.number())?;
        Ok(group.insert(taken).number())
    }
}

/// Two places are equal if they are the same directory.
impl PartialEq for UserDirectory {
    fn eq(&self, other: &Self) -> bool {
        self.path == other.path
    }
}

impl Eq for UserDirectory {}

/// Allows a user to enter a directory of root, without listing it.
#[cfg(target_os = "linux")]
pub(super) fn let_in(directory: &Path, user: u32) -> io::Result<()> {
    std::os::unix::fs::lchown(directory, None, Some(user))?;
    fs::set_permissions(directory, std::os::unix::fs::PermissionsExt::from_mode(0o710))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn every_variable_leads_below_the_sandbox_and_exists() {
        let parent = tempfile::tempdir().unwrap();
        let sandbox = LaunchDirectories::below(parent.path(), Home::Empty).unwrap();
        for (name, path) in sandbox.variables() {
            assert!(path.starts_with(sandbox.path()) && path.is_dir(), "{name}");
        }
    }

    #[test]
    fn the_persons_home_is_left_alone() {
        let parent = tempfile::tempdir().unwrap();
        let sandbox = LaunchDirectories::below(parent.path(), Home::Persons).unwrap();
        assert_eq!((sandbox.variables(), sandbox.work().is_dir()), (Vec::new(), true));
        assert_eq!(fs::read_dir(sandbox.path()).unwrap().count(), 1);
    }

    #[test]
    fn nothing_is_left_not_even_what_was_locked() {
        let parent = tempfile::tempdir().unwrap();
        let sandbox = LaunchDirectories::below(parent.path(), Home::Empty).unwrap();
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

        drop(LaunchDirectories::below(parent.path(), Home::Empty).unwrap());
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
    }

    /// If this process is killed, `gc` recognises the directory by that entry.
    #[cfg(target_os = "linux")]
    #[test]
    fn what_it_is_known_by_goes_last() {
        use rustix::fs::inotify::{CreateFlags, Reader, WatchFlags, add_watch, init};

        let parent = tempfile::tempdir().unwrap();
        let sandbox = LaunchDirectories::below(parent.path(), Home::Empty).unwrap();
        let place = Scratch::below(parent.path()).unwrap();
        for name in ["install/a", "acp-registry-abcdef/home", "acp-registry-ghijkl/home"] {
            fs::create_dir_all(place.path().join(name)).unwrap();
        }
        let paths = [sandbox.path(), place.path()].map(Path::to_owned);
        let watches = paths.map(|path| {
            let watch = init(CreateFlags::NONBLOCK).unwrap();
            add_watch(&watch, path, WatchFlags::DELETE).unwrap();
            watch
        });
        drop((sandbox, place));
        for (watch, (count, last)) in watches.iter().zip([(4, "work"), (3, "install")]) {
            let mut buffer = [std::mem::MaybeUninit::uninit(); 4096];
            let mut events = Reader::new(watch, &mut buffer);
            let mut gone = Vec::new();
            while let Ok(event) = events.next() {
                gone.extend(event.file_name().map(|name| name.to_str().unwrap().to_owned()));
            }
            assert_eq!((gone.len(), gone.last().map(String::as_str)), (count, Some(last)), "{gone:?}");
        }
    }

    #[test]
    fn files_are_created_only_in_an_empty_home() {
        let parent = tempfile::tempdir().unwrap();
        let sandbox = LaunchDirectories::below(parent.path(), Home::Empty).unwrap();
        for path in ["/etc/x", "../x", "a/../../x", ""] {
            let error = sandbox.add_to_home(path, "").unwrap_err().to_string();
            assert!(error.ends_with("does not lead below the private home"), "{path}: {error}");
        }
        sandbox.add_to_home(".config/a/b.json", "{}").unwrap();
        assert_eq!(fs::read_to_string(sandbox.path().join("home/.config/a/b.json")).unwrap(), "{}");
        let persons = LaunchDirectories::below(parent.path(), Home::Persons).unwrap();
        assert!(persons.add_to_home("a", "").is_err());
    }

    #[test]
    fn a_parent_that_is_not_there_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("missing");
        let error = LaunchDirectories::below(&missing, Home::Empty).unwrap_err();
        assert!(error.to_string().starts_with(&format!("{}: ", missing.display())), "{error}");
    }

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

    #[cfg(target_os = "linux")]
    #[test]
    fn a_directory_has_one_group_and_only_that_may_enter() {
        use std::os::unix::fs::MetadataExt as _;

        let parent = tempfile::tempdir().unwrap();
        let directory = parent.path().join("a");
        let (place, other) = (UserDirectory::new(directory.clone()), UserDirectory::new(parent.path().join("b")));
        assert!(place.group().is_err(), "there is no such directory");
        for path in [&directory, &other.path] {
            fs::create_dir(path).unwrap();
        }
        if !rustix::process::geteuid().is_root() {
            assert_eq!(place.group().unwrap_err().kind(), io::ErrorKind::PermissionDenied);
            return;
        }
        let group = place.group().unwrap();
        assert_eq!(place.clone().group().unwrap(), group);
        let found = directory.metadata().unwrap();
        assert_eq!((found.uid(), found.gid(), found.mode() & 0o777), (0, group, 0o710));
        assert_ne!(other.group().unwrap(), group);
    }
}
