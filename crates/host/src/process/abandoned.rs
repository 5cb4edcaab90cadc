//! Removes sandboxes of processes that were killed.

use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::directories::{INSTALLED, PARTS, PREFIX};
use super::{Scratch, platform};
use crate::fs::{PathError, open_no_follow};

/// Minimum age of a sandbox to remove. A younger one may have been created but not marked as used yet.
const SETTLED: Duration = Duration::from_mins(1);

/// Removes the sandboxes in a directory that no running process uses, as far as the system tells. Returns the path of
/// each, or the error of removing it. Sandboxes of other users, and those to keep, are not removed.
///
/// On Windows, directories cannot be marked as used, so nothing is removed.
pub fn remove_abandoned(parent: &Path) -> Vec<Result<PathBuf, PathError>> {
    let items = fs::read_dir(parent).into_iter().flatten().flatten();
    let sandboxes = items.map(|item| item.path()).filter(|path| is_sandbox(path));
    sandboxes.filter_map(remove).collect()
}

fn remove(path: PathBuf) -> Option<Result<PathBuf, PathError>> {
    let file = open_no_follow(&path).ok()?;
    // A running process holds a shared lock. This exclusive one is held until the end, so that concurrent runs do not
    // remove the same sandbox.
    file.try_lock().ok()?;
    if platform::has_users(&path) {
        return None;
    }
    Some(Scratch::adopt(&path).remove().map(|()| path))
}

/// Whether [`Scratch::below`] creates such names.
pub(super) fn is_random(name: &str) -> bool {
    let random = name.strip_prefix(PREFIX);
    random.is_some_and(|rest| rest.len() == 6 && rest.bytes().all(|b| b.is_ascii_alphanumeric()))
}

/// Whether this is a sandbox, or a directory with an installation, that is old enough and not to be kept. Decided by
/// its name, owner, permissions and entries.
fn is_sandbox(path: &Path) -> bool {
    if !is_random(&path.file_name().unwrap_or_default().to_string_lossy()) {
        return false;
    }
    let Ok(metadata) = fs::symlink_metadata(path) else { return false };
    let age = metadata.modified().ok().and_then(|time| time.elapsed().ok());
    if !metadata.is_dir() || !is_private(&metadata) || age.is_none_or(|age| age < SETTLED) {
        return false;
    }
    let Ok(items) = fs::read_dir(path) else { return false };
    let names: Option<Vec<String>> = items.map(|item| item.ok()?.file_name().into_string().ok()).collect();
    names.is_some_and(|names| {
        let has = |part: &str| names.iter().any(|name| name == part);
        let is_sandbox = has(PARTS[0]) && names.iter().all(|name| PARTS.contains(&name.as_str()));
        let is_place = has(INSTALLED) && names.iter().all(|name| name == INSTALLED || is_random(name));
        is_sandbox || is_place
    })
}

/// Whether it belongs to this user, and no other user can list it. An agent's own user may enter it.
#[cfg(unix)]
fn is_private(metadata: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;

    metadata.uid() == rustix::process::geteuid().as_raw() && [0o700, 0o710].contains(&(metadata.mode() & 0o777))
}

