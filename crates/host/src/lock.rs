//! Locks between processes. The operating system releases them when the process ends, however it ends.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::fs::{InTheWay, PathError, open_no_follow};

/// How often a lock that another process holds is asked for again.
const INTERVAL: Duration = Duration::from_millis(50);

/// An exclusive lock. Dropping it releases it.
#[derive(Debug)]
pub struct Lock {
    file: File,
    path: PathBuf,
}

/// The result of [`Lock::ask`].
#[derive(Debug)]
pub enum Acquisition {
    /// This process has the lock now.
    Mine(Lock),
    /// Another process has the lock; holds the text that it wrote, or `another process` if that cannot be read.
    Held(String),
}

impl Lock {
    /// Tries to lock a file, which is created if missing. `holder` is shown to processes that find the lock taken.
    ///
    /// On file systems without locks, every process gets the lock.
    ///
    /// # Errors
    /// Returns [`PathError`] if the file cannot be created or locked.
    pub fn ask(path: &Path, holder: &str) -> Result<Acquisition, PathError> {
        loop {
            if path.is_symlink() {
                // The link may lead to any file, which would be overwritten.
                return Err(PathError::in_the_way(path, "a link, which is not followed"));
            }
            if path.is_dir() {
                return Err(PathError::in_the_way(path, "a directory"));
            }
            let mut file = open(path).map_err(PathError::at(path))?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    let words = words(&mut file);
                    return Ok(Acquisition::Held(if words.is_empty() { "another process".to_owned() } else { words }));
                }
                Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {}
                Err(TryLockError::Error(error)) => return Err(PathError::at(path)(error)),
            }
            // The last holder may have removed the file; another process would then lock a new one.
            if !is_at(&file, path) {
                continue;
            }
            if has_one_name(&file) {
                let line = format!("process {}: {holder}\n", std::process::id());
                // Errors are ignored: the text is only informative.
                let _ = file.set_len(0).and_then(|()| file.write_all(line.as_bytes()));
            }
            return Ok(Acquisition::Mine(Self { file, path: path.to_owned() }));
        }
    }

    /// Waits for the lock of a file, whose directory is created if missing. `told` is called once with who is waited for.
    /// The inner error is who still has the lock after `patience`.
    ///
    /// # Errors
    /// Returns [`PathError`] if the file cannot be created or locked.
    pub async fn wait(
        path: &Path,
        holder: &str,
        patience: Duration,
        told: &(dyn Fn(&str) + Sync),
    ) -> Result<Result<Self, String>, PathError> {
        let started = Instant::now();
        let mut is_told = false;
        loop {
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder).map_err(PathError::at(folder))?;
            }
            let other = match Self::ask(path, holder) {
                Ok(Acquisition::Mine(lock)) => return Ok(Ok(lock)),
                Ok(Acquisition::Held(words)) => words,
                // The last holder may have removed the directory as well. Who has no patience tries again, too.
                Err(PathError { error, .. })
                    if error.kind() == io::ErrorKind::NotFound && started.elapsed() < patience.max(INTERVAL * 10) =>
                {
                    continue;
                }
                Err(error) => return Err(error),
            };
            if started.elapsed() >= patience {
                return Ok(Err(other));
            }
            if !is_told && started.elapsed() > INTERVAL * 10 {
                told(&other);
                is_told = true;
            }
            tokio::time::sleep(INTERVAL).await;
        }
    }

    /// Releases the lock and removes its file. Processes that wait for the lock notice that the file is gone.
    pub fn remove(self) {
        if cfg!(unix) {
            // The next process creates a new file.
            let _ = fs::remove_file(&self.path);
        }
        drop(self.file);
    }
}

/// The lock of a file that is replaced as a whole, so that it cannot be locked itself.
pub fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".acp-registry-lock");
    name.into()
}

/// Opens the file of a lock, which is created if missing. Links are not followed, even if one replaced the file
/// meanwhile.
fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;

        use rustix::fs::OFlags;

        options.mode(0o644).custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed());
    }
    let file = options.open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other(InTheWay("not a regular file"))) }
}

