//! Checks who can change a file.

use std::path::Path;

/// Why users other than this one and root can change what is at a path, worded to follow the path. Returns `None` if
/// they cannot, or if nothing exists there. Follows links.
///
/// Directories with the sticky bit, such as `/tmp`, are considered safe: users can change only their own files there.
/// The group of this process is considered as trusted as its user.
#[cfg(unix)]
#[must_use]
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
#[must_use]
pub fn problem(_path: &Path) -> Option<String> {
    None
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

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