#[cfg(not(unix))]
fn is_private(_metadata: &Metadata) -> bool {
    true
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::time::SystemTime;

    use super::super::{Home, LaunchDirectories};
    use super::*;

    /// Makes a directory old enough to be removed.
    fn age(path: &Path) {
        let past = SystemTime::now() - SETTLED * 2;
        File::open(path).unwrap().set_modified(past).unwrap();
    }

    fn removed(parent: &Path) -> Vec<PathBuf> {
        remove_abandoned(parent).into_iter().map(Result::unwrap).collect()
    }

    /// What is removed once nothing uses it. Until it executes its program, a process that another test has just started is a
    /// copy of this one, and holds its locks.
    fn removed_at_last(parent: &Path) -> Vec<PathBuf> {
        for _ in 0..100 {
            let removed = removed(parent);
            if !removed.is_empty() {
                return removed;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Vec::new()
    }

    /// A sandbox as left by a killed process: not removed, and not open in any process.
    fn abandoned(parent: &Path, home: Home) -> PathBuf {
        let made = LaunchDirectories::below(parent, home).unwrap();
        let path = parent.join(format!("{PREFIX}a{:05}", fs::read_dir(parent).unwrap().count()));
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
        for item in fs::read_dir(made.path()).unwrap().flatten() {
            fs::rename(item.path(), path.join(item.file_name())).unwrap();
        }
        age(&path);
        path
    }

    #[test]
    fn what_is_in_use_or_in_the_making_or_kept_stays() {
        let parent = tempfile::tempdir().unwrap();
        let parent = parent.path();
        let used = LaunchDirectories::below(parent, Home::Persons).unwrap();
        age(used.path());
        let young = abandoned(parent, Home::Empty);
        File::open(&young).unwrap().set_modified(SystemTime::now()).unwrap();
        let kept = LaunchDirectories::below(parent, Home::Empty).unwrap();
        let kept_path = kept.path().to_owned();
        kept.keep();
        age(&kept_path);
        assert_eq!(removed(parent), [] as [&Path; 0]);
        assert!(used.work().is_dir() && young.is_dir() && kept_path.is_dir());
        assert_eq!(removed(&parent.join("nowhere")), [] as [&Path; 0]);
    }

    #[test]
    fn what_others_have_made_stays() {
        let parent = tempfile::tempdir().unwrap();
        let parent = parent.path();
        let others =
            ["acp-registry-master", "acp-registry-branch1", "acp-registry-", "other-abcdef", "acp-registry-ab.def"];
        for name in others {
            let path = parent.join(name);
            fs::create_dir(&path).unwrap();
            fs::write(path.join("README"), "").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
            age(&path);
        }
        let [empty, open, more] = ["empty0", "open00", "more00"].map(|name| parent.join(format!("{PREFIX}{name}")));
        fs::create_dir(&empty).unwrap();
        fs::create_dir_all(open.join("work")).unwrap();
        fs::create_dir_all(more.join("work")).unwrap();
        fs::write(more.join("thesis.txt"), "mine").unwrap();
        for (path, mode) in [(&empty, 0o700), (&open, 0o755), (&more, 0o700)] {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
            age(path);
        }
        let elsewhere = tempfile::tempdir().unwrap();
        let target = abandoned(elsewhere.path(), Home::Persons);
        symlink(&target, parent.join(format!("{PREFIX}link00"))).unwrap();
        assert_eq!(removed(parent), [] as [&Path; 0]);
        assert_eq!((fs::read_dir(parent).unwrap().count(), target.is_dir()), (others.len() + 4, true));
    }

    #[test]
    fn what_nobody_uses_goes() {
        let parent = tempfile::tempdir().unwrap();
        let parent = parent.path();
        let (one, two) = (abandoned(parent, Home::Persons), abandoned(parent, Home::Empty));
        let locked = two.join("work/a");
        fs::create_dir(&locked).unwrap();
        fs::write(locked.join("b"), "").unwrap();
        fs::set_permissions(&locked, fs::Permissions::from_mode(0o000)).unwrap();
        let mut gone = removed(parent);
        gone.sort_unstable();
        let mut expected = [one, two];
        expected.sort_unstable();
        assert_eq!(gone, expected);
        assert_eq!(fs::read_dir(parent).unwrap().count(), 0);
    }

    #[test]
    fn what_was_installed_goes_with_its_sandboxes_unless_it_is_marked() {
        let parent = tempfile::tempdir().unwrap();
        let parent = parent.path();
        let make = |name: &str, parts: &[&str]| {
            let path = parent.join(format!("{PREFIX}{name}"));
            for part in parts {
                fs::create_dir_all(path.join(part)).unwrap();
            }
            fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
            age(&path);
            path
        };
        let gone = make("place1", &["install/node_modules", "acp-registry-abcdef/home"]);
        let used = make("place2", &["install"]);
        let others = make("place3", &["install", "thesis"]);
        let mark = crate::lock::mark_used(&used);
        assert_eq!(removed(parent), [gone]);
        drop(mark);
        assert_eq!(removed_at_last(parent), [used]);
        assert!(others.is_dir());
    }

    #[cfg(target_os = "linux")]
    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test")]
    fn an_agent_that_has_outlived_the_run_keeps_its_sandbox() {
        const USER: u32 = 65_519;
        let parent = tempfile::tempdir().unwrap();
        let path = abandoned(parent.path(), Home::Persons);
        // Only root can start a program as another user. Such a program is recognized by its user alone.
        let by_user = rustix::process::geteuid().is_root();
        for (by_place, by_marker) in
            [(true, false), (false, true), (false, false)].into_iter().take(2 + usize::from(by_user))
        {
            let mut command = std::process::Command::new("sleep");
            command.arg("60").env(super::super::directories::MARKER, if by_marker { &path } else { Path::new("") });
            if !by_place && !by_marker {
                super::super::directories::let_in(&path, USER).unwrap();
                age(&path);
                std::os::unix::process::CommandExt::uid(&mut command, USER);
            }
            let mut child = command.current_dir(if by_place { path.join("work") } else { "/".into() }).spawn().unwrap();
            // The child is a copy of this process until it has executed the program.
            while fs::read(format!("/proc/{}/cmdline", child.id())).unwrap().first() != Some(&b's') {
                std::thread::yield_now();
            }
            assert_eq!(removed(parent.path()), [] as [&Path; 0]);
            child.kill().unwrap();
            child.wait().unwrap();
        }
        assert_eq!(removed_at_last(parent.path()), [path]);
    }
}
