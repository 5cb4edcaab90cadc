//! A directory that several programs with users of their own may enter.

use std::path::{Path, PathBuf};
#[cfg(target_os = "linux")]
use std::{io, sync::Arc};

#[cfg(target_os = "linux")]
use {
    super::own_user::OwnUser,
    std::sync::{Mutex, PoisonError},
};

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
    std::fs::set_permissions(directory, std::os::unix::fs::PermissionsExt::from_mode(0o710))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    #[test]
    fn a_directory_has_one_group_and_only_that_may_enter() {
        let parent = tempfile::tempdir().unwrap();
        let directory = parent.path().join("a");
        let (place, other) = (UserDirectory::new(directory.clone()), UserDirectory::new(parent.path().join("b")));
        assert!(place.group().is_err(), "there is no such directory");
        for path in [&directory, &other.path] {
            std::fs::create_dir(path).unwrap();
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
