//! The names of everything in the store.

use std::path::{Path, PathBuf};

use super::Store;

pub(super) const RECEIPT: &str = "receipt.json";
pub(super) const FILES: &str = "files";
pub(super) const DIGESTS: &str = "files.json";
pub(super) const IN_USE: &str = "in-use";
pub(super) const CURRENT: &str = "current";

/// How the names of directories begin in which something is being installed.
pub(super) const NEW: &str = ".new-";

impl Store {
    pub(super) fn agents(&self) -> PathBuf {
        self.root().join("agents")
    }

    /// The directory of an agent.
    #[must_use]
    pub fn directory(&self, id: &str) -> PathBuf {
        self.agents().join(id)
    }

    /// Where a version will be, or is.
    #[must_use]
    pub fn place(&self, id: &str, folder: &str) -> PathBuf {
        self.directory(id).join(folder)
    }

    /// Where what is installed will be, or is, in the place of a version.
    #[must_use]
    pub fn files(place: &Path) -> PathBuf {
        place.join(FILES)
    }

    pub(super) fn lock_file(&self, id: &str) -> PathBuf {
        self.agents().join(format!(".{id}.lock"))
    }
}
