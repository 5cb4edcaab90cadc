//! Checks who can change a file.

use std::path::Path;

/// Why users other than this one and root can change what is at a path, worded to follow the path. Returns `None` if
/// they cannot, or if nothing exists there. Follows links.
///
/// Directories with the sticky bit, such as `/tmp`, are considered safe: users can change only their own files there.
/// The group of this process is considered as trusted as its user.
#[cfg(unix)]
pub fn problem(path: &Path) -> Option<String> {
    use std::os::unix::fs::MetadataExt as _;

    use rustix::process::{getegid, geteuid};

    /// Only the owner of a file may remove or rename it.
    const STICKY: u32 = 0o1000;

    let metadata = path.metadata().ok()?;
    let (owner, group, mode) = (metadata.uid(), metadata.gid(), metadata.mode());
    let me = geteuid().as_raw();
    if owner != me && owner != 0 {
        return Some(format!("belongs to the user {owner}, and this program runs as the user {me}"));
    }
    if metadata.is_dir() && mode & STICKY != 0 {
        return None;
    }
    if mode & 0o002 != 0 {
        return Some("can be written by everyone".to_owned());
    }
    (mode & 0o020 != 0 && group != 0 && group != getegid().as_raw())
        .then(|| format!("can be written by the group {group}"))
}

/// Permission bits do not tell this on other systems.
#[cfg(not(unix))]
pub fn problem(_path: &Path) -> Option<String> {
    None
}

/// Whether programs in a directory may be started by name: it exists, and no other user can add, change or replace one.
/// Follows links.
///
/// Unlike [`problem`], this refuses a directory with the sticky bit to which others can write, because they can add
/// programs there. On macOS, members of the group of administrators are trusted like root: Homebrew's directories are
/// theirs.
pub fn is_safe_for_programs(directory: &Path) -> bool {
    let Ok(directory) = directory.canonicalize() else { return false };
    directory.is_dir()
        && !is_open_to_all(&directory)
        && directory.ancestors().all(|part| problem(part).is_none() || is_of_administrators(part))
}

#[cfg(unix)]
fn is_open_to_all(directory: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;

    directory.metadata().is_ok_and(|metadata| metadata.mode() & 0o002 != 0)
}

/// Permission bits do not tell this on other systems.
#[cfg(not(unix))]
fn is_open_to_all(_directory: &Path) -> bool {
    false
}

/// Whether a directory of this user or root can be written by the administrators of a Mac, and by no one else.
#[cfg(target_os = "macos")]
fn is_of_administrators(directory: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;

    const ADMIN: u32 = 80;
    directory.metadata().is_ok_and(|metadata| {
        let is_own = metadata.uid() == 0 || metadata.uid() == rustix::process::geteuid().as_raw();
        is_own && metadata.gid() == ADMIN && metadata.mode() & 0o002 == 0
    })
}

#[cfg(not(target_os = "macos"))]
fn is_of_administrators(_directory: &Path) -> bool {
    false
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn programs_are_not_started_where_others_can_put_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bin/deep");
        fs::create_dir_all(&path).unwrap();
        let set = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        for (mode, is_safe) in [(0o755, true), (0o700, true), (0o777, false), (0o1777, false), (0o757, false)] {
            set(&path, mode);
            assert_eq!(is_safe_for_programs(&path), is_safe, "{mode:o}");
        }
        set(&path, 0o755);
        set(path.parent().unwrap(), 0o777);
        assert!(!is_safe_for_programs(&path), "others can replace the directory");
        set(path.parent().unwrap(), 0o755);
        std::os::unix::fs::symlink("/tmp", folder.path().join("link")).unwrap();
        for other in ["link", "missing"] {
            assert!(!is_safe_for_programs(&folder.path().join(other)), "{other}");
        }
        fs::write(folder.path().join("file"), "").unwrap();
        assert!(!is_safe_for_programs(&folder.path().join("file")), "a file is not a directory");
    }

    #[test]
    fn what_others_may_write_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        fs::create_dir(&path).unwrap();
        for (mode, expected) in [(0o755, None), (0o775, None), (0o1777, None), (0o777, Some("by everyone"))] {
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            let problem = problem(&path);
            assert_eq!(problem.is_some(), expected.is_some(), "{mode:o} {problem:?}");
            assert!(problem.unwrap_or_default().contains(expected.unwrap_or_default()), "{mode:o}");
        }
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o1666)).unwrap();
        assert!(problem(&file).is_some(), "the bit of directories says nothing of a file");
        assert_eq!(problem(&folder.path().join("missing")), None);
    }
}