/// Whether the file has no other hard link. Otherwise it may be any file of the user, so it is locked, but neither
/// written nor shown.
#[cfg(unix)]
fn has_one_name(file: &File) -> bool {
    file.metadata().is_ok_and(|metadata| std::os::unix::fs::MetadataExt::nlink(&metadata) == 1)
}

/// Other systems do not provide the number of links.
#[cfg(not(unix))]
fn has_one_name(_file: &File) -> bool {
    true
}

fn words(file: &mut File) -> String {
    if !has_one_name(file) {
        return String::new();
    }
    let mut text = String::new();
    // On Windows, a locked file cannot be read.
    let _ = file.take(1000).read_to_string(&mut text);
    text.lines().next().unwrap_or_default().to_owned()
}

#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;

    let id = |metadata: &fs::Metadata| (metadata.dev(), metadata.ino());
    matches!((file.metadata(), fs::metadata(path)), (Ok(a), Ok(b)) if id(&a) == id(&b))
}

#[cfg(not(unix))]
fn is_at(_file: &File, _path: &Path) -> bool {
    true
}

/// Marks a file or directory as in use with a shared lock, for as long as the returned file is open. Returns `None` if
/// it cannot be locked.
pub fn mark_used(path: &Path) -> Option<File> {
    let file = open_no_follow(path).ok()?;
    file.try_lock_shared().ok()?;
    Some(file)
}

/// Whether a process has marked it with [`mark_used`].
pub fn is_used(path: &Path) -> bool {
    open_no_follow(path).is_ok_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asks until the lock is there: a child of another test, which is this process until it becomes its program, may still
    /// have it.
    fn mine(path: &Path, holder: &str) -> Lock {
        loop {
            match Lock::ask(path, holder).unwrap() {
                Acquisition::Mine(lock) => return lock,
                Acquisition::Held(_) => std::thread::yield_now(),
            }
        }
    }

    #[test]
    fn a_lock_is_held_by_one_and_names_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let lock = mine(&path, "at work with much to say");
        if cfg!(unix) {
            let Acquisition::Held(words) = Lock::ask(&path, "b").unwrap() else { panic!("two have it") };
            assert_eq!(words, format!("process {}: at work with much to say", std::process::id()));
        }
        drop(lock);
        let lock = mine(&path, "b");
        assert!(fs::read_to_string(&path).unwrap().ends_with(": b\n"));
        lock.remove();
        assert!(!path.exists() || cfg!(windows));
        drop(mine(&path, "c"));
        assert!(Lock::ask(&folder.path().join("no/lock"), "d").unwrap_err().to_string().contains("lock"));
    }

    #[cfg(unix)]
    #[test]
    fn a_lock_that_is_another_file_as_well_leaves_it_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let (path, mine_as_well) = (folder.path().join("lock"), folder.path().join("thesis"));
        fs::write(&mine_as_well, "mine").unwrap();
        fs::hard_link(&mine_as_well, &path).unwrap();
        let lock = mine(&path, "a");
        assert_eq!(fs::read_to_string(&mine_as_well).unwrap(), "mine");
        assert!(matches!(Lock::ask(&path, "b").unwrap(), Acquisition::Held(words) if words == "another process"));
        lock.remove();
        assert_eq!((path.exists(), fs::read_to_string(&mine_as_well).unwrap().as_str()), (false, "mine"));

        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&mine_as_well, &link).unwrap();
        for path in [&link, folder.path()] {
            assert!(Lock::ask(path, "a").is_err(), "{}", path.display());
        }
        assert!(open(&link).is_err(), "a link that appears after the look");
        assert_eq!(fs::read_to_string(&mine_as_well).unwrap(), "mine");
    }

    #[test]
    fn what_is_used_is_known_until_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("in-use");
        assert!(!is_used(&path) && mark_used(&path).is_none());
        fs::write(&path, "").unwrap();
        assert!(!is_used(&path));
        let (one, two) = (mark_used(&path).unwrap(), mark_used(&path).unwrap());
        assert!(is_used(&path));
        drop(one);
        assert!(is_used(&path));
        drop(two);
        assert!(!is_used(&path));
    }
}
